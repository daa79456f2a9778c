import type { ResourceByKind, ResourceKind } from '../resources/kinds.ts';

/** A change in a store's view. `deleted` carries the last known state. */
export interface StoreEvent<K extends ResourceKind = ResourceKind> {
  readonly type: 'added' | 'modified' | 'deleted';
  readonly kind: K;
  readonly object: ResourceByKind[K];
  /** The object before the change; absent for `added`. */
  readonly previous?: ResourceByKind[K];
}

export type StoreErrorCode = 'not-found' | 'already-exists' | 'conflict' | 'invalid' | 'forbidden' | 'unavailable';

/** Every failure of a store. `message` names the object and never contains a credential. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** Least delay before another attempt, milliseconds, where the store knows it. */
  readonly retryAfterMs: number | undefined;
  /** True with `forbidden` if the backing store refuses the account of this process, whatever the rights of the caller are. */
  readonly ownAccount: boolean;

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { retryAfterMs?: number; ownAccount?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'StoreError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.ownAccount = options.ownAccount ?? false;
  }
}

/** The delay of `retry()` after a conflict, milliseconds; undefined for any other error. */
export function conflictRetryAfterMs(error: unknown): number | undefined {
  return error instanceof StoreError && error.code === 'conflict' ? (error.retryAfterMs ?? 0) : undefined;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

export interface DeleteOptions extends WriteOptions {
  /** Deletes only an object with this uid; otherwise `conflict`. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Deletes nothing: the promise resolves or rejects as that of the deletion. It tells whether the object exists without a right to read it. */
  readonly dryRun?: boolean;
}

/** How current the store's view is. */
export interface StoreHealth {
  readonly synced: boolean;
  /** Milliseconds since the view was last known to be complete and current. It grows while the backing store is unavailable. */
  readonly ageMs: number;
  /** Message of the last failure; undefined while there is none. */
  readonly lastError: string | undefined;
}

/**
 * Stores resources: in a Kubernetes API, or in a folder of manifests.
 *
 * Reads are synchronous. They use a local view that follows the backing store, never block, and work while the backing store is unavailable.
 * Writes go to the backing store. When a write's promise resolves, the local view contains the result (read your own writes) and its event has
 * been delivered. Writes are optimistic: an object whose `metadata.resourceVersion` is not the current one is rejected with `conflict`.
 *
 * A Kubernetes store has no view of Secrets: read() requires a right on the single Secret, and readAll() is forbidden. A Secret must have the label
 * `olapwarden.io/part`.
 */
export interface ResourceStore {
  /** Resolves when all kinds have been listed. Rejects when `signal` aborts. */
  synced(signal?: AbortSignal): Promise<void>;
  /** The object, or undefined. */
  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined;
  /** All objects of a kind, sorted by name. */
  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][];
  /**
   * Reads one object from the backing store, not from the local view: the result contains every write that was acknowledged before this call, by any
   * process. For a decision that must not be wrong when another process writes at the same time.
   * @returns undefined if it does not exist
   * @throws {StoreError} forbidden, unavailable
   */
  read<K extends ResourceKind>(kind: K, name: string, options?: ReadOptions): Promise<ResourceByKind[K] | undefined>;
  /** Reads all objects of a kind from the backing store, like read(). Their number is unlimited. @throws {StoreError} forbidden, unavailable */
  readAll<K extends ResourceKind>(kind: K, options?: ReadOptions): Promise<readonly ResourceByKind[K][]>;
  /**
   * Calls `listener` for every existing object (as `added`) before it returns, then for every change, in order.
   * An error in one listener does not affect the others. Returns a function that ends the subscription.
   */
  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void;
  /** @throws {StoreError} already-exists, invalid, forbidden, unavailable */
  create<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Replaces metadata (labels, annotations, finalizers) and spec, not status. Requires `metadata.resourceVersion`. @throws {StoreError} not-found, conflict, invalid, forbidden, unavailable */
  update<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Replaces status only. Requires `metadata.resourceVersion`. @throws {StoreError} as update */
  updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
    options?: WriteOptions,
  ): Promise<ResourceByKind[K]>;
  /** Deletes an object. @throws {StoreError} not-found, conflict, invalid, forbidden, unavailable */
  delete(kind: ResourceKind, name: string, options?: DeleteOptions): Promise<void>;
  health(): StoreHealth;
  /** Stops watching and releases all resources. No events are delivered afterwards. */
  close(): Promise<void>;
}
