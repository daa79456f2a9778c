import { setImmediate as nextTurn } from 'node:timers/promises';
import { MemoryStore, SharedBackend } from '../../unit/access/memory-store.ts';
import { storeWorld, type World } from './store-world.ts';

/** Gateways at one store in memory, whose views are behind each other's writes. */
export function memoryWorld(gateways = 2): World {
  const backend = new SharedBackend();
  return {
    ...storeWorld(Array.from({ length: gateways }, () => new MemoryStore(backend))),
    // Followers learn of a write in the next turn of the event loop.
    settled: async () => {
      await nextTurn();
      await nextTurn();
    },
  };
}
