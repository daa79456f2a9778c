import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { holderTag } from '../../src/results/request-id.ts';
import { FileStore } from '../../src/results/stores/file/file-store.ts';
import { MemoryStore } from '../../src/results/stores/memory/memory-store.ts';
import { GATEWAY_ID, resultStoreContract } from './result-store.ts';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function fileStore(folder: string, compression?: 'zstd'): Promise<FileStore> {
  const store = new FileStore({
    dataDir: join(folder, 'data'),
    tempDir: join(folder, 'temp'),
    tag: holderTag(GATEWAY_ID),
    compression,
    clock: systemClock,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
  await store.start();
  return store;
}

resultStoreContract('memory', async () => ({ store: new MemoryStore({ maxBytes: 64 * 1024 * 1024 }) }), false);

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-results-'));
  folders.push(folder);
  return folder;
}

resultStoreContract('file', async () => {
  const folder = await newFolder();
  return { store: await fileStore(folder), reopen: () => fileStore(folder) };
});

resultStoreContract('compressed file', async () => {
  const folder = await newFolder();
  return { store: await fileStore(folder, 'zstd'), reopen: () => fileStore(folder, 'zstd') };
});

// A store whose setting was changed has results of both kinds.
resultStoreContract('file, compressed before a restart', async () => {
  const folder = await newFolder();
  return { store: await fileStore(folder, 'zstd'), reopen: () => fileStore(folder) };
});
