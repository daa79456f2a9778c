import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { holderTag } from '../../src/results/request-id.ts';
import { FileStore } from '../../src/results/stores/file/file-store.ts';
import { ObjectResultStore } from '../../src/results/stores/object/object-store.ts';
import { MemoryBucket } from '../unit/results/stores/object/memory-bucket.ts';
import { type DamageableStore, damagedResultsContract } from './damaged-results.ts';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

const onProblem = (message: string): void => {
  throw new Error(message);
};

async function files(compression?: 'zstd'): Promise<DamageableStore> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-damages-'));
  folders.push(folder);
  const dataDir = join(folder, 'data');
  return {
    isShared: false,
    raw: {
      names: async () => (await readdir(dataDir)).sort(),
      get: (name) => readFile(join(dataDir, name)),
      put: (name, bytes) => writeFile(join(dataDir, name), bytes),
      delete: (name) => rm(join(dataDir, name)),
    },
    open: async (id, clock) => {
      const tag = holderTag(id);
      const store = new FileStore({ dataDir, tempDir: join(folder, 'temp'), tag, clock, compression, onProblem });
      await store.start();
      return store;
    },
  };
}

damagedResultsContract('files', () => files());

damagedResultsContract('compressed files', () => files('zstd'));

damagedResultsContract('a bucket', async () => {
  const bucket = new MemoryBucket();
  return {
    isShared: true,
    raw: {
      names: async () => [...bucket.objects.keys()].sort(),
      get: async (name) => bucket.objects.get(name)!.bytes,
      put: async (name, bytes) => {
        // With the time of the change, as buckets tell it.
        bucket.now = Date.now();
        await bucket.put(name, bytes);
      },
      delete: (name) => bucket.delete(name),
    },
    open: async (gatewayId, clock) => {
      bucket.now = Date.now();
      return new ObjectResultStore(bucket, { gatewayId, clock, onProblem });
    },
  };
});
