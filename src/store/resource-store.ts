import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';

/** What changed in a store's view. `deleted` carries the last known object. */
export interface StoreEvent<K extends ResourceKind = ResourceKind> {
  readonly type: 'added' | 'modified' | 'deleted';
  readonly kind: K;
  readonly object: ResourceByKind[K];
  /** The object before the change; absent for `added`. */
  readonly previous?: ResourceByKind[K];
}

export type StoreErrorCode = 'not-found' | 'already-exists' | 'conflict' | 'invalid' | 'forbidden' | 'unavailable';

/** Every failure of a store. `message` is for people and names the object; it never holds a credential. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** How long the caller should wait before another try, where the store knows. */
  readonly retryAfterMs: number | undefined;

  constructor(code: StoreErrorCode, message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StoreError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
}

export interface DeleteOptions extends WriteOptions {
  /** Deletes only if the object is still this one; else `conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** How fresh the store's view is. */
export interface StoreHealth {
  readonly synced: boolean;
  /** Milliseconds since the view was last known to be complete and current; grows while the backing API is away. */
  readonly ageMs: number;
  /** The last failure, for people; undefined while all is well. */
  readonly lastError: string | undefined;
}

/**
 * Where resources live: the Kubernetes API, or a folder of manifests.
 *
 * Reads are synchronous and answer from a local view that follows the backing store; they never block and keep working while it is away.
 * Writes go to the backing store. When a write's promise resolves, the local view already holds its outcome (read your own write),
 * and its event has been delivered. Writes are optimistic: an object with a `metadata.resourceVersion` that is not the current one is refused with `conflict`.
 */
export interface ResourceStore {
  /** Resolves when every kind has been listed once; rejects when `signal` aborts. */
  synced(signal?: AbortSignal): Promise<void>;
  /** The object, or undefined. */
  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined;
  /** All objects of a kind, sorted by name. */
  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][];
  /**
   * Calls `listener` for every object there is (as `added`) before it returns, then for every change, in order.
   * A listener that throws does not stop the others. Returns a function that ends the subscription.
   */
  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void;
  /** @throws {StoreError} already-exists, invalid, forbidden, unavailable */
  create<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Replaces metadata (labels, annotations, finalizers) and spec, never status. Needs `metadata.resourceVersion`. @throws {StoreError} not-found, conflict, invalid, forbidden, unavailable */
  update<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Replaces status only. Needs `metadata.resourceVersion`. @throws {StoreError} as update */
  updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Deleting what does not exist is `not-found`. @throws {StoreError} not-found, conflict, forbidden, unavailable */
  delete(kind: ResourceKind, name: string, options?: DeleteOptions): Promise<void>;
  health(): StoreHealth;
  /** Stops watching and frees everything; no event is delivered afterwards. */
  close(): Promise<void>;
}
