import { setImmediate as nextTurn } from 'node:timers/promises';
import { MemoryStore, SharedBackend } from '../../unit/access/memory-store.ts';
import { storeWorld, type World } from './store-world.ts';

/** Two gateways at one store in memory, whose views are behind each other's writes. */
export function memoryWorld(): World {
  const backend = new SharedBackend();
  return {
    ...storeWorld([new MemoryStore(backend), new MemoryStore(backend)]),
    // Followers learn of a write in the next turn of the event loop.
    settled: async () => {
      await nextTurn();
      await nextTurn();
    },
  };
}
