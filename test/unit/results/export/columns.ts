import fc from 'fast-check';

export const COLUMN_TYPES = [
  'INT',
  'LONG',
  'FLOAT',
  'DOUBLE',
  'BOOLEAN',
  'STRING',
  'BIG_DECIMAL',
  'BYTES',
  'INT_ARRAY',
  'LONG_ARRAY',
  'DOUBLE_ARRAY',
  'BOOLEAN_ARRAY',
  'STRING_ARRAY',
  'BYTES_ARRAY',
] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const quoted = (value: string): string => JSON.stringify(value);

/** JSON of values of each type as Pinot writes them, and in other spellings of the same values. */
const SCALARS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  INT: fc.oneof(
    fc.integer().map(String),
    fc.constantFrom('0', '-0', '2147483647', '-2147483648', '1e2', '"7"', '1.0', String.raw`"\u0031"`),
  ),
  LONG: fc.oneof(
    fc.bigInt(INT64).map(String),
    fc
      .integer({ min: 0, max: 19 })
      .chain((digits) => fc.bigInt({ min: -(10n ** BigInt(digits)), max: 10n ** BigInt(digits) }))
      .filter((n) => BigInt.asIntN(64, n) === n)
      .map(String),
    fc.constantFrom(
      '0',
      '-0',
      `${INT64.max}`,
      `${INT64.min}`,
      '"-12"',
      '4294967296',
      '-4294967296',
      '9007199254740993',
    ),
  ),
  FLOAT: fc.oneof(
    fc.float({ noNaN: true, noDefaultInfinity: true }).map(decimal),
    fc.constantFrom('"NaN"', '"Infinity"', '-0.0', '16777217'),
  ),
  DOUBLE: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(decimal),
    fc.tuple(fc.integer(), fc.integer({ min: 0, max: 999_999_999 })).map(([whole, part]) => `${whole}.${part}`),
    fc.constantFrom(
      '"NaN"',
      '"-Infinity"',
      '-0.0',
      '0',
      '1.0E10',
      '4.9E-324',
      '0.1',
      '123456789012345',
      '9007199254740993',
      '1234567.12345678',
      '"1.5"',
    ),
  ),
  BOOLEAN: fc.constantFrom('true', 'false', '"true"'),
  STRING: fc.oneof(
    fc.string({ unit: 'grapheme' }).map(quoted),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'ü', '😀', ']', ',', '\u0000'), maxLength: 120 }).map(quoted),
    fc.constantFrom(String.raw`"\u00fc\/"`, '1.50', 'true'),
  ),
  BIG_DECIMAL: fc.bigInt().map((n) => quoted(`${n}.10`)),
  BYTES: fc.uint8Array().map((bytes) => quoted(Buffer.from(bytes).toString('hex'))),
};

/** A number as JavaScript writes it, which loses the sign of zero. */
function decimal(value: number): string {
  return Object.is(value, -0) ? '-0.0' : String(value);
}

function valueOf(type: ColumnType): fc.Arbitrary<string> {
  const list = /^(.*)_ARRAY$/.exec(type)?.[1];
  const scalar = SCALARS[list ?? type] as fc.Arbitrary<string>;
  const orNull = fc.oneof({ arbitrary: scalar, weight: 4 }, { arbitrary: fc.constant('null'), weight: 1 });
  if (list === undefined) return orNull;
  return fc.oneof(
    { arbitrary: fc.array(orNull, { maxLength: 4 }).map((items) => `[${items.join(', ')}]`), weight: 4 },
    { arbitrary: fc.constant('null'), weight: 1 },
  );
}

/** Rows of JSON of values of some types. */
export function rowsOf(types: readonly ColumnType[]): fc.Arbitrary<string[][]> {
  return fc.array(fc.tuple(...types.map(valueOf)), { minLength: 1, maxLength: 30 });
}

/** Values at limits of their types. */
export function fitting(): [ColumnType, string][] {
  return [
    ['LONG', '-9223372036854775808'],
    ['LONG', '9223372036854775807'],
    ['LONG', '-9007199254740993'],
    ['LONG', '1000000000000000000'],
    ['LONG', '-1000000000000000'],
    ['INT', '-2147483648'],
    ['INT', '2147483647'],
    ['DOUBLE', '1.7976931348623157E308'],
    ['DOUBLE', '-0.0'],
    ['DOUBLE', '0.000000000000001'],
    ['FLOAT', '3.4028235E38'],
    ['FLOAT', '0.1'],
  ];
}

/** The value that a reader must have, by another way than the export. @param raw JSON of a value */
export function columnValues(type: ColumnType, raw: string): unknown {
  if (raw === 'null') return null;
  const list = /^(.*)_ARRAY$/.exec(type)?.[1];
  if (list !== undefined) return items(raw).map((item) => columnValues(list as ColumnType, item));
  const value = JSON.parse(raw) as unknown;
  const text = typeof value === 'string' ? value : raw;
  switch (type) {
    case 'INT':
      return Number(text) + 0;
    case 'LONG':
      return BigInt(text);
    case 'FLOAT':
      return Math.fround(Number(text));
    case 'DOUBLE':
      return Number(text);
    case 'BOOLEAN':
      return text === 'true';
    case 'BYTES':
      return [...Buffer.from(text, 'hex')];
    default:
      return text;
  }
}

/** JSON of the items of an array, with every digit. */
function items(raw: string): string[] {
  const found: string[] = [];
  JSON.parse(raw, function source(key: string, value: unknown, context?: { source?: string }) {
    if (key !== '' && context?.source !== undefined) found.push(context.source);
    return value;
  } as Parameters<typeof JSON.parse>[1]);
  return found;
}
