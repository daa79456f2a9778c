import { zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { TEXT_DECIMALS_KEY } from '../../../../src/results/export/columns/create-columns.ts';
import { columnRows } from '../../../../src/results/export/export.ts';
import type { ColumnFormat } from '../../../../src/results/export/format.ts';

// Types that depend on the form of the values.

async function written(
  format: ColumnFormat,
  columns: Readonly<Record<string, string>>,
  rows: readonly string[],
  types?: 'text',
): Promise<Buffer> {
  const schema = { columnNames: Object.keys(columns), columnDataTypes: Object.values(columns) };
  const parts: Uint8Array[] = [];
  async function* text(): AsyncIterable<Uint8Array> {
    yield Buffer.from(rows.join(','));
  }
  for await (const part of columnRows({ format, types, columns: schema, groupBytes: 1e6 }, text)) parts.push(part);
  return Buffer.concat(parts);
}

const typesOf = async (...args: Parameters<typeof written> extends [unknown, ...infer Rest] ? Rest : never) =>
  tableFromIPC(await written('arrow', ...args)).schema.fields.map(({ type }) => String(type));

describe('a decimal', () => {
  it('has the scale of the value with most decimals', async () => {
    expect(await typesOf({ a: 'BIG_DECIMAL' }, ['["1.5"]', '[null]', '["-200.125"]', '[3e2]'])).toEqual([
      'Decimal[38e+3]',
    ]);
    // 38 digits in all, in either direction.
    const digits = '9'.repeat(30);
    expect(await typesOf({ a: 'BIG_DECIMAL' }, [`["${digits}"]`, '["0.12345678"]'])).toEqual(['Decimal[38e+8]']);
  });

  it('is text where no decimal type has every digit of every value, and the metadata say so', async () => {
    const rows = [`["${'9'.repeat(30)}","1"]`, '["0.123456789","2"]', '["0","3.5"]'];
    const columns = { a: 'BIG_DECIMAL', b: 'BIG_DECIMAL' };
    const { schema } = tableFromIPC(await written('arrow', columns, rows));
    expect(schema.fields.map(({ type }) => String(type))).toEqual(['Utf8', 'Decimal[38e+1]']);
    expect(schema.metadata.get(TEXT_DECIMALS_KEY)).toBe('["a"]');
    const file = new Uint8Array(await written('parquet', columns, rows)).buffer;
    expect(parquetMetadata(file).key_value_metadata).toEqual([{ key: TEXT_DECIMALS_KEY, value: '["a"]' }]);
    for (const odd of ['"NaN"', '"1e99"', '""'])
      expect(await typesOf({ a: 'BIG_DECIMAL' }, [`[${odd}]`])).toEqual(['Utf8']);
  });

  it('of a result without rows has no places after the point', async () => {
    expect(await typesOf({ a: 'BIG_DECIMAL' }, [])).toEqual(['Decimal[38e0]']);
  });
});

describe('a time', () => {
  const times = async (...values: readonly string[]): Promise<(bigint | null)[]> => {
    const table = tableFromIPC(
      await written(
        'arrow',
        { t: 'TIMESTAMP' },
        values.map((value) => `[${value}]`),
      ),
    );
    return table.batches.flatMap(({ data }) => [...(data.children[0]!.values as BigInt64Array)]);
  };

  it('is that of the clock of the broker in milliseconds', async () => {
    expect(
      await times(
        '"1970-01-01 00:00:00.0"',
        '"2026-01-31 12:00:00.5"',
        '"2024-02-29 23:59:59.123"',
        '"1969-12-31 23:59:59.999"',
        '"0001-01-01 00:00:00"',
        '"2000-03-01 00:00:00.120000000"',
        '"9999-12-31 23:59:59.999"',
        '"292278994-08-17 07:12:55.807"',
      ),
    ).toEqual([
      0n,
      BigInt(Date.UTC(2026, 0, 31, 12, 0, 0, 500)),
      BigInt(Date.UTC(2024, 1, 29, 23, 59, 59, 123)),
      -1n,
      -62_135_596_800_000n,
      BigInt(Date.UTC(2000, 2, 1, 0, 0, 0, 120)),
      BigInt(Date.UTC(9999, 11, 31, 23, 59, 59, 999)),
      2n ** 63n - 1n,
    ]);
  });

  it('is the same as that of JavaScript on any day of four centuries', async () => {
    const days = Array.from({ length: 2000 }, (_, i) => Date.UTC(1800, 0, 1) + i * 73 * 86_400_000);
    const texts = days.map((ms) => JSON.stringify(new Date(ms).toISOString().replace('T', ' ').replace('Z', '')));
    expect((await times(...texts)).slice(0, days.length)).toEqual(days.map(BigInt));
  });

  it.each([
    '"2023-02-29 00:00:00.0"',
    '"2023-13-01 00:00:00.0"',
    '"2023-01-01 24:00:00.0"',
    '"2023-01-01"',
    '"x"',
    '5',
    '"2023-01-01 00:00:00.0001"',
    '"2023-01-01T00:00:00.0"',
    '"292278995-01-01 00:00:00.0"',
    '""',
  ])('is an error with its row where it is %s, and a text where texts are asked for', async (value) => {
    const rows = ['["1970-01-01 00:00:00.0"]', `[${value}]`];
    for (const format of ['arrow', 'parquet'] as const)
      await expect(written(format, { t: 'TIMESTAMP' }, rows)).rejects.toThrow(
        'row 1 of the result has a value in column 0',
      );
    expect(await typesOf({ t: 'TIMESTAMP' }, rows, 'text')).toEqual(['Utf8']);
  });
});

describe('a map', () => {
  const MAPS = ['{"k1":"v0","k\\"2":"ü"}', '{}', 'null', '{"a":1.50,"b":null,"c":{"d":[1,2]},"e":true}'];
  const EXPECTED = [{ k1: 'v0', 'k"2': 'ü' }, {}, null, { a: '1.50', b: null, c: '{"d":[1,2]}', e: 'true' }];
  const rows = MAPS.map((map, i) => `[${i},${map}]`);

  it('has texts, and values of other types as they are in JSON', async () => {
    const table = tableFromIPC(await written('arrow', { id: 'INT', m: 'MAP' }, rows));
    const found = [...(table.getChild('m') as Iterable<Iterable<[string, unknown]> | null>)];
    expect(found.map((map) => map && Object.fromEntries(map))).toEqual(EXPECTED);
    const file = new Uint8Array(await written('parquet', { id: 'INT', m: 'MAP' }, rows)).buffer;
    const read = await parquetReadObjects({ file, compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) } });
    expect(read.map(({ m }) => m ?? null)).toEqual(EXPECTED);
    expect(await typesOf({ id: 'INT', m: 'MAP' }, rows, 'text')).toEqual(['Int32', 'Utf8']);
  });

  it.each(['[1]', '"x"', '5'])('is an error where the value is %s', async (value) => {
    await expect(written('arrow', { m: 'MAP' }, [`[${value}]`])).rejects.toThrow('row 0 of the result');
  });
});

it('numbers of a Parquet file have bounds, which floating-point ones with NaN do not', async () => {
  const columns = { i: 'INT', l: 'LONG', f: 'DOUBLE', n: 'DOUBLE', s: 'STRING', t: 'TIMESTAMP', z: 'FLOAT', e: 'INT' };
  const rows = [
    '[5,"9007199254740993",0.5,"NaN","b","1970-01-01 00:00:01.0",0.0,null]',
    '[-7,null,-2.5,1,"a","1970-01-01 00:00:00.0",-0.0,null]',
  ];
  const { row_groups: groups } = parquetMetadata(new Uint8Array(await written('parquet', columns, rows)).buffer);
  const found = groups[0]!.columns.map(({ meta_data: data }) => [
    data!.statistics?.min_value,
    data!.statistics?.max_value,
  ]);
  expect(found).toEqual([
    [-7, 5],
    [9007199254740993n, 9007199254740993n],
    [-2.5, 0.5],
    [undefined, undefined],
    [undefined, undefined],
    [new Date(0), new Date(1000)],
    [-0, 0],
    [undefined, undefined],
  ]);
});
