export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Epoch milliseconds; undefined where the bucket does not say. */
  readonly modifiedMs: number | undefined;
}

/** An upload that was begun and neither completed nor ended: its parts take up room that nobody sees. */
export interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
  /** When it was begun, in epoch milliseconds; undefined where the bucket does not say. */
  readonly modifiedMs: number | undefined;
}

/** An object that grows while it is uploaded; nobody sees it before `complete`. */
export interface ObjectUpload {
  /** Resolves when the next bytes may come: at most a few parts are held in memory. */
  write(bytes: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  /** Leaves nothing behind, also no parts that are paid for. Does not undo `complete`. */
  abort(): Promise<void>;
}

/** Names of what the bucket must allow so that leftovers can be found and removed, for whoever must grant it. */
export interface ObjectRights {
  readonly objects: readonly string[];
  readonly uploads: readonly string[];
}

/**
 * The little that a bucket must do. Keys are names inside the prefix of the settings. Absent objects are `undefined`;
 * every other failure is a QueryError of code store-unavailable.
 */
export interface ObjectClient {
  /** `s3://bucket/prefix` or `gs://bucket/prefix`, without a trailing slash. */
  readonly base: string;
  readonly rights: ObjectRights;
  upload(key: string, signal: AbortSignal): Promise<ObjectUpload>;
  put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Bytes of the object. */
  size(key: string, signal: AbortSignal): Promise<number | undefined>;
  /** Bytes `from` to `to` (exclusive) as they arrive; `undefined` where the object is gone. */
  range(key: string, from: number, to: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Objects whose keys begin with `start`, a page of the bucket's answer at a time. */
  list(start: string, signal: AbortSignal): AsyncIterable<StoredObject>;
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Unfinished uploads of keys that begin with `start`; none where the bucket does not tell of them. */
  uploads(start: string, signal: AbortSignal): AsyncIterable<UnfinishedUpload>;
  /** Does nothing where it was completed or ended meanwhile. */
  abortUpload(upload: UnfinishedUpload, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
