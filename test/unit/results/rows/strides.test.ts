import { describe, expect, it } from 'vitest';
import type { RowIndex } from '../../../../src/results/rows/row-index.ts';
import { cutRows, rememberNext, rowEndIn, rowStartIn, stridesOf } from '../../../../src/results/rows/strides.ts';

/** Ten rows of four bytes with their comma, indexed every third. */
const ROWS = Array.from({ length: 10 }, (_, i) => `[${i}]`);
const TEXT = ROWS.join(',');
const newIndex = (): RowIndex => ({ stride: 3, checkpoints: Float64Array.of(0, 12, 24, 36) });
const strides = (index: RowIndex, offset: number, numRows: number) =>
  stridesOf(index, TEXT.length, { offset, numRows });

const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString();
const piecesOf = (text: string, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => Buffer.from(text.slice(i * size, (i + 1) * size)));
async function* arriving(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces;
}

const DAMAGED = 'the stored result is damaged: its index does not match its rows.';

describe('the strides of a page', () => {
  it.each([
    [0, 1, { first: { from: 0, to: 12 }, skip: 0, last: { from: 0, to: 12 }, keep: 1 }],
    [0, 3, { first: { from: 0, to: 12 }, skip: 0, last: { from: 0, to: 12 }, keep: 3 }],
    [2, 2, { first: { from: 0, to: 12 }, skip: 2, last: { from: 12, to: 24 }, keep: 1 }],
    [4, 4, { first: { from: 12, to: 24 }, skip: 1, last: { from: 24, to: 36 }, keep: 2 }],
    // The last stride ends with the rows.
    [9, 1, { first: { from: 36, to: 39 }, skip: 0, last: { from: 36, to: 39 }, keep: 1 }],
  ])('from row %i, %i rows, contain its first and its last row', (offset, numRows, expected) => {
    expect(strides(newIndex(), offset, numRows)).toEqual(expected);
  });

  it.each([1, 2, 5, 100])('are cut to its rows, in pieces of %i bytes', (size) => {
    for (let offset = 0; offset < ROWS.length; offset++) {
      for (let numRows = 1; offset + numRows <= ROWS.length; numRows++) {
        const found = strides(newIndex(), offset, numRows);
        const pieces = piecesOf(TEXT.slice(found.first.from, found.last.to), size);
        const { rows, bytes } = cutRows(pieces, found);
        const wanted = ROWS.slice(offset, offset + numRows).join(',');
        expect([textOf(rows), bytes]).toEqual([wanted, wanted.length]);
      }
    }
  });

  it('are damaged where they have fewer rows than the index says', () => {
    const pieces = [Buffer.from(TEXT.slice(12))];
    // The rows continue in the next stride, where they are not looked for.
    const short = { first: { from: 12, to: 16 }, last: { from: 24, to: 39 }, keep: 1 };
    expect(() => cutRows(pieces, { ...short, skip: 1 })).toThrow(DAMAGED);
    expect(cutRows(pieces, { ...short, skip: 0 }).bytes).toBe(15);
    expect(() => cutRows(pieces, { ...short, skip: 0, keep: 5 })).toThrow(DAMAGED);
  });
});

describe('a row', () => {
  it.each([1, 3, 4, 7, 100])('is found in pieces of %i bytes, in memory or as they arrive', async (size) => {
    const pieces = piecesOf(TEXT, size);
    for (let row = 0; row < ROWS.length; row++) {
      for (const source of [pieces, arriving(pieces)]) expect(await rowStartIn(source, row)).toBe(row * 4);
      for (const source of [pieces, arriving(pieces)]) expect(await rowEndIn(source, row + 1)).toBe(row * 4 + 3);
    }
  });

  it('is found without the pieces that follow it', async () => {
    const taken: number[] = [];
    async function* source(): AsyncIterable<Uint8Array> {
      for (const [at, piece] of piecesOf(TEXT, 4).entries()) {
        taken.push(at);
        yield piece;
      }
    }
    expect(await rowStartIn(source(), 0)).toBe(0);
    expect(taken).toEqual([]);
    expect(await rowStartIn(source(), 2)).toBe(8);
    expect(taken.splice(0)).toEqual([0, 1, 2]);
    expect(await rowEndIn(source(), 2)).toBe(7);
    expect(taken).toEqual([0, 1]);
  });

  it('that does not exist is an error', async () => {
    await expect(rowStartIn(piecesOf(TEXT, 5), 10)).rejects.toThrow(DAMAGED);
    await expect(rowEndIn(piecesOf(TEXT, 5), 11)).rejects.toThrow(DAMAGED);
    await expect(rowStartIn([], 1)).rejects.toThrow(DAMAGED);
    await expect(rowEndIn([], 1)).rejects.toThrow(DAMAGED);
  });
});

describe('a stride that does not begin with a row', () => {
  // As with an index that was changed together with its checksum, or in a result of a release without checksums.
  it.each(['0],[1],[2]', '],[1],[2]', ',[1],[2]', '[1}[2]', '[1],x'])('is an error of the result: %s', async (text) => {
    const error = { code: 'damaged', message: `${DAMAGED} Run the query again` };
    for (const source of [piecesOf(text, 3), arriving(piecesOf(text, 100))]) {
      await expect(rowStartIn(source, 2)).rejects.toMatchObject(error);
    }
    await expect(rowEndIn(piecesOf(text, 3), 3)).rejects.toMatchObject(error);
    const all = { from: 0, to: text.length };
    const cutAll = (skip: number) => cutRows([Buffer.from(text)], { first: all, skip, last: all, keep: 3 });
    for (const skip of [0, 2]) expect(() => cutAll(skip)).toThrow(expect.objectContaining(error));
  });
});

describe('the row after a page', () => {
  /** A view of a larger buffer that holds the rows from `from`. */
  function read(text: string, from: number, rows: readonly [from: number, to: number]) {
    const memory = Buffer.from(`______${text}______`);
    const piece = memory.subarray(6, 6 + text.length);
    return { piece, from, rows: piece.subarray(rows[0] - from, rows[1] - from) };
  }

  it('is where the next page begins', () => {
    const index = newIndex();
    // Rows 4 and 5.
    rememberNext(index, 5, read(TEXT.slice(12, 36), 12, [16, 19]));
    expect(strides(index, 5, 2)).toEqual({ first: { from: 20, to: 24 }, skip: 0, last: { from: 24, to: 36 }, keep: 1 });
    // Another row is looked up.
    expect(strides(index, 4, 3)).toEqual({ first: { from: 12, to: 24 }, skip: 1, last: { from: 24, to: 36 }, keep: 1 });
    // Another result, too.
    expect(strides(newIndex(), 5, 2).skip).toBe(2);
  });

  it('is counted from the start of the stride where the page ends in that stride', () => {
    const index = newIndex();
    rememberNext(index, 4, read(TEXT.slice(0, 24), 0, [0, 15]));
    expect(strides(index, 4, 2)).toEqual({ first: { from: 12, to: 24 }, skip: 1, last: { from: 12, to: 24 }, keep: 3 });
  });

  it('is that after the last page', () => {
    const index = newIndex();
    rememberNext(index, 5, read(TEXT.slice(12, 36), 12, [16, 19]));
    rememberNext(index, 2, read(TEXT.slice(0, 24), 0, [0, 7]));
    expect(strides(index, 2, 2)).toEqual({ first: { from: 8, to: 12 }, skip: 0, last: { from: 12, to: 24 }, keep: 1 });
    expect(strides(index, 5, 2).skip).toBe(2);
  });

  it.each([
    ['behind white space', '[0],[1] ,[2]', 7],
    ['before white space', '[0],[1], [2]', 7],
    ['at the end of the rows', '[0],[1]', 7],
  ])('is not known %s', (_where, text, end) => {
    const index: RowIndex = { stride: 4, checkpoints: Float64Array.of(0, 100) };
    rememberNext(index, 2, read(text, 0, [0, end]));
    expect(stridesOf(index, 200, { offset: 2, numRows: 4 })).toMatchObject({ first: { from: 0 }, skip: 2 });
  });

  it('is not known without rows', () => {
    const index = newIndex();
    rememberNext(index, 5, { piece: Buffer.from(TEXT), from: 0, rows: undefined });
    expect(strides(index, 5, 2).skip).toBe(2);
  });
});
