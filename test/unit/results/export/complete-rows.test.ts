import { expect, it } from 'vitest';
import { completeRows } from '../../../../src/results/export/complete-rows.ts';
import { csvRows } from '../../../../src/results/export/csv.ts';

const SIZES = [1, 2, 3, 5, 7, 64, 1000];

async function* split(bytes: Buffer, size: number): AsyncIterable<Uint8Array> {
  // One buffer for all pieces: a piece is valid only until the next one is read.
  const piece = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    piece.fill(0);
    yield piece.subarray(0, bytes.copy(piece, 0, at, at + size));
  }
}

async function piecesOf(text: string, size: number): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of completeRows(split(Buffer.from(text), size))) pieces.push(Buffer.from(piece).toString());
  return pieces;
}

it.each(SIZES)('pieces of %i bytes become pieces of complete rows with the same bytes', async (size) => {
  const rows = [[1, 'a,]["'], [2, null], [], [[3, 4], '東京 "quoted"'], ['x'.repeat(40)], [{ a: [1] }]];
  const text = rows.map((row) => JSON.stringify(row)).join(' ,\r\n\t');
  const pieces = await piecesOf(text, size);
  expect(pieces.join('')).toBe(text);
  expect(pieces.flatMap((piece) => JSON.parse(`[${piece.replace(/[\s,]+$/, '')}]`) as unknown[])).toEqual(rows);
});

it.each(SIZES)('rows without a comma between them are an error, in pieces of %i bytes', async (size) => {
  for (const text of ['[1] [2]', '[1][2]', '[1];[2]', '[1]\n[2]'])
    await expect(piecesOf(text, size), text).rejects.toThrow('not valid JSON');
});

it('no rows are no pieces', async () => {
  expect(await piecesOf('', 5)).toEqual([]);
});

it('line breaks between values do not become line breaks of CSV', async () => {
  const pieces = await piecesOf('[\r\n1\n,\r[2,\n3]\n,[\r4\n]\r]\n,\n[null]\n', 1000);
  const csv = pieces.map((piece) => Buffer.from(csvRows(Buffer.from(piece)).bytes).toString());
  expect(csv.join('')).toBe('1,"[2, 3]","[ 4 ]"\r\n\r\n');
});

it('a row of 8 MiB in one piece or several is the largest one', async () => {
  const row = (bytes: number): string => `["${'x'.repeat(bytes - 4)}"]`;
  const largest = 8 * 1024 * 1024;
  for (const size of [largest / 4, largest]) {
    // The comma after a row belongs to it.
    for (const before of ['', '[0],', '[0],[1],']) {
      const pieces = await piecesOf(`${before}${row(largest - 1)},[2]`, size);
      expect(pieces.join('').length).toBe(before.length + largest + 3);
    }
    const tooLong = piecesOf(`${row(largest)},[1]`, size).then(({ length }) => length);
    await expect(tooLong).rejects.toThrow('more than 8388608 bytes');
  }
});
