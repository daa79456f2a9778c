import { zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { arrowStream } from '../../../../src/results/export/arrow.ts';
import { createColumns } from '../../../../src/results/export/columns/create-columns.ts';
import { ENGINE_NAMES_KEY, engineNames, uniqueNames } from '../../../../src/results/export/columns/unique-names.ts';
import { parquetStream } from '../../../../src/results/export/parquet/parquet.ts';
import { COLUMN_TYPES, type ColumnType, columnValues } from './columns.ts';

/** JSON of one value of each type. All differ. */
const VALUES: Readonly<Record<ColumnType, string>> = {
  INT: '7',
  LONG: '4652007308841189376',
  FLOAT: '0.5',
  DOUBLE: '1000.0',
  BOOLEAN: 'true',
  STRING: '"a"',
  BIG_DECIMAL: '"1.10"',
  BYTES: '"00ff"',
  INT_ARRAY: '[1, 2]',
  LONG_ARRAY: '[9007199254740993]',
  DOUBLE_ARRAY: '[0.25]',
  BOOLEAN_ARRAY: '[false]',
  STRING_ARRAY: '["b", null]',
  BYTES_ARRAY: '["01"]',
};

async function* rowOf(types: readonly ColumnType[]): AsyncIterable<Uint8Array> {
  yield Buffer.from(`[${types.map((type) => VALUES[type]).join(',')}],`);
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

/** Name and value of each column in the only row of an Arrow stream. */
async function arrowRow(bytes: Buffer): Promise<[string, unknown][]> {
  const table = tableFromIPC(bytes);
  expect(table.numRows).toBe(1);
  return table.schema.fields.map(({ name }, i) => [name, plain(table.getChildAt(i)?.get(0))]);
}

/** The same of a Parquet file. */
async function parquetRow(bytes: Buffer): Promise<[string, unknown][]> {
  const compressors = { ZSTD: (part: Uint8Array): Uint8Array => zstdDecompressSync(part) };
  const [row = {}, ...others] = await parquetReadObjects({
    file: new Uint8Array(bytes).buffer,
    compressors,
    utf8: false,
  });
  expect(others).toEqual([]);
  return Object.entries(row).map(([name, value]) => [name, plain(value)]);
}

/** Bytes and lists as arrays. */
function plain(value: unknown): unknown {
  return value !== null && typeof value === 'object' ? [...(value as Iterable<unknown>)].map(plain) : value;
}

describe('the names of the columns of a download', () => {
  it.each([
    [[], []],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['m', 'm', 'm'],
      ['m', 'm_1', 'm_2'],
    ],
    [
      ['m', 'm', 'm_1'],
      ['m', 'm_2', 'm_1'],
    ],
    [
      ['m', 'm', 'M_1'],
      ['m', 'm_2', 'M_1'],
    ],
    [
      ['m', 'M', 'm', 'M'],
      ['m', 'M', 'm_1', 'M_2'],
    ],
    [
      ['', 'column_1', ''],
      ['column_2', 'column_1', 'column_3'],
    ],
    [
      ['m', 'm', 'm_1', 'm_1'],
      ['m', 'm_2', 'm_1', 'm_1_1'],
    ],
    [
      ['__proto__', '__proto__', 'constructor'],
      ['__proto__', '__proto___1', 'constructor'],
    ],
    [
      ['\ud800', '\udfff'],
      ['\ufffd', '\ufffd_1'],
    ],
  ])('of the engine, %j, are %j', (names, unique) => {
    expect(uniqueNames(names)).toEqual(unique);
  });

  it('are all different, also without case, and the first column of a name keeps it', () => {
    const name = fc.string({ unit: fc.constantFrom('m', 'M', '_', '1', '2'), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(name, { maxLength: 30 }), (names) => {
        const found = uniqueNames(names);
        expect(new Set(found).size).toBe(names.length);
        const others = found.filter((_, i) => names[i] === '' || names.indexOf(names[i] as string) < i);
        const kept = [...new Set(names)].filter((text) => text !== '');
        for (const text of kept) expect(found[names.indexOf(text)]).toBe(text);
        const folded = [
          ...others.map((text) => text.toLowerCase()),
          ...new Set(kept.map((text) => text.toLowerCase())),
        ];
        expect(new Set(folded).size).toBe(folded.length);
      }),
    );
  });

  // Quadratic work would take more than a minute. The limit is for a busy machine.
  it(
    'are found in linear time for a name of thousands of columns whose suffixes are taken',
    { timeout: 90_000 },
    () => {
      const names = Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? 'm' : `m_${i}`));
      const start = performance.now();
      expect(new Set(uniqueNames(names)).size).toBe(names.length);
      expect(performance.now() - start).toBeLessThan(20_000);
    },
  );

  it('are told by the metadata of Arrow and Parquet where they differ from those of the engine', async () => {
    const columns = { columnNames: ['m', 'm'], columnDataTypes: ['DOUBLE', 'LONG'] };
    const { schema } = tableFromIPC(
      await collect(arrowStream(createColumns(columns, 'text'), rowOf(['DOUBLE', 'LONG']))),
    );
    expect([...schema.metadata]).toEqual([[ENGINE_NAMES_KEY, '["m","m"]']]);
    const file = await collect(parquetStream(createColumns(columns, 'text'), rowOf(['DOUBLE', 'LONG']), 1e6));
    expect(parquetMetadata(new Uint8Array(file).buffer).key_value_metadata).toEqual([
      { key: ENGINE_NAMES_KEY, value: '["m","m"]' },
    ]);
    expect(engineNames(['m', 'M'])).toEqual([]);
  });
});

describe.each([
  ['Arrow', (...[columns, rows]: Parameters<typeof parquetStream>) => arrowStream(columns, rows), arrowRow],
  ['Parquet', parquetStream, parquetRow],
] as const)('two columns of one name in %s', (_format, write, read) => {
  it.each(COLUMN_TYPES)('have their own values: %s with each type', async (one) => {
    for (const other of COLUMN_TYPES) {
      const columns = { columnNames: ['m', 'm'], columnDataTypes: [one, other] };
      expect(await read(await collect(write(createColumns(columns, 'text'), rowOf([one, other]), 1e6)))).toEqual([
        ['m', columnValues(one, VALUES[one])],
        ['m_1', columnValues(other, VALUES[other])],
      ]);
    }
  });
});
