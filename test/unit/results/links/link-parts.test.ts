import { describe, expect, it } from 'vitest';
import { linkRows, type ResultLinks } from '../../../../src/results/links/links.ts';
import type { ResultReader, ResultStore } from '../../../../src/results/result-store.ts';
import type { RowIndex } from '../../../../src/results/rows/row-index.ts';
import { submission } from '../answers.ts';

// Which rows and bytes the parts of links have, also of results that are too large to be stored in a test.

const signal = new AbortController().signal;
const STRIDE = 4;
/** Bytes of a row with its comma. */
const ROW = 32 * 1024;
const ROW_TEXT = `["${'x'.repeat(ROW - 5)}"],`;
const { expirationTimeMs } = submission();
const store = {
  link: async (_requestId: string, lifetimeMs: number) => ({ url: 'signed', expirationTimeMs: lifetimeMs }),
} as unknown as ResultStore;

/** A result of equal rows in blocks without checksums, as of releases without them. */
function readerOf(rowCount: number, over: Partial<ResultReader> = {}): ResultReader {
  const rowBytes = rowCount * ROW - 1;
  const checkpoints = Float64Array.from({ length: Math.ceil(rowCount / STRIDE) }, (_, i) => i * STRIDE * ROW);
  const index: RowIndex = { stride: STRIDE, checkpoints };
  const read = async (from: number, to: number): Promise<Uint8Array[]> => {
    const first = Math.floor(from / ROW);
    const text = Buffer.from(ROW_TEXT.repeat(Math.ceil(to / ROW) - first));
    return [text.subarray(from - first * ROW, to - first * ROW)];
  };
  const record = { ...submission(), rowCount, rowBytes, dataSchema: '{}' };
  return { record, knownIndex: undefined, index: async () => index, read, ...over } as unknown as ResultReader;
}

const linked = (reader: ResultReader, offset: number, numRows: number, lifetimeMs = 30_000): Promise<ResultLinks> =>
  linkRows(reader, { offset, numRows }, { store, lifetimeMs, now: expirationTimeMs - 60_000 }, signal);

describe('parts of links', () => {
  it.each([
    // All rows, whose end is not that of a part.
    [0, 700, [0, 256, 512]],
    // The end of the rows would begin another part.
    [0, 512, [0, 256]],
    [256, 256, [256]],
    // The first part begins with the first row, the others with indexed rows.
    [2, 600, [2, 260, 516]],
    [5, 255, [5]],
    [5, 261, [5, 264]],
    [699, 1, [699]],
  ])('of the rows from %i, %i of them, begin with the rows %j', async (offset, numRows, starts) => {
    const { parts } = await linked(readerOf(700), offset, numRows);
    const ends = [...starts.slice(1), offset + numRows];
    expect(parts).toEqual(
      starts.map((start, i) => {
        const end = ends[i] as number;
        // Only the last row of a page has no comma.
        const to = end * ROW - (end === offset + numRows ? 1 : 0);
        const bytes = to - start * ROW;
        const headers = { Range: `bytes=${start * ROW}-${to - 1}` };
        return { offset: start, numRows: end - start, headers, bytes, rowsStart: 0, rowsEnd: bytes };
      }),
    );
  });

  it.each([
    [0, 1024 * 1024, 263 * STRIDE],
    [512 * 1024, 512 * 1024, 132 * STRIDE],
    // Up to 8 GB, parts have 8 MiB.
    [0, 250_000, 256],
  ])('are at most 1000, also of a large result from row %i, %i rows', async (offset, numRows, rows) => {
    const { parts } = await linked(readerOf(1024 * 1024), offset, numRows);
    expect(parts.length).toBeLessThanOrEqual(1000);
    expect(new Set(parts.slice(0, -1).map((part) => part.numRows))).toEqual(new Set([rows]));
    expect(parts.at(-1)!.offset + parts.at(-1)!.numRows).toBe(offset + numRows);
  });

  it('of all rows are found without reading the rows', async () => {
    const reader = readerOf(700, { read: () => Promise.reject(new Error('the rows are not read')) });
    expect((await linked(reader, 0, 1000)).parts.length).toBe(3);
    await expect(linked(reader, 1, 1000)).rejects.toThrow('the rows are not read');
  });

  it('are found with an index that is known, without reading it again', async () => {
    const knownIndex = await readerOf(700).index(signal);
    const reader = readerOf(700, { knownIndex, index: () => Promise.reject(new Error('the index is not read')) });
    expect((await linked(reader, 0, 700)).parts.length).toBe(3);
  });
});

it('a link can be valid for one second, not shorter', async () => {
  const [reader, at] = [readerOf(1), { store, now: expirationTimeMs - 1000 }];
  const all = { offset: 0, numRows: 1 };
  expect((await linkRows(reader, all, { ...at, lifetimeMs: 5000 }, signal)).expirationTimeMs).toBe(1000);
  await expect(linkRows(reader, all, { ...at, lifetimeMs: 999 }, signal)).rejects.toMatchObject({ code: 'not-found' });
});
