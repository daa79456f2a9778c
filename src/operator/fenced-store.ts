import type { ResourceStore } from '../store/resource-store.ts';

/** This process does not hold the lease (any more): another one writes now. */
export class NotLeaderError extends Error {
  constructor() {
    super('this operator does not lead: it writes nothing');
    this.name = 'NotLeaderError';
  }
}

/**
 * The same store, whose writes are refused unless `mayWrite` says yes at that very moment.
 *
 * A leader that was paused past its lease wakes up in the middle of its work, before any timer has told it: so every single write asks the clock.
 * What slips through between that question and the socket is caught by the second fence: every update carries the resourceVersion it was computed
 * from, and every created object has a name of its own, so the API server refuses what another leader has changed meanwhile.
 */
export function fencedStore(store: ResourceStore, mayWrite: () => boolean): ResourceStore {
  const check = (): void => {
    if (!mayWrite()) throw new NotLeaderError();
  };
  return {
    synced: (signal) => store.synced(signal),
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    subscribe: (kind, listener) => store.subscribe(kind, listener),
    health: () => store.health(),
    close: () => store.close(),
    async create(kind, object, options) {
      check();
      return store.create(kind, object, options);
    },
    async update(kind, object, options) {
      check();
      return store.update(kind, object, options);
    },
    async updateStatus(kind, object, options) {
      check();
      return store.updateStatus(kind, object, options);
    },
    async delete(kind, name, options) {
      check();
      return store.delete(kind, name, options);
    },
  };
}
