import type { ResourceStore } from '../../store/resource-store.ts';

/** A write was rejected because this process is not the leader. */
export class NotLeaderError extends Error {
  constructor() {
    super('write rejected: this operator is not the leader');
    this.name = 'NotLeaderError';
  }
}

/**
 * The same store, with writes that are rejected unless `mayWrite()` returns true at the time of the write.
 *
 * A leader that was paused longer than its lease continues in the middle of its work, before any of its timers fires. Every write therefore
 * checks the clock. A write that is paused after this check is rejected by the API server if another leader was faster: each update has the
 * resourceVersion that it was computed from, and each created object has a fixed name.
 */
export function fencedStore(store: ResourceStore, mayWrite: () => boolean): ResourceStore {
  const ifLeader = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!mayWrite()) throw new NotLeaderError();
    return write();
  };
  return {
    synced: (signal) => store.synced(signal),
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    read: (kind, name, options) => store.read(kind, name, options),
    readAll: (kind, options) => store.readAll(kind, options),
    subscribe: (kind, listener) => store.subscribe(kind, listener),
    health: () => store.health(),
    close: () => store.close(),
    create: (kind, object, options) => ifLeader(() => store.create(kind, object, options)),
    update: (kind, object, options) => ifLeader(() => store.update(kind, object, options)),
    updateStatus: (kind, object, options) => ifLeader(() => store.updateStatus(kind, object, options)),
    delete: (kind, name, options) => ifLeader(() => store.delete(kind, name, options)),
  };
}
