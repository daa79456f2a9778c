import { ApiError, callStream } from '../../lib/api.ts';

export type DownloadFormat = 'csv' | 'jsonl' | 'arrow' | 'parquet';

export interface Progress {
  /** Bytes, uncompressed. */
  readonly received: number;
  /** Undefined while it is not known: only JSON lines have a length. */
  readonly total: number | undefined;
  /** Rows in the file; undefined before the response. */
  readonly rows: number | undefined;
}

export interface ResultToDownload {
  readonly requestId: string;
  readonly numRows: number;
  /** Headers that name the gateway with the result; empty for any. */
  readonly headers: Readonly<Record<string, string>>;
}

const NOTHING: Progress = { received: 0, total: undefined, rows: undefined };
/** Chunks are joined to pieces of this size, which the browser may keep on disk. Bytes. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** A download without data for this time has failed, milliseconds. */
const STALL_MS = 60_000;

/**
 * Downloads a whole result into the storage of the browser. After a failure, `run` continues where the download ended if the gateway supports
 * `Range` for the format, and begins again otherwise.
 */
export class ResultDownload {
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #useRange: boolean;
  readonly #onProgress: (progress: Progress) => void;
  readonly #abort = new AbortController();
  #pieces: Blob[] = [];
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #chunkBytes = 0;
  #etag: string | undefined;
  #progress = NOTHING;

  constructor(result: ResultToDownload, format: DownloadFormat, onProgress: (progress: Progress) => void) {
    this.#path = `/query/${encodeURIComponent(result.requestId)}/results?format=${format}`;
    this.#headers = result.headers;
    // No range is within an empty file.
    this.#useRange = format === 'jsonl' && result.numRows > 0;
    this.#onProgress = onProgress;
  }

  /** Whether `run` after a failure continues instead of beginning again. */
  get canResume(): boolean {
    return this.#etag !== undefined && this.#progress.received > 0;
  }

  cancel(): void {
    this.#abort.abort();
    this.#reset();
  }

  /** @throws {ApiError}; {DOMException} AbortError after `cancel` */
  async run(): Promise<Blob> {
    const stall = new AbortController();
    const signal = AbortSignal.any([this.#abort.signal, stall.signal]);
    let timer = setTimeout(() => stall.abort(), STALL_MS);
    try {
      if (this.#isComplete) return this.#file();
      const reader = (await this.#open(signal)).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) break;
        timer = setTimeout(() => stall.abort(), STALL_MS);
        this.#add(value);
      }
    } catch (error) {
      if (this.#abort.signal.aborted || error instanceof ApiError) throw error;
      throw new ApiError(0, stall.signal.aborted ? 'The gateway sends no more data.' : 'The connection was closed.');
    } finally {
      clearTimeout(timer);
    }
    const { received, total } = this.#progress;
    if (total !== undefined && received !== total)
      throw new ApiError(0, `The download ended after ${received} of ${total} bytes.`);
    return this.#file();
  }

  /** Whether the connection broke after the last byte. */
  get #isComplete(): boolean {
    return this.canResume && this.#progress.received === this.#progress.total;
  }

  #file(): Blob {
    this.#join();
    return new Blob(this.#pieces);
  }

  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    if (!this.canResume) this.#reset();
    const from = this.#progress.received;
    const response = await callStream(this.#path, {
      signal,
      headers: {
        ...this.#headers,
        // With a range the response is not compressed, so that its length is that of the file.
        ...(this.#useRange && { range: `bytes=${from}-` }),
        ...(from > 0 && this.#etag !== undefined && { 'if-range': this.#etag }),
      },
    });
    if (from > 0 && response.status !== 206) this.#reset();
    const rows = response.headers.get('x-olap-warden-rows');
    const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
    this.#etag = response.status === 206 ? (response.headers.get('etag') ?? undefined) : undefined;
    this.#progress = {
      received: this.#progress.received,
      total: total === undefined ? undefined : Number(total),
      rows: rows === null ? undefined : Number(rows),
    };
    this.#onProgress(this.#progress);
    if (!response.body) throw new ApiError(0, 'The response has no body.');
    return response.body;
  }

  #add(chunk: Uint8Array<ArrayBuffer>): void {
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    if (this.#chunkBytes >= PIECE_BYTES) this.#join();
    this.#progress = { ...this.#progress, received: this.#progress.received + chunk.length };
    this.#onProgress(this.#progress);
  }

  #join(): void {
    if (this.#chunks.length > 0) this.#pieces.push(new Blob(this.#chunks));
    this.#chunks = [];
    this.#chunkBytes = 0;
  }

  #reset(): void {
    this.#pieces = [];
    this.#chunks = [];
    this.#chunkBytes = 0;
    this.#etag = undefined;
    this.#progress = NOTHING;
  }
}
