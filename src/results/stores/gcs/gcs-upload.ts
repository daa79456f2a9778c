import type { Dispatcher } from 'undici';
import { withErrorListener } from '../../../platform/stream-errors.ts';
import type { BackoffOptions } from '../../../platform/backoff.ts';
import type { Clock } from '../../../platform/clock.ts';
import { retry } from '../../../platform/retry.ts';
import { Crc32c } from './crc32c.ts';
import type { ObjectUpload } from '../object/object-client.ts';
import { PartBuffer } from '../object/part-buffer.ts';
import { throwIfAborted, untilCallerAborts } from '../aborted.ts';
import { bodyStart, isTransientError, isTransientResponse } from './transient.ts';

/** Size of one request of a resumable upload; a multiple of 256 KB. One part is sent while the next one is filled. */
const PART_BYTES = 8 * 1024 * 1024;
const ATTEMPTS = 4;
const BACKOFF: BackoffOptions = { baseMs: 500, maxMs: 2000, jitter: 'half' };
const ABORT_TIMEOUT_MS = 5_000;
/** "Resume Incomplete": the `range` header has the bytes that the server has stored; more are expected. */
const RESUME = 308;
const COMPLETE = Number.POSITIVE_INFINITY;

export interface GcsUploadDependencies {
  /** One attempt to open the upload, with its own timeout. @returns the session URL; further requests need no other credential */
  readonly start: () => Promise<string>;
  readonly dispatcher: Dispatcher;
  readonly clock: Pick<Clock, 'random' | 'schedule'>;
  readonly signal: AbortSignal;
}

/**
 * A resumable GCS upload that reuses its buffers. The SDK's upload stream needs 87 to 118 MB for 1 GB instead of 30 MB, and counts retries for
 * the whole upload: docs/adr/0006-results-are-bytes.md.
 */
export class GcsUpload implements ObjectUpload {
  readonly #parts: GcsUploadDependencies;
  readonly #buffer = new PartBuffer(PART_BYTES);
  /** The server compares it at the end of the upload. */
  readonly #checksum = new Crc32c();
  #session: string | undefined;
  #opening: Promise<string> | undefined;
  /** Offset of the part that is being sent. */
  #offset = 0;
  #sending: Promise<void> = Promise.resolve();

  constructor(parts: GcsUploadDependencies) {
    this.#parts = parts;
  }

  /** @throws {Error} also if sending an earlier part failed */
  async write(bytes: Uint8Array): Promise<void> {
    this.#checksum.update(bytes);
    for (const part of this.#buffer.push(bytes)) {
      await this.#sending;
      this.#sending = this.#send(part, false).then(() => this.#buffer.give(part));
      // The next call throws the error; without this handler it would be an unhandled rejection.
      this.#sending.catch(() => undefined);
    }
  }

  async complete(): Promise<void> {
    await this.#sending;
    await this.#send(this.#buffer.take(), true);
  }

  async abort(): Promise<void> {
    await this.#sending.catch(() => undefined);
    const signal = AbortSignal.timeout(ABORT_TIMEOUT_MS);
    // The caller may abort while the session is being opened. No other process knows its URL, so it must be deleted here.
    const session = this.#session ?? (await this.#opened(signal));
    if (session === undefined) return;
    const { body } = await this.#parts.dispatcher.request({ ...place(session), method: 'DELETE', signal });
    await withErrorListener(body).dump();
  }

  /** Sends a part until the server has all of it; after an error it continues at the offset that the server reports. */
  async #send(part: Buffer, last: boolean): Promise<void> {
    const begin = this.#offset;
    const end = begin + part.length;
    const total = last ? end : undefined;
    this.#session ??= await this.#open();
    const missing = async (at: number): Promise<number> => {
      const stored = await this.#put(part.subarray(at - begin), at, total);
      if (stored < begin || (stored > end && !last)) {
        throw new UploadError(
          `the server reports ${stored} stored bytes after bytes ${begin} to ${end} were sent`,
          false,
        );
      }
      return stored;
    };
    let at = await this.#retried((attempt) => (attempt === 1 ? missing(begin) : missing(end)));
    for (let round = 1; at !== (last ? COMPLETE : end); round++) {
      if (round === ATTEMPTS)
        throw new UploadError(`the server still has ${at} of ${end} bytes after ${ATTEMPTS} requests`, false);
      const from = at;
      at = await this.#retried((attempt) => (attempt === 1 ? missing(from) : missing(end)));
    }
    this.#offset = end;
  }

  #open(): Promise<string> {
    const { start, signal } = this.#parts;
    return this.#retried(() => {
      throwIfAborted(signal);
      this.#opening = start();
      return untilCallerAborts(this.#opening, signal);
    });
  }

  async #opened(signal: AbortSignal): Promise<string | undefined> {
    if (this.#opening === undefined) return undefined;
    return untilCallerAborts(this.#opening, signal).catch(() => undefined);
  }

  #retried<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    const { clock, signal } = this.#parts;
    const retryAfterMs = (error: unknown): number | undefined => {
      const isTransient = error instanceof UploadError ? error.retryable : isTransientError(error);
      return isTransient ? 0 : undefined;
    };
    return retry(work, { attempts: ATTEMPTS, backoff: BACKOFF, clock, signal, retryAfterMs });
  }

  /**
   * Sends bytes; without bytes it asks how many the server has.
   * @param total size of the object, known with the last part
   * @returns how many bytes of the object the server has
   */
  async #put(bytes: Uint8Array, at: number, total: number | undefined): Promise<number> {
    const range = bytes.length === 0 ? '*' : `${at}-${at + bytes.length - 1}`;
    const { statusCode, headers, body } = await this.#parts.dispatcher.request({
      ...place(this.#session ?? ''),
      method: 'PUT',
      headers: {
        'content-range': `bytes ${range}/${total ?? '*'}`,
        ...(total !== undefined && { 'x-goog-hash': `crc32c=${this.#checksum.toString()}` }),
      },
      body: bytes,
      signal: this.#parts.signal,
    });
    withErrorListener(body);
    const response = statusCode === 403 ? await bodyStart(body) : '';
    await body.dump();
    if (statusCode === 200 || statusCode === 201) return COMPLETE;
    if (statusCode === RESUME) return Number(/-(\d+)$/.exec(String(headers['range'] ?? ''))?.[1] ?? -1) + 1;
    throw new UploadError(`status ${statusCode} for bytes ${range}`, isTransientResponse(statusCode, response));
  }
}

class UploadError extends Error {
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

function place(address: string): { origin: string; path: string } {
  const { origin, pathname, search } = new URL(address);
  return { origin, path: pathname + search };
}
