import { describe, expect, it } from 'vitest';
import {
  framePage,
  type HolderAddress,
  type Page,
  type PageOptions,
  readPage,
  rowRange,
  rowsOf,
  WHOLE_PAGE_BYTES,
} from '../../../../src/results/rows/page.ts';
import type { ResultReader, ResultRecord } from '../../../../src/results/result-store.ts';
import type { RowIndex } from '../../../../src/results/rows/row-index.ts';
import { collect, submission } from '../answers.ts';

const signal = new AbortController().signal;
const MB = 1024 * 1024;
/** Ten rows of four bytes with their comma, indexed every third. */
const ROWS = Array.from({ length: 10 }, (_, i) => `[${i}]`);
const TEXT = Buffer.from(ROWS.join(','));
const INDEX = { stride: 3, checkpoints: Float64Array.of(0, 12, 24, 36) };

const RECORD: ResultRecord = {
  ...submission({ requestId: 'r', brokerId: 'b' }),
  version: 1,
  rowCount: ROWS.length,
  rowBytes: TEXT.length,
  stride: INDEX.stride,
  checkpoints: INDEX.checkpoints.length,
  dataSchema: '{}',
  tableFields: [],
  fields: [],
};

interface Reader extends ResultReader {
  /** What was read or streamed of the store. */
  readonly calls: string[];
}

/** @param read the pieces of a range */
function readerOf(
  over: Partial<ResultReader> = {},
  read = (from: number, to: number): Uint8Array[] => [TEXT.subarray(from, to)],
): Reader {
  const calls: string[] = [];
  const index: RowIndex = { ...INDEX };
  return {
    record: RECORD,
    knownIndex: undefined,
    index: async () => {
      calls.push('index');
      return index;
    },
    read: async (from, to) => {
      calls.push(`read ${from}-${to}`);
      return read(from, to);
    },
    async *stream(from, to) {
      calls.push(`stream ${from}-${to}`);
      yield* read(from, to);
    },
    close: async () => undefined,
    ...over,
    calls,
  };
}

async function rowsIn(reader: ResultReader, offset: number, numRows: number, options: PageOptions = {}) {
  return collect((await readPage(reader, { offset, numRows }, options, signal)).rows);
}

describe('the frame of a page', () => {
  const record: ResultRecord = {
    ...RECORD,
    tableFields: [{ name: 'extra', value: '1.0' }],
    fields: [
      { name: 'offset', value: '77' },
      { name: 'numDocsScanned', value: '9007199254740993' },
      { name: 'warnings', value: '["of the engine"]' },
    ],
  };
  const framed = (from: ResultRecord, offset: number, numRows: number, holder?: HolderAddress) => {
    const { head, tail, nextUrl } = framePage(from, { offset, numRows }, holder);
    return { text: `${head.toString()}…${tail.toString()}`, nextUrl };
  };
  const start =
    '{"resultTable":{"dataSchema":{},"rows":[…],"extra":1.0},"requestId":"r","brokerId":"b","numRowsResultSet":10';
  const { submissionTimeMs, expirationTimeMs } = RECORD;
  const cursor =
    `,"submissionTimeMs":${submissionTimeMs},"expirationTimeMs":${expirationTimeMs},"bytesWritten":${TEXT.length},` +
    '"cursorResultWriteTimeMs":0,"cursorFetchTimeMs":0';
  const scanned = ',"numDocsScanned":9007199254740993';
  const statistics = cursor + scanned;

  it('has the fields of this gateway, then those of the engine', () => {
    expect(framed(record, 8, 2)).toEqual({
      text: `${start},"offset":8,"numRows":2,"exceptions":[]${statistics},"warnings":["of the engine"]}`,
      nextUrl: undefined,
    });
  });

  it('says where the next page begins, unless it is the last one', () => {
    const next = 'offset=5&numRows=3';
    const nextUrl = `/query/r/results?${next}`;
    expect(framed(record, 2, 3)).toEqual({
      text:
        `${start},"offset":2,"numRows":3,"nextOffsetParams":"${next}","nextUrl":"${nextUrl}","exceptions":[]` +
        `${statistics},"warnings":["of the engine"]}`,
      nextUrl,
    });
    expect(framed(record, 8, 1).nextUrl).toBe('/query/r/results?offset=9&numRows=1');
    expect(framed(record, 9, 1).nextUrl).toBeUndefined();
  });

  it('has the warnings of the gateway in place of those of the engine', () => {
    expect(framed({ ...record, warnings: ['of the gateway'] }, 8, 2).text).toBe(
      `${start},"offset":8,"numRows":2,"exceptions":[]${cursor},"warnings":["of the gateway"]${scanned}}`,
    );
  });

  it('has the address of the gateway that is asked, also after it was another one', () => {
    const address = (holder: HolderAddress): string => `,"brokerHost":"${holder.host}","brokerPort":${holder.port}`;
    const page = `${start},"offset":8,"numRows":2,"exceptions":[]`;
    for (const host of ['a', 'b']) {
      const holder = { host, port: 8080 };
      for (let i = 0; i < 2; i++)
        expect(framed(record, 8, 2, holder).text).toBe(
          `${page}${address(holder)}${statistics},"warnings":["of the engine"]}`,
        );
    }
    expect(framed(record, 8, 2).text).toBe(`${page}${statistics},"warnings":["of the engine"]}`);
  });
});

describe('the rows of a page', () => {
  const count = (rowCount: number, offset: number, numRows: number): number =>
    rowsOf({ ...RECORD, rowCount }, { offset, numRows });

  it('end with the result', () => {
    expect(count(10, 0, 10)).toBe(10);
    expect(count(10, 4, 5)).toBe(5);
    expect(count(10, 4, 7)).toBe(6);
    expect(count(10, 9, 7)).toBe(1);
  });

  it('are none only at the start of an empty result', () => {
    expect(count(0, 0, 5)).toBe(0);
    expect(() => count(0, 1, 5)).toThrow('`offset` is 1, but the result has 0 rows: valid offsets are 0 to 0');
  });

  it('begin within the result', () => {
    expect(() => count(10, 10, 1)).toThrow('`offset` is 10, but the result has 10 rows: valid offsets are 0 to 9');
    expect(() => count(10, 2 ** 53, 1)).toThrow('`offset` is above 9007199254740991, but the result has 10 rows');
  });
});

describe('reading a page', () => {
  it('of no rows reads nothing', async () => {
    const reader = readerOf({ record: { ...RECORD, rowCount: 0, rowBytes: 0 } });
    const page = await readPage(reader, { offset: 0, numRows: 5 }, {}, signal);
    expect(page).toMatchObject({ rows: [], numRows: 0, length: page.head.length + page.tail.length });
    expect(await rowRange({ reader, index: INDEX }, { offset: 0, numRows: 0 }, signal)).toEqual({ from: 0, to: 0 });
    expect(reader.calls).toEqual([]);
  });

  it('reads the index only if it is not in memory', async () => {
    const reader = readerOf();
    expect(await rowsIn(reader, 4, 1)).toBe('[4]');
    const known = readerOf({ knownIndex: { ...INDEX } });
    expect(await rowsIn(known, 4, 1)).toBe('[4]');
    expect([reader.calls, known.calls]).toEqual([['index', 'read 12-24'], ['read 12-24']]);
  });

  it('reads its strides at once where there is room for them, and otherwise streams the rows', async () => {
    const asked: number[] = [];
    const room = (isRoomFor: boolean): PageOptions => ({
      isRoomFor: (bytes) => {
        asked.push(bytes);
        return isRoomFor;
      },
    });
    const reader = readerOf();
    expect(await rowsIn(reader, 4, 4, room(true))).toBe('[4],[5],[6],[7]');
    const streamed = readerOf();
    const page = await readPage(streamed, { offset: 4, numRows: 4 }, room(false), signal);
    expect(await collect(page.rows)).toBe('[4],[5],[6],[7]');
    expect(page.length).toBe(page.head.length + 15 + page.tail.length);
    expect(asked).toEqual([24, 24]);
    expect(reader.calls).toEqual(['index', 'read 12-36']);
    // The strides of its first and of its last row, then the rows.
    expect(streamed.calls).toEqual(['index', 'read 12-24', 'read 24-36', 'stream 16-31']);
  });

  it('continues after the page before it without reading the rows between', async () => {
    const reader = readerOf({ knownIndex: { ...INDEX } });
    expect(await rowsIn(reader, 4, 3)).toBe('[4],[5],[6]');
    expect(await rowsIn(reader, 7, 3)).toBe('[7],[8],[9]');
    expect(await rowsIn(reader, 1, 3)).toBe('[1],[2],[3]');
    expect(reader.calls).toEqual(['read 12-36', 'read 28-39', 'read 0-24']);
  });

  it('looks the next page up where the rows are not all in the first piece', async () => {
    // A row in the second piece is as far from its start as another one in the first piece.
    const reader = readerOf({ knownIndex: { ...INDEX } }, (from, to) => [
      new Uint8Array(TEXT.subarray(from, from + 8)),
      new Uint8Array(TEXT.subarray(from + 8, to)),
    ]);
    expect(await rowsIn(reader, 5, 1)).toBe('[5]');
    expect(await rowsIn(reader, 6, 4)).toBe('[6],[7],[8],[9]');
    expect(reader.calls).toEqual(['read 12-24', 'read 24-39']);
  });

  it('keeps up to 4 MiB in memory, wherever they are in the result', async () => {
    expect(WHOLE_PAGE_BYTES).toBe(4_194_304);
    const row = `["${'x'.repeat(1019)}"],`;
    const rowCount = 100 * 1024;
    const index = { stride: 1024, checkpoints: Float64Array.from({ length: 100 }, (_, i) => i * MB) };
    const record = { ...RECORD, rowCount, rowBytes: rowCount * row.length - 1 };
    const reader = readerOf({ record, knownIndex: index }, (from, to) => [
      Buffer.from(row.repeat(Math.ceil((to - from) / row.length))).subarray(0, to - from),
    ]);
    const read = async (numRows: number): Promise<Page> => readPage(reader, { offset: 20 * 1024, numRows }, {}, signal);
    expect(Array.isArray((await read(4 * 1024)).rows)).toBe(true);
    const { rows, length, head, tail } = await read(5 * 1024);
    expect(Array.isArray(rows)).toBe(false);
    expect(length).toBe(head.length + 5 * MB - 1 + tail.length);
    expect(reader.calls).toEqual([
      `read ${20 * MB}-${24 * MB}`,
      `read ${20 * MB}-${21 * MB}`,
      `read ${24 * MB}-${25 * MB}`,
    ]);
  });

  it.each([
    [0, 1, 0, 3],
    [4, 4, 16, 31],
    [9, 1, 36, 39],
  ])('finds the bytes of the rows from %i, %i rows', async (offset, numRows, from, to) => {
    const reader = readerOf();
    expect(await rowRange({ reader, index: INDEX }, { offset, numRows }, signal)).toEqual({ from, to });
  });
});
