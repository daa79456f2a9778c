import { QueryError } from '../errors.ts';
import { recordFromJson, recordToJson } from '../record-json.ts';
import { holderOf, isRequestId } from '../request-id.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter, StoredResultSummary } from '../result-store.ts';
import { decodeIndex, encodeIndex, type RowIndex } from '../row-index.ts';
import type { ResultStoreProtocol } from '../settings.ts';
import { type CachedResult, ResultCache } from './result-cache.ts';

const ROWS = '.rows';
const RECORD = '.json';
const BYTES_PER_CHECKPOINT = 8;
const LISTING_CONCURRENCY = 8;
/** What another gateway left half-done is removed once no submission can still be running. */
const FOREIGN_LEFTOVER_MS = 24 * 3_600_000;

export interface StoredObject {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly modifiedMs: number;
}

/** An object that grows while it is uploaded; nobody sees it before `complete`. */
export interface ObjectUpload {
  /** Resolves when the next bytes may come: at most a few parts are held in memory. */
  write(bytes: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  /** Leaves nothing behind, also no parts that are paid for. */
  abort(): Promise<void>;
}

/**
 * The little that a bucket must do. Keys are names inside the prefix of the settings. Absent objects are `undefined`;
 * every other failure is a QueryError of code store-unavailable.
 */
export interface ObjectClient {
  /** `s3://bucket/prefix` or `gs://bucket/prefix`, without a trailing slash. */
  readonly base: string;
  upload(key: string, signal: AbortSignal): Promise<ObjectUpload>;
  put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Bytes `from` to `to` (exclusive) as they arrive; `undefined` where the object is gone. */
  range(key: string, from: number, to: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined>;
  list(signal: AbortSignal): AsyncIterable<StoredObject>;
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Ends uploads that were never completed, of those keys that `which` picks. */
  abortUploads(which: (upload: StoredObject) => boolean, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ObjectStoreOptions {
  readonly client: ObjectClient;
  readonly protocol: ResultStoreProtocol;
  /** `holderTag` of this gateway: its own leftovers go at the start. */
  readonly tag: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly onProblem: (message: string) => void;
}

/**
 * Results in a bucket, for any gateway to read: `<requestId>.rows` (rows, then index) by a multipart upload while the engine sends,
 * and `<requestId>.json` (everything else), put last: a result is there when its record is.
 */
export class ObjectResultStore implements ResultStore {
  readonly protocol: ResultStoreProtocol;
  readonly local = false;
  readonly #options: ObjectStoreOptions;
  readonly #client: ObjectClient;
  readonly #cache = new ResultCache();

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    this.#client = options.client;
    this.protocol = options.protocol;
  }

  async start(signal: AbortSignal): Promise<void> {
    const mayRemove = (object: StoredObject): boolean => this.#mayRemove(object);
    await this.#client.abortUploads(mayRemove, signal);
    const rows: StoredObject[] = [];
    const records = new Set<string>();
    for await (const object of this.#client.list(signal)) {
      if (object.key.endsWith(RECORD)) records.add(object.key.slice(0, -RECORD.length));
      else if (object.key.endsWith(ROWS)) rows.push(object);
    }
    for (const object of rows) {
      if (!records.has(object.key.slice(0, -ROWS.length)) && mayRemove(object))
        await this.#client.delete(object.key, signal);
    }
  }

  async begin(requestId: string, signal: AbortSignal): Promise<ResultWriter> {
    const upload = await this.#client.upload(requestId + ROWS, signal);
    return new ObjectWriter(this.#client, upload, requestId, signal, async (record) => {
      await this.#client.put(requestId + RECORD, Buffer.from(recordToJson(record)), signal);
      return this.#reader({ record, index: undefined });
    });
  }

  async open(requestId: string, signal: AbortSignal): Promise<ResultReader | undefined> {
    const known = this.#cache.get(requestId);
    // A result without rows has nothing whose absence would tell that another gateway has deleted it.
    if (known !== undefined && known.record.rowCount > 0) return this.#reader(known);
    const record = await this.#load(requestId, signal);
    return record === undefined ? undefined : this.#reader({ record, index: undefined });
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredResultSummary> {
    let batch: string[] = [];
    for await (const { key } of this.#client.list(signal)) {
      const requestId = key.slice(0, -RECORD.length);
      if (!key.endsWith(RECORD) || !isRequestId(requestId)) continue;
      batch.push(requestId);
      if (batch.length < LISTING_CONCURRENCY) continue;
      yield* await this.#summaries(batch, signal);
      batch = [];
    }
    yield* await this.#summaries(batch, signal);
  }

  async delete(requestId: string, signal: AbortSignal): Promise<boolean> {
    this.#cache.delete(requestId);
    // Bucket stores answer the deletion of what is absent as if it had been there.
    if ((await this.#client.get(requestId + RECORD, signal)) === undefined) return false;
    await this.#client.delete(requestId + RECORD, signal);
    await this.#client.delete(requestId + ROWS, signal);
    return true;
  }

  async close(): Promise<void> {
    this.#cache.clear();
    await this.#client.close();
  }

  async #load(requestId: string, signal: AbortSignal): Promise<ResultRecord | undefined> {
    const bytes = await this.#client.get(requestId + RECORD, signal);
    if (bytes === undefined) return undefined;
    const record = recordFromJson(Buffer.from(bytes).toString('utf8'));
    if (record === undefined) {
      this.#options.onProblem(`the record of the stored result ${requestId} cannot be read and is left out`);
    }
    return record;
  }

  async #summaries(requestIds: readonly string[], signal: AbortSignal): Promise<StoredResultSummary[]> {
    const records = await Promise.all(requestIds.map((requestId) => this.#load(requestId, signal)));
    return records
      .filter((record) => record !== undefined)
      .map((record) => ({
        record,
        bytes: record.rowBytes + record.checkpoints * BYTES_PER_CHECKPOINT + recordToJson(record).length,
        dataFile: `${this.#client.base}/${record.requestId}${ROWS}`,
        metadataFile: `${this.#client.base}/${record.requestId}${RECORD}`,
      }));
  }

  #reader(cached: CachedResult): ResultReader {
    this.#cache.set(cached);
    return new ObjectReader(this.#client, cached, () => this.#cache.delete(cached.record.requestId));
  }

  #mayRemove({ key, modifiedMs }: StoredObject): boolean {
    const requestId = key.slice(0, key.indexOf('.'));
    if (!isRequestId(requestId)) return false;
    return holderOf(requestId) === this.#options.tag || this.#options.now() - modifiedMs > FOREIGN_LEFTOVER_MS;
  }
}

class ObjectWriter implements ResultWriter {
  readonly #client: ObjectClient;
  readonly #upload: ObjectUpload;
  readonly #requestId: string;
  readonly #signal: AbortSignal;
  readonly #publish: (record: ResultRecord) => Promise<ResultReader>;
  #complete = false;

  constructor(
    client: ObjectClient,
    upload: ObjectUpload,
    requestId: string,
    signal: AbortSignal,
    publish: (record: ResultRecord) => Promise<ResultReader>,
  ) {
    this.#client = client;
    this.#upload = upload;
    this.#requestId = requestId;
    this.#signal = signal;
    this.#publish = publish;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#upload.write(bytes);
  }

  async seal(index: RowIndex): Promise<void> {
    await this.#upload.write(encodeIndex(index));
    await this.#upload.complete();
    this.#complete = true;
  }

  async *read(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const bytes = await this.#client.range(this.#requestId + ROWS, from, to, signal);
    if (bytes === undefined) throw gone();
    yield* bytes;
  }

  commit(record: ResultRecord): Promise<ResultReader> {
    return this.#publish(record);
  }

  async discard(): Promise<void> {
    // The caller's own signal may be what ended the submission: cleaning up must not end with it.
    const signal = this.#signal.aborted ? AbortSignal.timeout(CLEAN_UP_TIMEOUT_MS) : this.#signal;
    const cleaned = this.#complete ? this.#remove(signal) : this.#upload.abort();
    // What cannot be removed now is a leftover: it goes at the next start.
    await cleaned.catch(() => undefined);
  }

  /** The record too: a put that seemed to fail may have worked. */
  async #remove(signal: AbortSignal): Promise<void> {
    await this.#client.delete(this.#requestId + RECORD, signal);
    await this.#client.delete(this.#requestId + ROWS, signal);
  }
}

const CLEAN_UP_TIMEOUT_MS = 30_000;

class ObjectReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #client: ObjectClient;
  readonly #cached: CachedResult;
  readonly #forget: () => void;

  constructor(client: ObjectClient, cached: CachedResult, forget: () => void) {
    this.record = cached.record;
    this.#client = client;
    this.#cached = cached;
    this.#forget = forget;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#cached.index;
  }

  async index(signal: AbortSignal): Promise<RowIndex> {
    const { rowBytes, stride, checkpoints } = this.record;
    if (this.#cached.index === undefined) {
      const parts = await this.read(rowBytes, rowBytes + checkpoints * BYTES_PER_CHECKPOINT, signal);
      this.#cached.index = decodeIndex(Buffer.concat(parts), stride);
    }
    return this.#cached.index;
  }

  async read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    for await (const part of this.stream(from, to, signal)) parts.push(part);
    return parts;
  }

  async *stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const bytes = await this.#client.range(this.#key, from, to, signal);
    if (bytes === undefined) {
      this.#forget();
      throw gone();
    }
    let left = to - from;
    for await (const part of bytes) {
      left -= part.length;
      yield part;
    }
    if (left !== 0) throw new QueryError('store-unavailable', 'the stored result is damaged: its object is too short');
  }

  async close(): Promise<void> {}

  get #key(): string {
    return this.record.requestId + ROWS;
  }
}

function gone(): QueryError {
  return new QueryError('not-found', 'the query results were deleted meanwhile');
}
