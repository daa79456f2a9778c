import { describe, expect, it } from 'vitest';
import { streamRows } from '../../src/results/rows/checksums.ts';
import { readPage } from '../../src/results/rows/page.ts';
import { newRequestId } from '../../src/results/request-id.ts';
import type { ResultReader, ResultStore, StoredResultSummary } from '../../src/results/result-store.ts';
import type { DownloadName } from '../../src/results/stored-downloads.ts';
import { storeResponse } from '../../src/results/submit/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';

export const GATEWAY_ID = 'Broker_gateway-0_8080';

export interface StoreUnderTest {
  readonly store: ResultStore;
  /** Opens the same storage like a restarted gateway; undefined if a restart loses all results. */
  readonly reopen?: () => Promise<ResultStore>;
}

const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

let seed = 0;
function newId(gateway = GATEWAY_ID): string {
  seed++;
  return newRequestId(gateway, (bytes) => Buffer.alloc(bytes, `${process.pid}-${seed}`));
}

/**
 * Tests that every result store must pass.
 * @param make returns an empty store that was started; called once per test
 * @param lasts whether its results outlive a restart: with `reopen`
 */
export function resultStoreContract(name: string, make: () => Promise<StoreUnderTest>, lasts = true): void {
  describe(`the ${name} store`, () => {
    async function stored(store: ResultStore, rows: readonly string[], requestId = newId()): Promise<ResultReader> {
      const answer = responseOf(answerText(rows), { chunkBytes: 10_000 });
      const outcome = await storeResponse(answer, store, submission({ requestId }), signal());
      if (outcome.kind !== 'stored') throw new Error('the response was not stored');
      return outcome.reader;
    }

    async function listed(store: ResultStore): Promise<StoredResultSummary[]> {
      const all: StoredResultSummary[] = [];
      for await (const summary of store.list(signal())) all.push(summary);
      return all;
    }

    async function page(reader: ResultReader, offset: number, numRows: number): Promise<string> {
      const { rows } = await readPage(reader, { offset, numRows }, {}, signal());
      return collect(rows);
    }

    it('returns the stored rows byte for byte for any page', async () => {
      const { store } = await make();
      const rows = rowTexts(5000);
      const first = await stored(store, rows);
      await first.close();
      const reader = await store.open(first.record.requestId, signal());
      if (reader === undefined) throw new Error('not found');
      for (const [offset, numRows] of [
        [0, 5000],
        [0, 1],
        [4999, 1],
        [1234, 1000],
        [4000, 5000],
      ] as const) {
        expect(await page(reader, offset, numRows)).toBe(rows.slice(offset, offset + numRows).join(','));
      }
      const indexed = { reader, index: await reader.index(signal()) };
      expect(await collect(streamRows(indexed, 0, reader.record.rowBytes, signal()))).toBe(rows.join(','));
      expect(reader.record).toMatchObject({ ...submission({ requestId: first.record.requestId }), rowCount: 5000 });
      await reader.close();
    });

    it('stores a result of many parts', { tags: 'slow' }, async () => {
      const { store } = await make();
      const rows = Array.from({ length: 12_000 }, (_, i) => `[${i},"${'x'.repeat(2000)}"]`);
      const reader = await stored(store, rows);
      expect(reader.record.rowBytes).toBeGreaterThan(24_000_000);
      expect(await page(reader, 11_990, 10)).toBe(rows.slice(11_990).join(','));
      expect(await page(reader, 3999, 1)).toBe(rows[3999]);
      // Larger than the pages that are read at once, so it is streamed.
      expect((await page(reader, 1, 6000)) === rows.slice(1, 6001).join(',')).toBe(true);
      await reader.close();
      await store.delete(reader.record.requestId, signal());
    });

    it('stores a result without rows', async () => {
      const { store } = await make();
      const reader = await stored(store, []);
      await reader.close();
      const again = await store.open(reader.record.requestId, signal());
      expect(again?.record).toMatchObject({ rowCount: 0, rowBytes: 0 });
      await again?.close();
      await store.delete(reader.record.requestId, signal());
      expect(await store.open(reader.record.requestId, signal())).toBeUndefined();
    });

    it('lists only complete results', async () => {
      const { store } = await make();
      const writer = await store.begin(newId(), signal());
      await writer.write(Buffer.from('[1]'));
      expect(await listed(store)).toEqual([]);
      await writer.seal({ stride: 1, checkpoints: Float64Array.of(0) });
      expect(await listed(store)).toEqual([]);
      await writer.discard();
      const reader = await stored(store, rowTexts(3));
      await reader.close();
      const [summary, ...more] = await listed(store);
      expect(more).toEqual([]);
      expect(summary?.record).toEqual(reader.record);
      expect(summary?.bytes).toBeGreaterThanOrEqual(reader.record.rowBytes);
      expect(summary?.dataFile).toContain(reader.record.requestId);
      expect(summary?.metadataFile).not.toBe(summary?.dataFile);
    });

    it('keeps files of downloads beside the rows, counts them, and deletes them with the result', async () => {
      const { store } = await make();
      const reader = await stored(store, rowTexts(3));
      await reader.close();
      const { requestId } = reader.record;
      const [before] = await listed(store);
      const file = Buffer.from('parquet'.repeat(100_000));
      const write = async (name: DownloadName, bytes: Uint8Array): Promise<void> => {
        const writer = await store.downloads.begin(requestId, name, signal());
        for (let at = 0; at < bytes.length; at += 99_991) await writer.write(bytes.subarray(at, at + 99_991));
        expect(await store.downloads.open(requestId, name, signal())).toBeUndefined();
        await writer.commit();
      };
      await write('parquet', file);
      await write('arrow-text', file.subarray(0, 10));
      const found = await store.downloads.open(requestId, 'parquet', signal());
      expect(found?.bytes).toBe(file.length);
      expect(await collect(found!.stream(5, 600_005, signal()))).toBe(file.toString('latin1', 5, 600_005));
      await found?.close();
      const [after, ...others] = await listed(store);
      expect([after!.bytes - before!.bytes, others]).toEqual([file.length + 10, []]);
      await store.downloads.delete(requestId, 'arrow-text', signal());
      expect((await listed(store))[0]!.bytes - before!.bytes).toBe(file.length);

      await store.delete(requestId, signal());
      expect(await store.downloads.open(requestId, 'parquet', signal())).toBeUndefined();
      expect(await listed(store)).toEqual([]);
    });

    it('publishes no file of a download that is discarded, or whose result was deleted meanwhile', async () => {
      const { store } = await make();
      const reader = await stored(store, rowTexts(3));
      await reader.close();
      const { requestId } = reader.record;
      const discarded = await store.downloads.begin(requestId, 'arrow', signal());
      await discarded.write(Buffer.from('abc'));
      await discarded.discard();
      expect(await store.downloads.open(requestId, 'arrow', signal())).toBeUndefined();
      const late = await store.downloads.begin(requestId, 'arrow', signal());
      await late.write(Buffer.from('abc'));
      await store.delete(requestId, signal());
      await late.commit();
      expect(await store.downloads.open(requestId, 'arrow', signal())).toBeUndefined();
      expect(await listed(store)).toEqual([]);
    });

    it('returns sealed rows, and removes them on discard', async () => {
      const { store } = await make();
      const requestId = newId();
      const writer = await store.begin(requestId, signal());
      await writer.write(Buffer.from('[1],'));
      await writer.write(Buffer.from('[2]'));
      await writer.seal({ stride: 1, checkpoints: Float64Array.of(0, 4) });
      expect(await collect(writer.read(1, 7, signal()))).toBe('1],[2]');
      await writer.discard();
      expect(await store.open(requestId, signal())).toBeUndefined();
      expect(await listed(store)).toEqual([]);
    });

    it('deletes once; an open reader continues or fails with not-found', async () => {
      const { store } = await make();
      const rows = rowTexts(100);
      const reader = await stored(store, rows);
      const { requestId } = reader.record;
      expect(await store.delete(requestId, signal())).toBe(true);
      expect(await store.delete(requestId, signal())).toBe(false);
      expect(await store.open(requestId, signal())).toBeUndefined();
      const read = await page(reader, 0, 100).catch((error: unknown) => error);
      if (typeof read === 'string') expect(read).toBe(rows.join(','));
      else expect(read).toMatchObject({ code: 'not-found' });
      await reader.close();
      expect(await listed(store)).toEqual([]);
    });

    it('returns undefined for results that were never stored', async () => {
      const { store } = await make();
      expect(await store.open(newId(), signal())).toBeUndefined();
      expect(await store.delete(newId(), signal())).toBe(false);
    });

    it('serves concurrent readers of one result', async () => {
      const { store } = await make();
      const rows = rowTexts(2000);
      const first = await stored(store, rows);
      await first.close();
      const answers = await Promise.all(
        Array.from({ length: 25 }, async (_, i) => {
          const reader = await store.open(first.record.requestId, signal());
          if (reader === undefined) throw new Error('not found');
          const text = await page(reader, i * 70, 100);
          await reader.close();
          return text;
        }),
      );
      expect(answers).toEqual(Array.from({ length: 25 }, (_, i) => rows.slice(i * 70, i * 70 + 100).join(',')));
    });

    const keepsResults = async (): Promise<void> => {
      const { store, reopen } = await make();
      const reader = await stored(store, rowTexts(7));
      await reader.close();
      // Two submissions interrupted by a crash: one during its upload, one before its record is written.
      const uploading = await store.begin(newId(), signal());
      await uploading.write(Buffer.alloc(20_000_000, '[1],'));
      const sealed = await store.begin(newId(), signal());
      await sealed.write(Buffer.from('[1]'));
      await sealed.seal({ stride: 1, checkpoints: Float64Array.of(0) });
      const others = newId('Broker_gateway-1_8080');
      const foreign = await store.begin(others, signal());
      await foreign.write(Buffer.from('[5]'));
      await foreign.seal({ stride: 1, checkpoints: Float64Array.of(0) });

      const restarted = await reopen!();
      expect((await listed(restarted)).map((summary) => summary.record.requestId)).toEqual([reader.record.requestId]);
      await uploading.discard();
      // The submission of another gateway continues.
      const record = { ...reader.record, requestId: others, rowCount: 1, rowBytes: 3, stride: 1, checkpoints: 1 };
      const committed = await foreign.commit(record);
      expect(await collect(committed.stream(0, 3, signal()))).toBe('[5]');
      await committed.close();
      await expect(
        sealed.commit({ ...record, requestId: newId() }).then((found) => page(found, 0, 1)),
      ).rejects.toThrow();
      await restarted.close();
    };
    if (lasts) it('keeps complete results after a restart, and no incomplete ones', keepsResults);

    it('renews the expiration of a result, and never brings a deleted one back', async () => {
      const { store, reopen } = await make();
      const reader = await stored(store, rowTexts(500));
      const { record } = reader;
      const { requestId } = record;
      await page(reader, 100, 5);
      await reader.close();
      const renewed = { ...record, expirationTimeMs: record.expirationTimeMs + 60_000 };
      await store.renew(renewed, signal());
      const again = await store.open(requestId, signal());
      expect(again?.record).toEqual(renewed);
      expect(await page(again!, 490, 10)).toBe(rowTexts(500).slice(490).join(','));
      await again!.close();
      expect((await listed(store)).map((summary) => [summary.record, summary.damaged])).toEqual([[renewed, undefined]]);
      // A renewal at the same time as the deletion.
      await Promise.all([store.delete(requestId, signal()), store.renew({ ...renewed, rowCount: 500 }, signal())]);
      await store.delete(requestId, signal());
      await store.renew(renewed, signal());
      expect(await store.open(requestId, signal())).toBeUndefined();
      expect(await listed(store)).toEqual([]);
      if (reopen !== undefined) {
        const restarted = await reopen();
        expect(await listed(restarted)).toEqual([]);
        await restarted.close();
      }
    });

    it('keeps notes apart from results', async () => {
      const { store } = await make();
      const { notes } = store;
      const [one, two] = [newId(), newId()];
      const reader = await stored(store, rowTexts(3), two);
      await reader.close();
      expect(await notes.get(one, 'run', signal())).toBeUndefined();
      await notes.put(one, 'run', '{"first":"Zürich"}', signal());
      await Promise.all([
        notes.put(one, 'run', '{"second":"Zürich"}', signal()),
        notes.put(one, 'cancel', '{}', signal()),
      ]);
      await notes.put(two, 'run', '{}', signal());
      expect(await notes.get(one, 'run', signal())).toBe('{"second":"Zürich"}');
      const idsOf = async (kind: 'run' | 'cancel' | 'alive'): Promise<string[]> => {
        const ids: string[] = [];
        for await (const id of notes.list(kind, signal())) ids.push(id);
        return ids.sort();
      };
      expect(await idsOf('run')).toEqual([one, two].sort());
      expect([await idsOf('cancel'), await idsOf('alive')]).toEqual([[one], []]);
      // Neither is the other: a note is no result, and the end of a result does not touch a note.
      expect((await listed(store)).map(({ record }) => record.requestId)).toEqual([two]);
      expect(await store.open(one, signal())).toBeUndefined();
      await store.delete(two, signal());
      expect(await notes.get(two, 'run', signal())).toBe('{}');
      for (const id of [one, two]) await notes.delete(id, 'run', signal());
      await notes.delete(one, 'run', signal());
      await notes.delete(one, 'cancel', signal());
      expect([await idsOf('run'), await idsOf('cancel')]).toEqual([[], []]);
    });

    it('leaves nothing of a submission aborted by the client', async () => {
      const { store } = await make();
      const controller = new AbortController();
      const answer = responseOf(answerText(rowTexts(300_000)), { chunkBytes: 100_000 });
      let chunks = 0;
      answer.body.on('data', () => {
        if (++chunks === 20) controller.abort();
      });
      const outcome = storeResponse(answer, store, submission({ requestId: newId() }), controller.signal);
      await expect(outcome).rejects.toMatchObject({ code: 'aborted' });
      expect(answer.body.destroyed).toBe(true);
      expect(await listed(store)).toEqual([]);
    });
  });
}
