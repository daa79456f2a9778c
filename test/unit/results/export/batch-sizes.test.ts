import { describe, expect, it } from 'vitest';
import { columnBatches } from '../../../../src/results/export/columns/batches.ts';
import { createColumn } from '../../../../src/results/export/columns/create-columns.ts';

const ROW_BYTES = 1024;
/** A row, with the comma after it. */
const row = (json: string): string => `${json.padEnd(ROW_BYTES - 1)},`;

/** The number of rows in each batch. */
async function sizesOf(types: readonly string[], pieces: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  const rows = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  for await (const { numRows } of columnBatches(
    types.map((type) => createColumn(type, 'text')),
    rows,
  ))
    sizes.push(numRows);
  return sizes;
}

describe('a batch of rows', () => {
  it('ends with the row that reaches 1 MiB, wherever pieces end', async () => {
    expect(await sizesOf(['INT'], Array(5).fill(row('[1]').repeat(600)))).toEqual([1024, 1024, 952]);
    expect(await sizesOf(['INT'], [row('[1]').repeat(3000)])).toEqual([1024, 1024, 952]);
    expect(await sizesOf(['INT'], Array(30).fill(row('[1]').repeat(100)))).toEqual([1024, 1024, 952]);
  });
});

describe('an error names the row', () => {
  const pieces = (wrong: string): string[] => [row('[1]').repeat(600), row('[1]').repeat(1500) + row(wrong)];

  it.each([
    ['["a"]', 'row 2100 of the result has a value in column 0 that is not of its type'],
    ['[1, 2]', 'row 2100 of the result has 2 values'],
    ['[ ]', 'row 2100 of the result has 0 values'],
    ['{}', 'row 2100 of the result is not a JSON array'],
  ])('of the whole result where it is %s', async (wrong, message) => {
    await expect(sizesOf(['INT'], pieces(wrong))).rejects.toMatchObject({ code: 'bad-response', message });
  });

  it.each([
    ['[ 1 , [2,3] , "a,]" ]', 3],
    ['[1,2,3,4]', 4],
    ['[{"a":1}]', 1],
  ])('and the number of its values: %s', async (json, count) => {
    await expect(sizesOf(['STRING', 'STRING'], [`[1,2],${json}`])).rejects.toThrow(
      `row 1 of the result has ${count} values`,
    );
  });

  it.each(['["a" "b"]', '["a"', '["a",', '["a",1', '[1;2]'])('where it is no JSON: %s', async (json) => {
    await expect(sizesOf(['STRING', 'STRING'], [`[1,2],${json}`])).rejects.toMatchObject({
      code: 'bad-response',
      message: expect.stringContaining('row 1 of the result') as string,
    });
  });
});
