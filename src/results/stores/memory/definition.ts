import { bytes } from '../../../platform/setting-schema.ts';
import { defineStore } from '../definition.ts';
import { MemoryStore } from './memory-store.ts';

const DEFAULT_BYTES = 256 * 1024 * 1024;

export const MEMORY_STORE = defineStore({
  protocol: 'memory',
  properties: {
    'olap.broker.pagination.memory.max.bytes': bytes({
      description: 'Capacity of the memory store in bytes.',
      default: DEFAULT_BYTES,
    }),
  },
  create: async (properties) => new MemoryStore({ maxBytes: properties['olap.broker.pagination.memory.max.bytes'] }),
});
