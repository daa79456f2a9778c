import type { Clock, MonotonicClock } from '../../../platform/clock.ts';
import { FairQueue, type Place, QueueRefusal } from '../../../platform/fair-queue.ts';
import { damaged, QueryError } from '../../errors.ts';
import { readAgain } from '../../rows/read-again.ts';
import type { ResultReader, ResultRecord, ResultWriter } from '../../result-store.ts';
import { decodeIndex, encodeIndex, indexBytes, type RowIndex, storedRowBytes } from '../../rows/row-index.ts';
import type { ObjectClient, ObjectUpload } from './object-client.ts';
import { RECORD, ROWS } from './object-pairs.ts';
import type { CachedResult } from '../result-cache.ts';

const CLEAN_UP_TIMEOUT_MS = 30_000;
/** Buckets, the SDKs and networks close connections that are idle for seconds to minutes, as they are while a client does not read. */
const IDLE_MS = 1_000;

/** Size of the rows object of a complete result: rows and index. */
export function objectBytes(record: ResultRecord): number {
  return storedRowBytes(record) + indexBytes(record);
}

export interface ObjectWriterDependencies {
  readonly client: ObjectClient;
  readonly upload: ObjectUpload;
  readonly requestId: string;
  /** Writes the record, which makes the result visible. */
  readonly publish: (record: ResultRecord) => Promise<ResultReader>;
  /** Called when all writes have ended; with an error if the objects of a discarded result could not be removed. */
  readonly onEnd: (failure?: unknown) => void;
}

export class ObjectWriter implements ResultWriter {
  readonly #parts: ObjectWriterDependencies;
  /** Keys of objects that may exist: a failed call may still have had an effect. */
  readonly #written: string[] = [];
  #complete = false;

  constructor(parts: ObjectWriterDependencies) {
    this.#parts = parts;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#parts.upload.write(bytes);
  }

  async seal(index: RowIndex): Promise<void> {
    const { upload, requestId } = this.#parts;
    await upload.write(encodeIndex(index));
    this.#written.unshift(requestId + ROWS);
    await upload.complete();
    this.#complete = true;
  }

  async *read(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const { client, requestId } = this.#parts;
    const bytes = await client.range(requestId + ROWS, from, to, signal);
    if (bytes === undefined) throw notFound();
    yield* bytes;
  }

  async commit(record: ResultRecord): Promise<ResultReader> {
    const { publish, requestId, onEnd } = this.#parts;
    this.#written.unshift(requestId + RECORD);
    const reader = await publish(record);
    onEnd();
    return reader;
  }

  async discard(): Promise<void> {
    const { client, upload, onEnd } = this.#parts;
    // The caller's signal may have caused the discard, so the cleanup needs its own.
    const signal = AbortSignal.timeout(CLEAN_UP_TIMEOUT_MS);
    let failure: unknown;
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      await work().catch((error: unknown) => {
        failure ??= error;
      });
    };
    if (!this.#complete) await attempt(() => upload.abort());
    for (const key of this.#written) await attempt(() => client.delete(key, signal));
    onEnd(failure);
  }
}

/** Fewer than the connections that the SDKs open (50), so that calls other than reads have some. */
const READS_AT_ONCE = 32;
const READS_OF_OWNER = READS_AT_ONCE / 2;
/** The wait for a bucket that does not respond takes as long. */
const MAX_WAIT_MS = 12_000;

/** The reads of rows in a bucket; the owners of results take turns. A read lasts for as long as its client reads. */
export function bucketReads(clock: Pick<Clock, 'monotonic' | 'schedule'>): FairQueue {
  const limits = { total: READS_AT_ONCE, perKey: READS_OF_OWNER, maxWaiting: Infinity, maxWaitMs: MAX_WAIT_MS };
  return new FairQueue({ name: 'bucket-reads', ...limits }, clock);
}

export interface ObjectReaderOptions {
  readonly clock: MonotonicClock;
  /** Shared by all readers of a bucket. */
  readonly reads: FairQueue;
  /** Called when the rows do not exist any more. */
  readonly onGone: () => void;
}

export class ObjectReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #client: ObjectClient;
  readonly #cached: CachedResult;
  readonly #options: ObjectReaderOptions;

  constructor(client: ObjectClient, cached: CachedResult, options: ObjectReaderOptions) {
    this.record = cached.record;
    this.#client = client;
    this.#cached = cached;
    this.#options = options;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#cached.index;
  }

  async index(signal: AbortSignal): Promise<RowIndex> {
    if (this.#cached.index === undefined) {
      this.#cached.index = await readAgain({}, async () => {
        const parts = await this.read(storedRowBytes(this.record), objectBytes(this.record), signal);
        return decodeIndex(Buffer.concat(parts), this.record);
      });
    }
    return this.#cached.index;
  }

  async read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    for await (const part of this.stream(from, to, signal)) parts.push(part);
    return parts;
  }

  async *stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const { clock, reads, onGone } = this.#options;
    const { requestId, owner } = this.record;
    const client = this.#client;
    const gone = async (abort: AbortSignal): Promise<QueryError> => {
      onGone();
      const isThere = (await client.size(requestId + RECORD, abort)) !== undefined;
      return isThere ? damaged('its rows are missing') : notFound();
    };
    const object = { client, clock, reads, gone, key: requestId + ROWS, turn: owner };
    yield* objectPieces(object, { from, to }, signal);
  }

  async close(): Promise<void> {}
}

/** An object that is read in pieces. */
export interface ReadObject extends Pick<ObjectReaderOptions, 'clock' | 'reads'> {
  readonly client: Pick<ObjectClient, 'range'>;
  readonly key: string;
  /** Those who take turns in `reads`. */
  readonly turn: string;
  /** Why the object does not exist any more; by default, its result was deleted. */
  readonly gone?: (signal: AbortSignal) => Promise<QueryError>;
}

/** The bytes `from` to `to` (exclusive) of an object as they arrive. @throws {QueryError} busy, damaged, not-found, store-unavailable */
export async function* objectPieces(
  object: ReadObject,
  range: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const place = await placeIn(object.reads, object.turn, signal);
  try {
    yield* resumed(object, range, signal);
  } finally {
    place.release();
  }
}

async function* resumed(
  object: ReadObject,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const { clock } = object;
  let at = from;
  for (let isComplete = false; !isComplete;) {
    let idleMs = 0;
    try {
      for await (const part of await rangeOf(object, { from: at, to }, signal)) {
        at += part.length;
        const since = clock.monotonic();
        yield part;
        idleMs = Math.max(idleMs, clock.monotonic() - since);
      }
      isComplete = true;
    } catch (error) {
      // Objects never change, so the rest can be read by another request.
      if (idleMs < IDLE_MS || !isUnavailable(error)) throw error;
      isComplete = at >= to;
    }
  }
  if (at !== to) throw damaged('its object is too short');
}

async function rangeOf(
  { client, key, gone }: ReadObject,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await client.range(key, from, to, signal);
  if (bytes !== undefined) return bytes;
  throw (await gone?.(signal)) ?? notFound();
}

/** @throws {QueryError} busy; the reason of the signal */
async function placeIn(reads: FairQueue, owner: string, signal: AbortSignal): Promise<Place> {
  try {
    return await reads.acquire(owner, { signal });
  } catch (error) {
    if (!(error instanceof QueueRefusal)) throw error;
    const waited = `${MAX_WAIT_MS / 1000} s`;
    throw new QueryError('busy', `other reads of results of this owner lasted longer than ${waited}; try again later`);
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof QueryError && error.code === 'store-unavailable';
}

function notFound(): QueryError {
  return new QueryError('not-found', 'the query results were deleted');
}
