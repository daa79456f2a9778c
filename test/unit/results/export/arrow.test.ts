import { type Table, tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrowStream } from '../../../../src/results/export/arrow.ts';
import { createColumns } from '../../../../src/results/export/columns/create-columns.ts';
import { COLUMN_TYPES, columnValues, fitting, rowsOf } from './columns.ts';

const TEXTS = [
  '',
  'a',
  null,
  'Zürich',
  '東京',
  '🏙 city',
  'line\nbreak',
  'back\\slash',
  '"',
  null,
  'x'.repeat(3000),
  null,
];

async function table(types: readonly string[], pieces: readonly string[]): Promise<Table> {
  async function* lines(): AsyncIterable<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const columns = { columnNames: types.map((_, i) => `c${i}`), columnDataTypes: types };
  return tableFromIPC(arrowStream(createColumns(columns, 'text'), lines()));
}

/** The values of the only column. @param pieces the rows of each piece */
async function read(pieces: readonly (readonly string[])[], type = 'STRING'): Promise<unknown[]> {
  return values(
    await table(
      [type],
      pieces.map((rows) => rows.join(',')),
    ),
    0,
  );
}

/** Lists and bytes as plain arrays. */
function values(from: Table, column: number): unknown[] {
  const plain = (value: unknown): unknown =>
    value !== null && typeof value === 'object' ? [...(value as Iterable<unknown>)].map(plain) : value;
  return [...(from.getChildAt(column) ?? [])].map(plain);
}

it.each([[[]], [['[1],[2]']], [['[1],', '[2]']]])(
  'a stream of %j ends with its end marker, which is there once',
  async (pieces) => {
    async function* rows(): AsyncIterable<Uint8Array> {
      for (const piece of pieces) yield Buffer.from(piece);
    }
    const parts: Uint8Array[] = [];
    for await (const part of arrowStream(
      createColumns({ columnNames: ['a'], columnDataTypes: ['LONG'] }, 'text'),
      rows(),
    ))
      parts.push(part);
    const end = Buffer.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
    const stream = Buffer.concat(parts);
    expect(Buffer.from(parts.at(-1)!)).toEqual(end);
    expect(stream.indexOf(end)).toBe(stream.length - end.length);
  },
);

describe('texts in Arrow', () => {
  it('are those of the rows, also nulls, empty texts and characters of several bytes', async () => {
    const rows = TEXTS.map((text) => JSON.stringify([text]));
    expect(await read([rows])).toEqual(TEXTS);
  });

  it('are those of the rows for each length, with special characters at different places', async () => {
    // ¢, ܀ and € have bytes that are those of a quote or backslash with the highest bit.
    const characters = ['"', '\\', '\n', 'é', '¢', '܀', '€', '🏙', '\u0001', ',', ']', '!', '#', '[', ''];
    const texts = characters.flatMap((character) =>
      Array.from({ length: 60 }, (_, length) => {
        const place = (length * 7) % (length + 1);
        return `${'x'.repeat(place)}${character}${'y'.repeat(length - place)}`;
      }),
    );
    const rows = texts.map((text) => JSON.stringify([text]));
    expect(await read([rows])).toEqual(texts);
    // In a piece of its own each text is the last one.
    expect(await read(rows.map((row) => [row]))).toEqual(texts);
  });

  it('are those of each record batch', async () => {
    // More characters than one batch holds.
    const texts = Array.from({ length: 1500 }, (_, i) => (i % 7 === 0 ? null : `${i} ${'ü'.repeat(1000)}`));
    const rows = texts.map((text) => JSON.stringify([text]));
    expect(await read([rows.slice(0, 1200), rows.slice(1200)])).toEqual(texts);
  });

  it('have the replacement character for half of a surrogate pair, which UTF-8 cannot represent', async () => {
    expect(await read([[String.raw`["a\ud800b"]`]])).toEqual(['a\ufffdb']);
  });

  it('are empty columns without rows', async () => {
    expect(await read([])).toEqual([]);
    expect(await read([['[null]']])).toEqual([null]);
  });

  it('are JSON for values of other types', async () => {
    expect(await read([['[1.50]', '[true]', '[{"a": [1, "]"]}]', '["\\u0000"]']])).toEqual([
      '1.50',
      'true',
      '{"a": [1, "]"]}',
      '\0',
    ]);
  });
});

describe('values in Arrow', () => {
  const column = fc.constantFrom(...COLUMN_TYPES);

  it('are exactly those of the rows, for each type', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(column, { minLength: 1, maxLength: 4 }).chain((types) => fc.tuple(fc.constant(types), rowsOf(types))),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        async ([types, rows], isSpaced, perPiece) => {
          const texts = rows.map((row) => (isSpaced ? ` [ ${row.join(' ,\t')} ] ` : `[${row.join(',')}]`));
          const pieces = texts.flatMap((_, i) => (i % perPiece === 0 ? [texts.slice(i, i + perPiece).join(',')] : []));
          const found = await table(types, pieces);
          for (const [i, type] of types.entries()) {
            expect(values(found, i)).toEqual(rows.map((row) => columnValues(type, row[i] as string)));
          }
        },
      ),
    );
  });

  it.each(fitting())('%s: %s', async (type, raw) => {
    expect(await read([[`[${raw}]`]], type)).toEqual([columnValues(type, raw)]);
  });

  it.each([
    ['INT', '2147483648'],
    ['INT', '1.5'],
    ['INT', '""'],
    ['INT', 'true'],
    ['LONG', '9223372036854775808'],
    ['LONG', '-9223372036854775809'],
    ['LONG', '99999999999999999999'],
    ['LONG', '1e-3'],
    ['LONG', '1.5'],
    ['LONG', '"0x10"'],
    ['DOUBLE', '"nan"'],
    ['DOUBLE', '" 1"'],
    ['DOUBLE', '[1]'],
    ['BOOLEAN', '1'],
    ['BOOLEAN', '"True"'],
    ['BYTES', '"0g"'],
    ['BYTES', '"012"'],
    ['INT_ARRAY', '1'],
    ['INT_ARRAY', '[1,"a"]'],
    ['STRING_ARRAY', '"a"'],
  ])('of %s are not %s', async (type, raw) => {
    await expect(read([['[null]', `[${raw}]`]], type)).rejects.toThrow(
      'row 1 of the result has a value in column 0 that is not of its type',
    );
  });

  it.each([
    ['[]', 0],
    ['[1]', 1],
    ['[1, "a]" ,[2,3]]', 3],
  ])('are not those of a row with another number of them: %s', async (row, count) => {
    await expect(table(['STRING', 'STRING'], ['["a","b"]', row])).rejects.toThrow(
      `row 1 of the result has ${count} values`,
    );
  });
});
