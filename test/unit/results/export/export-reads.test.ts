import { beforeEach, describe, expect, it } from 'vitest';
import { LruCache } from '../../../../src/platform/lru.ts';
import type { CsvLayout } from '../../../../src/results/export/csv-layout.ts';
import { columnsOf, type Export, exportRows } from '../../../../src/results/export/export.ts';
import type { ExportFormat } from '../../../../src/results/export/format.ts';
import { MAX_SPACE_BYTES } from '../../../../src/results/export/json-lines.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import type { RowIndex } from '../../../../src/results/rows/row-index.ts';
import { collect, DATA_SCHEMA, submission } from '../answers.ts';

// What a download reads from the store, and in which pieces it sends it.

const signal = new AbortController().signal;
const STRIDE = 4;
/** Rows of 20 bytes with the comma. */
const ROWS = Array.from({ length: 100 }, (_, i) => `[${String(i + 100)},"${'x'.repeat(11)}"]`);
const CSV = ROWS.map((row) => `${(JSON.parse(row) as unknown[]).join(',')}\r\n`);
const HEADER = 'id,city\r\n';

let calls: string[];
let pulledBytes: number;
beforeEach(() => {
  calls = [];
  pulledBytes = 0;
});

/** @param size of the pieces that the store streams */
function readerOf(text: string, rowStarts: readonly number[], size = 7): ResultReader {
  const bytes = Buffer.from(text);
  const index: RowIndex = {
    stride: STRIDE,
    checkpoints: Float64Array.from(rowStarts.filter((_, row) => row % STRIDE === 0)),
  };
  return {
    record: { ...submission(), rowCount: rowStarts.length, rowBytes: bytes.length, dataSchema: DATA_SCHEMA },
    knownIndex: undefined,
    index: async () => index,
    read: async (from: number, to: number) => {
      calls.push(`read ${from}-${to}`);
      return [bytes.subarray(from, to)];
    },
    async *stream(from: number, to: number) {
      calls.push(`stream ${from}-${to}`);
      for (let at = from; at < to; at += size) {
        const piece = bytes.subarray(at, Math.min(to, at + size));
        pulledBytes += piece.length;
        yield piece;
      }
    },
  } as unknown as ResultReader;
}

const plain = (size?: number): ResultReader =>
  readerOf(
    ROWS.join(','),
    ROWS.map((_, row) => row * 20),
    size,
  );

const exported = (reader: ResultReader, format: ExportFormat, offset = 0, numRows = 100): Promise<Export> =>
  exportRows(
    reader,
    { format, layouts: new LruCache<string, CsvLayout>({ maxWeight: 10 }) },
    { offset, numRows },
    signal,
  );

describe.each([1, 7, 20, 64, 10_000])('of rows that arrive in pieces of %i bytes', (size) => {
  it.each([
    ['jsonl', ROWS.map((row) => `${row}\n`).join('')],
    ['csv', HEADER + CSV.join('')],
  ] as const)('any bytes of %s are sent in pieces that are not empty', async (format, whole) => {
    const found = await exported(plain(size), format);
    for (const [from, to] of [
      [0, whole.length],
      [0, 1],
      [5, 5],
      [8, 9],
      [9, 10],
      [19, 20],
      [20, 40],
      [777, 1001],
      [whole.length - 1, whole.length],
      [whole.length, whole.length],
    ] as const) {
      const pieces: Uint8Array[] = [];
      for await (const piece of found.body(from, to, signal)) pieces.push(Buffer.from(piece));
      expect(pieces.filter((piece) => piece.length === 0)).toEqual([]);
      expect(await collect(pieces), `${from}-${to}`).toBe(whole.slice(from, to));
    }
  });
});

describe('a part of JSON lines', () => {
  it('is read from the indexed row before it', async () => {
    const { body, length } = await exported(plain(), 'jsonl');
    expect(length).toBe(2000);
    calls = [];
    for (const [from, to] of [
      [0, 1],
      [79, 81],
      [80, 81],
      [1279, 1300],
      [1990, 2000],
    ] as const)
      await collect(body(from, to, signal));
    expect(calls).toEqual(['stream 0-1999', 'stream 0-1999', 'stream 80-1999', 'stream 1200-1999', 'stream 1920-1999']);
  });

  it('is read from the first row of the page where that is not indexed', async () => {
    const { body } = await exported(plain(), 'jsonl', 6, 90);
    calls = [];
    expect(await collect(body(0, 20, signal))).toBe(`${ROWS[6]}\n`);
    expect(await collect(body(100, 120, signal))).toBe(`${ROWS[11]}\n`);
    expect(calls).toEqual(['stream 120-1919', 'stream 160-1919']);
  });

  it('is read to its end, not further than the next row', async () => {
    const { body } = await exported(plain(20), 'jsonl');
    pulledBytes = 0;
    expect(await collect(body(0, 20, signal))).toBe(`${ROWS[0]}\n`);
    expect(pulledBytes).toBeLessThanOrEqual(60);
  });

  it('is not read where it is empty, or only the last line feed', async () => {
    const { body } = await exported(plain(), 'jsonl');
    calls = [];
    expect(await collect(body(1999, 2000, signal))).toBe('\n');
    expect(await collect(body(100, 100, signal))).toBe('');
    expect(calls).toEqual([]);
  });

  it('has the line feed before the most white space', async () => {
    const text = `[1],${' '.repeat(MAX_SPACE_BYTES)}[2],[3],[4],[5]`;
    const at = 4 + MAX_SPACE_BYTES;
    const reader = readerOf(text, [0, at, at + 4, at + 8, at + 12], 64 * 1024);
    const { body, length } = await exported(reader, 'jsonl', 0, 5);
    expect(length).toBe(text.length + 1);
    expect(await collect(body(0, 4, signal))).toBe('[1]\n');
    // No more than needed: rows after it may be large.
    expect(calls.at(-1)).toBe(`stream 0-${4 + MAX_SPACE_BYTES + 1}`);
  });
});

describe('a part of CSV', () => {
  it('is the header without reading rows', async () => {
    const { body } = await exported(plain(), 'csv');
    expect(await collect(body(0, HEADER.length, signal))).toBe(HEADER);
    expect(calls).toEqual([]);
  });

  it('is read to its end, not further than the next row', async () => {
    // Each piece is a row with its comma.
    const { body } = await exported(plain(20), 'csv');
    const [first, second] = CSV as [string, string];
    const to = HEADER.length + first.length + second.length;
    expect(await collect(body(0, to, signal))).toBe(HEADER + first + second);
    expect(pulledBytes).toBe(60);
  });

  it('is converted from the known row before it, not from the first one', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => `[${i},"${'y'.repeat(10_000)}"]`);
    let at = 0;
    const starts = rows.map((row) => {
      const start = at;
      at += row.length + 1;
      return start;
    });
    const found = await exported(readerOf(rows.join(','), starts, 64 * 1024), 'csv', 1, 398);
    expect(found.length).toBeUndefined();
    const whole =
      HEADER +
      rows
        .slice(1, 399)
        .map((row) => `${(JSON.parse(row) as unknown[]).join(',')}\r\n`)
        .join('');
    expect(await found.measure?.(signal)).toBe(whole.length);
    pulledBytes = 0;
    expect(await collect(found.body(whole.length - 20_000, whole.length, signal))).toBe(whole.slice(-20_000));
    expect(pulledBytes).toBeLessThan(1.2 * 1024 * 1024);
    pulledBytes = 0;
    expect(await collect(found.body(3_000_000, 3_000_010, signal))).toBe(whole.slice(3_000_000, 3_000_010));
    expect(pulledBytes).toBeLessThan(1.2 * 1024 * 1024);
    // Everything is known now: nothing is converted to measure it again.
    pulledBytes = 0;
    expect(await found.measure?.(signal)).toBe(whole.length);
    expect(pulledBytes).toBeLessThan(1.2 * 1024 * 1024);
  });
});

describe('columns of a download', () => {
  const schema = (names: number, types = names): string =>
    JSON.stringify({
      columnNames: Array.from({ length: names }, (_, i) => `c${i}`),
      columnDataTypes: Array.from({ length: types }, () => 'INT'),
    });

  it.each(['arrow', 'parquet'] as const)('may be 2000 in %s', (format) => {
    expect(columnsOf(schema(2000), format).columnNames.length).toBe(2000);
    expect(() => columnsOf(schema(2001), format)).toThrow(
      `the result has 2001 columns; \`format=${format}\` can have 2000`,
    );
  });

  it.each(['csv', 'jsonl'] as const)('may be more in %s', (format) => {
    expect(columnsOf(schema(2001), format).columnDataTypes.length).toBe(2001);
  });

  it.each([schema(2, 3), schema(3, 2), '{"columnNames":"ab","columnDataTypes":"ab"}', '{}', 'null'])(
    'are an error where the schema has no list of both: %s',
    (text) => {
      expect(() => columnsOf(text, 'jsonl')).toThrow('the schema of the result has no list of column names and types');
    },
  );
});
