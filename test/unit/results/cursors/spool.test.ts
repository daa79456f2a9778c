import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { spooled } from '../../../../src/results/cursors/page.ts';
import { Spool } from '../../../../src/results/cursors/spool.ts';
import { QueryError } from '../../../../src/results/errors.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import { FileStore } from '../../../../src/results/stores/file/file-store.ts';
import { answerText, collect, responseOf, rowTexts } from '../answers.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

describe('the spool', () => {
  let folder: string;
  let store: FileStore;
  let held: number;
  let begun: number;
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  const temporary = (): Promise<string[]> => readdir(join(folder, 'temp'));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    store = new FileStore({
      dataDir: join(folder, 'data'),
      tempDir: join(folder, 'temp'),
      tag: '0',
      clock: systemClock,
      onProblem: () => undefined,
    });
    await store.start();
    held = 0;
    begun = 0;
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  function spool(maxBytes: number): Spool {
    const begin = () => store.begin(newRequestId('gateway', (bytes) => new Uint8Array(bytes).fill(++begun)));
    return new Spool(maxBytes, begin, (bytes) => {
      held += bytes;
    });
  }

  const text = rowTexts(500).join(',');
  const size = Buffer.byteLength(text);

  it.each([
    ['in memory', size, 0],
    ['in memory, below the limit', size * 2, 0],
    ['in the store, one byte above the limit', size - 1, 1],
    ['in the store, with a limit of 0', 0, 1],
  ])('keeps rows %s and returns them unchanged', async (_where, maxBytes, parts) => {
    for (const chunkBytes of [7, 1000, size * 2]) {
      begun = 0;
      const made = spool(maxBytes);
      expect(held).toBe(maxBytes);
      const answer = await spooled(responseOf(answerText(rowTexts(500)), { chunkBytes }), made, signal);
      expect([answer.rowCount, made.bytes, begun]).toEqual([500, size, parts]);
      expect(held).toBe(parts === 0 ? size : 0);
      expect(await collect(made.rows(signal))).toBe(text);
      await made.discard();
      await made.discard();
      expect(held).toBe(0);
      expect(await temporary()).toEqual([]);
    }
  });

  it('removes its rows when the response or its reader fails', async () => {
    for (const fail of [
      (made: Spool) => spooled(responseOf(answerText(rowTexts(500)).slice(0, 5000), { chunkBytes: 700 }), made, signal),
      (made: Spool) => {
        const leaving = new AbortController();
        const response = responseOf(answerText(rowTexts(500)), { chunkBytes: 700 });
        response.body.once('data', () => leaving.abort());
        return spooled(response, made, leaving.signal);
      },
    ]) {
      const made = spool(100);
      await expect(fail(made)).rejects.toBeInstanceOf(QueryError);
      await made.discard();
      expect(held).toBe(0);
      expect(await temporary()).toEqual([]);
    }
  });

  it('throws store-full when the store is full', async () => {
    const full = new QueryError('store-full', 'there is no room');
    const made = new Spool(
      10,
      () => Promise.reject(full),
      (bytes) => {
        held += bytes;
      },
    );
    await expect(spooled(responseOf(answerText(rowTexts(500))), made, signal)).rejects.toBe(full);
    await made.discard();
    expect(held).toBe(0);
  });
});
