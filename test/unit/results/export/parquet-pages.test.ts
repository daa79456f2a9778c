import { describe, expect, it } from 'vitest';
import { columnBatches } from '../../../../src/results/export/columns/batches.ts';
import { createColumn } from '../../../../src/results/export/columns/create-columns.ts';
import { pageBodies } from '../../../../src/results/export/parquet/values.ts';

/** The page of a column with some values of JSON. */
async function pageOf(type: string, values: readonly string[]): Promise<{ numValues: number; bytes: number[] }> {
  const rows = (async function* () {
    yield Buffer.from(values.map((value) => `[${value}]`).join());
  })();
  for await (const { columns } of columnBatches([createColumn(type, 'text')], rows)) {
    const { numValues, bytes } = pageBodies(columns[0]!)[0]!;
    return { numValues, bytes: [...bytes] };
  }
  throw new Error('no rows');
}

/** Little-endian, of 32 bits. */
const word = (value: number): number[] => [...new Uint8Array(Int32Array.of(value).buffer)];
/** One run of a level for some values. */
const same = (count: number, level: number): number[] => [...word(2), 2 * count, level];
/** One run of packed levels. */
const packed = (...bits: readonly number[]): number[] => [...word(1 + bits.length), 3, ...bits];
const ascii = (value: string): number[] => [...Buffer.from(value)];

/** Type, three values, and their bytes in a page. */
const OF_EACH_TYPE: readonly (readonly [type: string, values: readonly string[], bytes: readonly number[]])[] = [
  ['INT', ['1', '-2', '3'], [...word(1), ...word(-2), ...word(3)]],
  ['LONG', ['1', '-2', '4294967296'], [1, 0, -2, -1, 0, 1].flatMap(word)],
  ['FLOAT', ['1', '-2', '0.5'], [0x3f800000, 0xc0000000, 0x3f000000].flatMap(word)],
  ['DOUBLE', ['1', '-2', '0.5'], [0, 0x3ff00000, 0, 0xc0000000, 0, 0x3fe00000].flatMap(word)],
  ['BOOLEAN', ['true', 'false', 'true'], [0b101]],
  ['STRING', ['"a"', '""', '"é"'], [...word(1), ...ascii('a'), ...word(0), ...word(2), ...ascii('é')]],
  ['BYTES', ['"00ff"', '""', '"10"'], [...word(2), 0, 0xff, ...word(0), ...word(1), 0x10]],
];

describe('the page of a column', () => {
  it.each(OF_EACH_TYPE)('of %s without nulls has its level once and the values', async (type, values, bytes) => {
    expect(await pageOf(type, values)).toEqual({ numValues: 3, bytes: [...same(3, 1), ...bytes] });
  });

  it.each(OF_EACH_TYPE)(
    'of %s with nulls has a level for each value, and only the values',
    async (type, [a, b, c], bytes) => {
      const values = ['null', a as string, 'null', b as string, c as string, 'null'];
      // The bits that are not used are 1.
      expect(await pageOf(type, values)).toEqual({ numValues: 6, bytes: [...packed(0b11011010), ...bytes] });
    },
  );

  it('has the levels of eight values in a byte', async () => {
    const values = (count: number): string[] => Array.from({ length: count }, (_, i) => (i === 3 ? 'null' : '1'));
    const bits = [0b11110111, 0xff, 0xff];
    for (const [count, bytes] of [
      [8, 1],
      [9, 2],
      [16, 2],
      [17, 3],
    ] as const) {
      const ones = Array<number[]>(count - 1)
        .fill(word(1))
        .flat();
      const levels = [...word(1 + bytes), 2 * bytes + 1, ...bits.slice(0, bytes)];
      expect(await pageOf('INT', values(count))).toEqual({ numValues: count, bytes: [...levels, ...ones] });
    }
  });

  it('has eight booleans in a byte, without the nulls', async () => {
    const values = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i % 3 === 0));
    for (const [count, bits] of [
      [8, [0b01001001]],
      [9, [0b01001001, 0]],
      [10, [0b01001001, 0b10]],
      [16, [0b01001001, 0b10010010]],
    ] as const) {
      expect(await pageOf('BOOLEAN', values(count))).toEqual({ numValues: count, bytes: [...same(count, 1), ...bits] });
      const { bytes } = await pageOf('BOOLEAN', ['null', ...values(count)]);
      expect(bytes.slice(-bits.length)).toEqual(bits);
      expect(bytes.length).toBe(5 + Math.ceil((count + 1) / 8) + bits.length);
    }
  });

  it('of lists has their repetitions, and what is there', async () => {
    const page = await pageOf('INT_ARRAY', ['[1,2,null]', '[]', 'null', '[3]']);
    const repetitions = packed(0b00000110);
    // A null item, an empty list and a list that is null have no value. Two bits each.
    const definitions = packed(0b01_10_11_11, 0b00_00_11_00);
    const values = [1, 2, 3].flatMap(word);
    expect(page).toEqual({ numValues: 6, bytes: [...repetitions, ...definitions, ...values] });
  });

  it('of lists has levels in complete groups of eight', async () => {
    const items = Array<string>(9).fill('"x"');
    const page = await pageOf('STRING_ARRAY', [`[${items.join()}]`]);
    const repetitions = [...word(3), 5, 0b11111110, 1];
    const definitions = [...word(5), 5, 0xff, 0xff, 0b11, 0];
    const values = items.flatMap(() => [...word(1), ...ascii('x')]);
    expect(page).toEqual({ numValues: 9, bytes: [...repetitions, ...definitions, ...values] });
  });
});
