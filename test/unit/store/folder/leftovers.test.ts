import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FolderStore } from '../../../../src/store/folder/folder-store.ts';

const ID = '11111111-2222-3333-4444-555555555555';

it('opening a folder removes what killed processes left in it, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leftovers-'));
  const old = new Date(Date.now() - 3_600_000);
  const left = [`roles/.${ID}.tmp`, `.state/roles/.${ID}.tmp`, `secrets/.${ID}.tmp`, `.lock.${ID}`];
  const kept = ['roles/.notes.tmp', 'roles/mine.tmp', `.lock.${ID.replace('1', '2')}`];
  for (const path of [...left, ...kept]) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), 'half');
    if (path !== kept[2]) await utimes(join(folder, path), old, old);
  }
  const store = await FolderStore.open(folder);
  try {
    const present = await readdir(folder, { recursive: true });
    for (const path of left) expect(present).not.toContain(path);
    // The last one is young: it may belong to a process that is just starting.
    for (const path of kept) expect(present).toContain(path);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
});
