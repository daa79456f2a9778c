// @module-tag slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { FolderStore } from '../../src/store/folder/folder-store.ts';
import { describeResourceStore, type StoreFixture } from './resource-store.contract.ts';

async function start(): Promise<StoreFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-store-'));
  const store = await FolderStore.open(directory, { debounceMs: 20 });
  const file = (kind: string, name: string) =>
    join(directory, kind === 'Role' ? 'roles' : 'policies', `by-hand-${name}.yml`);
  return {
    store,
    putOutside: async (object) => writeFile(file(object.kind, object.metadata.name), stringify(object)),
    removeOutside: async (kind, name) => rm(file(kind, name)),
    stop: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

describeResourceStore('FolderStore', start);
