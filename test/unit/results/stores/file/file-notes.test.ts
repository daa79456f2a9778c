import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NOTE_KEPT_MS } from '../../../../../src/results/notes.ts';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { FileNotes } from '../../../../../src/results/stores/file/file-notes.ts';

let dataDir: string;
let notes: FileNotes;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-notes-'));
  notes = new FileNotes({ dataDir, partOf: (name) => join(dataDir, `${name}.part`) });
});
afterEach(() => rm(dataDir, { recursive: true }));

const idOf = (seed: number): string => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, seed));

it('writes of one note follow each other, also those that begin while others end', async () => {
  const id = idOf(1);
  for (let round = 0; round < 20; round++) {
    const first = notes.put(id, 'run', `${round} first ${'x'.repeat(round * 1000)}`);
    const second = notes.put(id, 'run', `${round} second`);
    await first;
    // The first has ended, the second is being written.
    const third = notes.put(id, 'run', `${round} third`);
    await Promise.all([second, third]);
    expect(await notes.get(id, 'run')).toBe(`${round} third`);
  }
  expect(await readdir(dataDir)).toEqual([`${id}.run`]);
});

it('notes are listed by their kind, without files of other programs', async () => {
  await notes.put(idOf(1), 'run', 'a');
  await notes.put(idOf(2), 'run', 'b');
  await notes.put(idOf(3), 'cancel', 'c');
  for (const name of ['backup.run', `${idOf(4)}.json`, 'README']) await writeFile(join(dataDir, name), 'x');
  const found: string[] = [];
  for await (const id of notes.list('run')) found.push(id);
  expect(found.sort()).toEqual([idOf(1), idOf(2)].sort());
});

it('a note that was deleted is absent, and the deletion of an absent one has no effect', async () => {
  await notes.put(idOf(1), 'run', 'a');
  await notes.put(idOf(1), 'cancel', 'b');
  await notes.delete(idOf(1), 'run');
  await notes.delete(idOf(1), 'run');
  expect([await notes.get(idOf(1), 'run'), await notes.get(idOf(1), 'cancel')]).toEqual([undefined, 'b']);
});

it('only notes are removed when they are old', async () => {
  const written = new Date('2026-01-02T03:04:05Z');
  const others = ['backup.run', `${idOf(2)}.json`, `${idOf(2)}.rows`, 'README'];
  await notes.put(idOf(1), 'alive', 'a');
  for (const name of others) await writeFile(join(dataDir, name), 'x');
  for (const name of [...others, `${idOf(1)}.alive`]) await utimes(join(dataDir, name), written, written);
  await notes.removeOld(written.getTime() + NOTE_KEPT_MS);
  expect(await notes.get(idOf(1), 'alive')).toBe('a');
  await notes.removeOld(written.getTime() + NOTE_KEPT_MS + 1);
  expect((await readdir(dataDir)).sort()).toEqual(others.sort());
});
