// @module-tag slow
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LruCache } from '../../../../src/platform/lru.ts';
import type { CsvLayout } from '../../../../src/results/export/csv-layout.ts';
import { exportRows } from '../../../../src/results/export/export.ts';
import type { ExportFormat } from '../../../../src/results/export/format.ts';
import { readPage, rowRange, WHOLE_PAGE_BYTES } from '../../../../src/results/rows/page.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, collect, responseOf, submission } from '../answers.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';

// An aggregation such as `arrayagg` makes a row of any size. What is read of it at once must not depend on its size.

const signal = new AbortController().signal;
/** More than twice what is read as a whole. */
const LONG = `[2,"${'x'.repeat(9 * 1024 * 1024)}"]`;
const ROWS = ['[0,"a"]', '[1,"b"]', LONG, '[3,"d"]'];
/** A stride of the index is read as a whole up to this size, with the blocks around it. */
const MAX_READ_BYTES = WHOLE_PAGE_BYTES + 2 * 64 * 1024;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Objects arrive in pieces, as those of a real bucket. */
class PiecewiseBucket extends MemoryBucket {
  override async range(key: string, from: number, to: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    const whole = await super.range(key, from, to);
    return whole && split(whole);
  }
}

async function* split(whole: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const bytes of whole)
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

async function stored(compression: 'zstd' | undefined): Promise<ResultReader> {
  const context = { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: () => undefined };
  const store = new ObjectResultStore(new PiecewiseBucket(), context, compression);
  const outcome = await storeResponse(responseOf(answerText(ROWS)), store, submission(), signal);
  if (outcome.kind !== 'stored') throw new Error('not stored');
  return outcome.reader;
}

describe.each([undefined, 'zstd'] as const)('a row of 9 MB with compression %s', (compression) => {
  it('is found and sent without being held', async () => {
    const reader = await stored(compression);
    await reader.index(signal);
    const read = vi.spyOn(reader, 'read');
    const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow');
    for (const [offset, numRows] of [
      [0, 4],
      [1, 1],
      [2, 1],
      [3, 1],
      [2, 2],
    ] as const) {
      const page = await readPage(reader, { offset, numRows }, {}, signal);
      expect((await collect(page.rows)) === ROWS.slice(offset, offset + numRows).join(',')).toBe(true);
    }
    const whole = ROWS.join(',');
    expect(await rowRange({ reader, index: await reader.index(signal) }, { offset: 2, numRows: 1 }, signal)).toEqual({
      from: whole.indexOf(LONG),
      to: whole.indexOf(LONG) + LONG.length,
    });
    const sizes = [...read.mock.calls.map(([from, to]) => to - from), ...allocate.mock.calls.map(([size]) => size)];
    expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(MAX_READ_BYTES);
  });

  it('is read as JSON lines, and is an error in formats that need it whole', async () => {
    const reader = await stored(compression);
    const layouts = new LruCache<string, CsvLayout>({ maxWeight: 1 });
    const download = async (format: ExportFormat, rows = { offset: 0, numRows: 4 }): Promise<string> => {
      const found = await exportRows(reader, { format, layouts }, rows, signal);
      return collect(found.body(0, found.length ?? Number.MAX_SAFE_INTEGER, signal));
    };
    // Compared in a way that does not print 9 MB where it fails.
    expect((await download('jsonl')) === `${ROWS.join('\n')}\n`).toBe(true);
    for (const format of ['csv', 'arrow', 'parquet'] as const) {
      await expect(
        download(format).then(({ length }) => length),
        format,
      ).rejects.toMatchObject({
        code: 'bad-response',
        message: expect.stringMatching(/row of more than 8388608 bytes.*JSON lines.*pages/) as string,
      });
      expect(await download(format, { offset: 0, numRows: 2 })).not.toBe('');
    }
  });
});

describe('a result with many columns', () => {
  const store = (): ObjectResultStore =>
    new ObjectResultStore(new MemoryBucket(), {
      gatewayId: 'gateway-0',
      clock: new FakeClock(),
      onProblem: () => undefined,
    });
  const resultOf = async (types: readonly string[], row: string): Promise<ResultReader> => {
    const dataSchema = { columnNames: types.map((_, i) => `c${i}`), columnDataTypes: types };
    const text = `{"resultTable":{"dataSchema":${JSON.stringify(dataSchema)},"rows":[${row}]},"exceptions":[]}`;
    const outcome = await storeResponse(responseOf(text), store(), submission(), signal);
    if (outcome.kind !== 'stored') throw new Error('not stored');
    return outcome.reader;
  };
  const download = async (reader: ResultReader, format: ExportFormat): Promise<string> => {
    const layouts = new LruCache<string, CsvLayout>({ maxWeight: 1 });
    const found = await exportRows(reader, { format, layouts }, { offset: 0, numRows: 1 }, signal);
    return collect(found.body(0, found.length ?? Number.MAX_SAFE_INTEGER, signal));
  };

  it('is no download in formats that keep something for each column', async () => {
    const types = Array.from({ length: 2_001 }, () => 'INT');
    const reader = await resultOf(types, `[${types.map(() => '1').join(',')}]`);
    for (const format of ['arrow', 'parquet'] as const) {
      await expect(download(reader, format), format).rejects.toMatchObject({
        code: 'bad-response',
        message: expect.stringContaining('2001 columns') as string,
      });
    }
    expect((await download(reader, 'csv')).split('\r\n')[1]).toBe(types.map(() => '1').join(','));
  });

  it('has text for lists of lists, however often the engine nests them', async () => {
    for (const type of ['LONG_ARRAY_ARRAY', `LONG${'_ARRAY'.repeat(100_000)}`]) {
      const reader = await resultOf([type], '[[[1],[2,3]]]');
      for (const format of ['arrow', 'parquet'] as const) {
        expect(await download(reader, format), format).toContain('[1]');
      }
    }
  });
});
