/** A table of the sample cluster: schema, configuration and rows. */
export interface SampleTable {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly segments: number;
  readonly rowsPerSegment: number;
  /** One row as a line of JSON, deterministic. */
  row(number: number): string;
}

/** The first id of `orders`: one above the largest integer that a JavaScript number holds exactly. */
export const FIRST_ORDER_ID = 9007199254740993n;
const FIRST_TIME = Date.UTC(2026, 0, 1);

/** A deterministic pseudo-random number in [0, 1) (mulberry32). */
function chance(row: number, salt: number): number {
  let x = (Math.imul(row + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)) >>> 0;
  x = Math.imul(x ^ (x >>> 15), x | 1);
  x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
  return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
}

function pick<T>(values: readonly T[], row: number, salt: number): T {
  return values[Math.floor(chance(row, salt) * values.length)] as T;
}

function offline(name: string, timeColumn: string, replication: number): Record<string, unknown> {
  return {
    tableName: name,
    tableType: 'OFFLINE',
    segmentsConfig: {
      schemaName: name,
      timeColumnName: timeColumn,
      replication: String(replication),
      segmentPushType: 'APPEND',
      retentionTimeUnit: 'DAYS',
      retentionTimeValue: '3650',
    },
    tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
    tableIndexConfig: { loadMode: 'MMAP' },
    metadata: {},
  };
}

// Difficult texts: quotes, line breaks, backslashes, brackets, characters outside the basic multilingual plane, an empty text.
const CITIES = [
  'Berlin',
  'Zürich',
  '東京',
  'São Paulo',
  '"quoted", Inc',
  'line\nbreak',
  'back\\slash',
  '],["',
  '🏙 city',
  '',
];
const STATUSES = ['NEW', 'PAID', 'SENT', 'RETURNED'];
const TAGS = ['gift', 'express', 'fragile', 'b2b', 'naïve', 'a "b"'];

const orders: SampleTable = {
  name: 'orders',
  segments: 8,
  rowsPerSegment: 125_000,
  schema: {
    schemaName: 'orders',
    dimensionFieldSpecs: [
      { name: 'orderId', dataType: 'LONG' },
      { name: 'customerId', dataType: 'INT' },
      { name: 'city', dataType: 'STRING' },
      { name: 'status', dataType: 'STRING' },
      { name: 'tags', dataType: 'STRING', singleValueField: false },
      { name: 'note', dataType: 'STRING' },
    ],
    metricFieldSpecs: [
      { name: 'quantity', dataType: 'INT' },
      { name: 'price', dataType: 'DOUBLE' },
    ],
    dateTimeFieldSpecs: [
      { name: 'orderedAt', dataType: 'LONG', format: '1:MILLISECONDS:EPOCH', granularity: '1:MINUTES' },
    ],
  },
  config: {
    ...offline('orders', 'orderedAt', 2),
    tableIndexConfig: { loadMode: 'MMAP', invertedIndexColumns: ['city'] },
  },
  row(number) {
    const rest = {
      customerId: Math.floor(chance(number, 1) * 20_000),
      city: pick(CITIES, number, 2),
      status: pick(STATUSES, number, 3),
      tags: [pick(TAGS, number, 4), pick(TAGS, number, 5)],
      note: `order ${number} ${'x'.repeat(Math.floor(chance(number, 6) * 20))}`,
      quantity: 1 + Math.floor(chance(number, 7) * 99),
      price: Math.round(chance(number, 8) * 100_000) / 100,
      orderedAt: FIRST_TIME + number * 20_000,
    };
    // Written as text: a JavaScript number would lose the last digits of the id.
    return `{"orderId":${FIRST_ORDER_ID + BigInt(number)},${JSON.stringify(rest).slice(1)}`;
  },
};

const customers: SampleTable = {
  name: 'customers',
  segments: 2,
  rowsPerSegment: 10_000,
  schema: {
    schemaName: 'customers',
    dimensionFieldSpecs: [
      { name: 'customerId', dataType: 'INT' },
      { name: 'name', dataType: 'STRING' },
      { name: 'country', dataType: 'STRING' },
      { name: 'active', dataType: 'BOOLEAN' },
    ],
    dateTimeFieldSpecs: [{ name: 'since', dataType: 'LONG', format: '1:DAYS:EPOCH', granularity: '1:DAYS' }],
  },
  config: offline('customers', 'since', 2),
  row(number) {
    return JSON.stringify({
      customerId: number,
      name: `Customer ${number}`,
      country: pick(['DE', 'CH', 'JP', 'BR', 'US'], number, 11),
      active: chance(number, 12) < 0.8,
      since: 18_000 + Math.floor(chance(number, 13) * 2_000),
    });
  },
};

const LONGS = ['9223372036854775807', '-9223372036854775807', '9007199254740993', '0', '-1'];
const DOUBLES = ['NaN', 'Infinity', '-Infinity', '1.7976931348623157E308', '4.9E-324', '0.1', '-0.0', '1e21'];
const DECIMALS = ['123456789012345678901234567890.123456789', '0.10', '-1E-30', '0'];

/** All data types of Pinot, with values whose representation is easily changed. */
const types: SampleTable = {
  name: 'types',
  segments: 1,
  rowsPerSegment: 40,
  schema: {
    schemaName: 'types',
    dimensionFieldSpecs: [
      { name: 'id', dataType: 'INT' },
      { name: 'aLong', dataType: 'LONG' },
      { name: 'aString', dataType: 'STRING' },
      { name: 'aBoolean', dataType: 'BOOLEAN' },
      { name: 'aFloat', dataType: 'FLOAT' },
      { name: 'aDouble', dataType: 'DOUBLE' },
      { name: 'someBytes', dataType: 'BYTES' },
      { name: 'aJson', dataType: 'JSON' },
      { name: 'ints', dataType: 'INT', singleValueField: false },
      { name: 'longs', dataType: 'LONG', singleValueField: false },
      { name: 'doubles', dataType: 'DOUBLE', singleValueField: false },
      { name: 'strings', dataType: 'STRING', singleValueField: false },
    ],
    metricFieldSpecs: [{ name: 'aDecimal', dataType: 'BIG_DECIMAL' }],
    dateTimeFieldSpecs: [{ name: 'at', dataType: 'TIMESTAMP', format: 'TIMESTAMP', granularity: '1:SECONDS' }],
  },
  config: { ...offline('types', 'at', 1), tableIndexConfig: { loadMode: 'MMAP', noDictionaryColumns: ['aDecimal'] } },
  row(number) {
    const text = CITIES[number % CITIES.length] as string;
    return JSON.stringify({
      id: number,
      aLong: LONGS[number % LONGS.length],
      aString: text,
      aBoolean: number % 2 === 0,
      aFloat: number % 4 === 0 ? 'NaN' : String(number / 3),
      aDouble: DOUBLES[number % DOUBLES.length],
      someBytes: number.toString(16).padStart(8, '0'),
      aJson: JSON.stringify({ text, list: [number, null, { deep: true }] }),
      ints: [number, -number],
      longs: [LONGS[number % LONGS.length], '9007199254740993'],
      doubles: [DOUBLES[number % DOUBLES.length], '0.5'],
      strings: [text, 'second'],
      aDecimal: DECIMALS[number % DECIMALS.length],
      at: String(FIRST_TIME + number * 1_234),
    });
  },
};

export const SAMPLE_TABLES: readonly SampleTable[] = [orders, customers, types];
