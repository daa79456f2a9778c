import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { FileNotes } from '../../../../../src/results/stores/file/file-notes.ts';

it('writes of one note follow each other, also those that begin while others end', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'olap-warden-notes-'));
  try {
    const notes = new FileNotes({ dataDir, partOf: (name) => join(dataDir, `${name}.part`) });
    const id = newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, 1));
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
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
