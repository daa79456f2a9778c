import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPage, readPageNow } from '../../../src/query/page.ts';
import type { ResultReader } from '../../../src/query/result-store.ts';
import { RowIndexBuilder } from '../../../src/query/row-index.ts';
import { collect, rowTexts, submission } from './answers.ts';

const ROWS = 90;
const rows = rowTexts(ROWS);

/** A result whose rows stand apart by one of these, in turn, and that is in memory. */
function readerOf(separators: readonly string[], maxCheckpoints: number): { reader: ResultReader; reads: number[] } {
  const builder = new RowIndexBuilder(maxCheckpoints);
  let text = '';
  for (const [row, value] of rows.entries()) {
    if (row > 0) text += separators[row % separators.length];
    builder.add(row, Buffer.byteLength(text));
    text += value;
  }
  const bytes = Buffer.from(text);
  const index = builder.build();
  const reads: number[] = [];
  const counts = { rowCount: ROWS, rowBytes: bytes.length, stride: index.stride, checkpoints: 0 };
  const reader: ResultReader = {
    record: { ...submission(), ...counts, version: 1, dataSchema: '{}', tableFields: [], fields: [] },
    knownIndex: index,
    index: async () => index,
    readNow: (from, to) => {
      reads.push(to - from);
      return bytes.subarray(from, to);
    },
    read: async (from, to) => [bytes.subarray(from, (from + to) >> 1), bytes.subarray((from + to) >> 1, to)],
    async *stream(from, to) {
      yield bytes.subarray(from, to);
    },
    close: async () => undefined,
  };
  return { reader, reads };
}

const parsed = (texts: readonly string[]): unknown => JSON.parse(`[${texts.join(',')}]`);

describe('pages at hand', () => {
  it('hold the same rows in whatever order they are read, one behind the other above all', async () => {
    const page = fc.record({ numRows: fc.integer({ min: 1, max: ROWS }), jump: fc.option(fc.nat(ROWS - 1)) });
    const separators = fc.array(fc.constantFrom(',', ' ,', ', ', '\n,\t'), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        separators,
        fc.constantFrom(3, 8, 30, 200),
        fc.array(page, { minLength: 2, maxLength: 12 }),
        async (between, maxCheckpoints, pages) => {
          const { reader } = readerOf(between, maxCheckpoints);
          let next = 0;
          for (const { numRows, jump } of pages) {
            const offset = jump ?? next % ROWS;
            const wanted = parsed(rows.slice(offset, offset + numRows));
            const now = readPageNow(reader, { offset, numRows }, {});
            const later = await readPage(reader, { offset, numRows }, {}, AbortSignal.timeout(5000));
            for (const read of [now, later]) {
              const body = await collect(read?.rows ?? []);
              expect(parsed([body])).toEqual(wanted);
              expect(read?.length).toBe(
                Number(read?.head.length) + Buffer.byteLength(body) + Number(read?.tail.length),
              );
            }
            next = offset + numRows;
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('begin where the page before them ended, and read nothing before that', () => {
    const { reader, reads } = readerOf([','], 8);
    readPageNow(reader, { offset: 0, numRows: 21 }, {});
    const page = readPageNow(reader, { offset: 21, numRows: 43 }, {});
    expect(String(page?.rows[0])).toBe(rows.slice(21, 64).join(','));
    // Rows 21 to 63, of which the last one ends a stride of 16.
    expect(reads[1]).toBe(Buffer.byteLength(rows.slice(21, 64).join(',')) + 1);
  });
});
