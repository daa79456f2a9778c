import { describe, expect, it } from 'vitest';
import { exportCursor } from '../../../../src/results/cursors/export.ts';
import type { Page, PageRequest } from '../../../../src/results/page.ts';
import { collect, rowTexts } from '../answers.ts';
import { CURSOR, cursorRecord } from './cursor-answers.ts';

const signal = new AbortController().signal;
const MB = 1024 * 1024;
const ROWS = rowTexts(10);

interface Asked {
  readonly bytes?: number;
  readonly rowCount?: number;
  readonly maxPageSize?: number;
}

/** @returns the download of the rows, and the pages that were requested */
async function download(rows: PageRequest, { bytes = 900, rowCount = 10, maxPageSize = 4 }: Asked = {}) {
  const asked: (readonly [offset: number, numRows: number])[] = [];
  const found = await exportCursor({
    record: cursorRecord({ rowCount, cursor: { ...CURSOR, bytes } }),
    format: 'jsonl',
    columns: { columnNames: ['id', 'city'], columnDataTypes: ['LONG', 'STRING'] },
    rows,
    maxPageSize,
    read: async ({ offset, numRows }) => {
      asked.push([offset, numRows]);
      const texts = ROWS.slice(offset, offset + numRows);
      return { rows: [Buffer.from(texts.join(','))], numRows } as unknown as Page;
    },
  });
  expect(asked.length).toBe(1);
  expect([found.format, found.numRows, found.length]).toEqual(['jsonl', rows.numRows, undefined]);
  return { text: await collect(found.body(0, 0, signal)), asked };
}

describe('a download of rows that the engine keeps', () => {
  it.each([
    [
      0,
      10,
      [
        [0, 4],
        [4, 4],
        [8, 2],
      ],
    ],
    [
      1,
      8,
      [
        [1, 4],
        [5, 4],
      ],
    ],
    [3, 4, [[3, 4]]],
    [9, 1, [[9, 1]]],
  ])('from row %i, %i rows, reads the pages %j', async (offset, numRows, pages) => {
    const { text, asked } = await download({ offset, numRows });
    expect(asked).toEqual(pages);
    expect(text).toBe(
      ROWS.slice(offset, offset + numRows)
        .map((row) => `${row}\n`)
        .join(''),
    );
  });

  it.each([
    // Pages have about 16 MiB.
    [16 * MB, 10, 10],
    [16 * MB + 10, 10, 9],
    [32 * MB, 10, 5],
    [1024 * MB, 10, 1],
    // An engine that does not report the size.
    [0, 10, 10],
    [0, 0, 10],
    [10, 0, 10],
  ])('of a result of %i bytes in %i rows reads pages of %i rows', async (bytes, rowCount, size) => {
    const { asked } = await download({ offset: 0, numRows: 10 }, { bytes, rowCount, maxPageSize: 1_000_000 });
    expect(asked[0]).toEqual([0, size]);
  });
});
