// @module-tag slow
import { zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterResource, formatSrn } from '../../../../src/access/policy/srn.ts';
import { paginatedQueries } from '../../../../src/api/queries/index.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { ALICE, authorizerBy, testApp } from '../../../support/app.ts';
import { responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf } from './gateways.ts';

/** Column, type, and the JSON of a value in each of three rows. */
const COLUMNS = [
  ['long', 'LONG', ['9007199254740993', '-9223372036854775808', 'null']],
  ['int', 'INT', ['-1', '2147483647', 'null']],
  ['text, "quoted"', 'STRING', [String.raw`"a,\"b\"\r\nc\\"`, '""', 'null']],
  ['unicode', 'STRING', ['"Zürich 😀"', String.raw`"😀],["`, '"null"']],
  ['double', 'DOUBLE', ['0.1', '"Infinity"', 'null']],
  ['decimal', 'BIG_DECIMAL', ['12345678901234567890.123456789', '"1E+3"', 'null']],
  ['flag', 'BOOLEAN', ['true', 'false', 'null']],
  ['bytes', 'BYTES', ['"00ff"', '""', 'null']],
  ['time', 'TIMESTAMP', ['"2026-01-31 12:00:00.0"', '"1970-01-01 00:00:00.0"', 'null']],
  ['longs', 'LONG_ARRAY', ['[9007199254740993,null,-1]', '[]', 'null']],
  ['texts', 'STRING_ARRAY', [String.raw`["a,b","c\"d"]`, '["]"]', 'null']],
] as const;
const REPEATS = 700;
const ROWS = Array.from(
  { length: 3 * REPEATS },
  (_, i) => `[${COLUMNS.map(([, , values]) => values[(i % 3) as 0]).join(',')}]`,
);
const SCHEMA = JSON.stringify({
  columnNames: COLUMNS.map(([name]) => name),
  columnDataTypes: COLUMNS.map(([, type]) => type),
});
const LINES = `${ROWS.join('\n')}\n`;
/** The three rows as CSV. */
const CSV_HEADER = 'long,int,"text, ""quoted""",unicode,double,decimal,flag,bytes,time,longs,texts\r\n';
const CSV_ROWS = [
  '9007199254740993,-1,"a,""b""\r\nc\\",Zürich 😀,0.1,12345678901234567890.123456789,true,00ff,2026-01-31 12:00:00.0,"[9007199254740993,null,-1]","[""a,b"",""c\\""d""]"\r\n',
  '-9223372036854775808,2147483647,"","😀],[",Infinity,1E+3,false,"",1970-01-01 00:00:00.0,[],"[""]""]"\r\n',
  ',,,null,,,,,,,\r\n',
];

/** The digits of a decimal of Arrow, without its point. @param words of 32 bits, the lowest one first */
function decimalOf(words: Uint32Array): bigint {
  const value = [...words].reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return BigInt.asIntN(128, value);
}

describe('a download of a result', () => {
  let app: FastifyInstance;
  let endpoint: StubEndpoint;
  let denied: Set<string>;
  let principal = ALICE;
  let rows: readonly string[];
  let separator: string;

  beforeEach(async () => {
    denied = new Set();
    principal = ALICE;
    rows = ROWS;
    separator = ',';
    endpoint = new StubEndpoint();
    endpoint.answer = () =>
      responseOf(`{"resultTable":{"dataSchema":${SCHEMA},"rows":[${rows.join(separator)}]},"exceptions":[]}`);
    let seed = 0;
    const queries = new PaginatedQueries({
      store: new MemoryStore({ maxBytes: 100_000_000 }),
      settings: () => DEFAULT_PAGINATION_SETTINGS,
      identity: { id: 'gateway-0', host: 'gateway-0.test', port: 8080 },
      clock: { now: () => 1_700_000_000_000 },
      random: (bytes) => new Uint8Array(bytes).fill(++seed),
    });
    app = await testApp({
      authorizer: authorizerBy((_who, action, resource) => !denied.has(`${action} ${formatSrn(resource)}`)),
      parts: {
        authenticator: { name: 'fixed', authenticate: async () => ({ outcome: 'authenticated', principal }) },
        dataPlane: {
          engine: engineOf(endpoint),
          queries,
          settings: () => DEFAULT_PAGINATION_SETTINGS,
          memory: memoryQueue(),
        },
      },
      register: (scope) => paginatedQueries(scope, { queries }),
    });
  });
  afterEach(() => app.close());

  async function submitted(): Promise<string> {
    const payload = { sql: 'SELECT * FROM orders' };
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true&numRows=1', payload });
    return answer.json<{ requestId: string }>().requestId;
  }
  const get = (id: string, query: string, headers: Record<string, string> = {}) =>
    app.inject({ url: `/query/${id}/results${query}`, headers });

  it('has every row as a JSON line with the bytes of the engine', async () => {
    const id = await submitted();
    const answer = await get(id, '?format=jsonl');
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe(LINES);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'content-length': String(Buffer.byteLength(LINES)),
      'content-disposition': `attachment; filename="${id}.jsonl"`,
      'x-olap-warden-rows': String(ROWS.length),
      'accept-ranges': 'bytes',
    });
    expect((await get(id, '?format=jsonl&offset=5&numRows=2')).body).toBe(`${ROWS.slice(5, 7).join('\n')}\n`);
    expect((await get(id, '?format=jsonl&offset=2099&numRows=99')).body).toBe(`${ROWS[2099]}\n`);
  });

  it('is JSON lines also where the engine writes white space between rows', async () => {
    separator = ' \r\n,\n ';
    const answer = await get(await submitted(), '?format=jsonl');
    const lines = answer.body.trimEnd().split('\n');
    expect(lines.map((line) => line.trim())).toEqual(ROWS);
  });

  it('has exact values, quotes, line breaks and nulls as CSV', async () => {
    const id = await submitted();
    const answer = await get(id, '', { accept: 'text/csv' });
    expect(answer.body).toBe(CSV_HEADER + CSV_ROWS.join('').repeat(REPEATS));
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'accept-ranges': 'bytes',
    });
    expect((await get(id, '?format=csv&offset=1&numRows=1')).body).toBe(CSV_HEADER + CSV_ROWS[1]);
  });

  it('resumes as CSV at any byte, also where nothing was downloaded before', async () => {
    rows = Array.from({ length: 20 }, () => ROWS).flat();
    const csv = Buffer.from(CSV_HEADER + CSV_ROWS.join('').repeat(20 * REPEATS));
    const offsets = [0, 1, CSV_HEADER.length - 1, CSV_HEADER.length, 5000, 1_234_567, csv.length - 1];
    for (const from of offsets) {
      // A new result each time, so that no layout of its CSV is known.
      const id = await submitted();
      const part = await get(id, '?format=csv', { range: `bytes=${from}-` });
      expect(part.statusCode).toBe(206);
      expect(part.headers['content-range']).toBe(`bytes ${from}-${csv.length - 1}/${csv.length}`);
      expect(part.rawPayload.equals(csv.subarray(from))).toBe(true);
    }
    const id = await submitted();
    const { etag } = (await get(id, '?format=csv')).headers;
    for (let from = 0; from < csv.length; from += 99_991) {
      const to = Math.min(csv.length, from + 70_000);
      const headers = { range: `bytes=${from}-${to - 1}`, 'if-range': etag as string };
      expect((await get(id, '?format=csv', headers)).rawPayload.equals(csv.subarray(from, to))).toBe(true);
    }
    expect((await get(id, '?format=csv', { range: 'bytes=-10' })).rawPayload.equals(csv.subarray(-10))).toBe(true);
    // The second one is that of releases whose header could have a name twice.
    for (const other of ['"other"', `"${id}.0.${rows.length}.csv"`]) {
      const whole = await get(id, '?format=csv', { range: 'bytes=10-', 'if-range': other });
      expect(whole.statusCode).toBe(200);
    }
    const after = await get(id, '?format=csv', { range: `bytes=${csv.length}-` });
    expect(after.statusCode).toBe(416);
    expect(after.headers['content-range']).toBe(`bytes */${csv.length}`);
    const part = await get(id, '?format=csv&offset=3&numRows=2', { range: 'bytes=2-' });
    expect(part.body).toBe((CSV_HEADER + CSV_ROWS[0] + CSV_ROWS[1]).slice(2));
  });

  it('has exact values and types as an Arrow stream', async () => {
    const answer = await get(await submitted(), '', { accept: 'application/vnd.apache.arrow.stream' });
    const table = tableFromIPC(answer.rawPayload);
    expect(table.numRows).toBe(ROWS.length);
    expect(table.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
      ['long', 'Int64'],
      ['int', 'Int32'],
      ['text, "quoted"', 'Utf8'],
      ['unicode', 'Utf8'],
      ['double', 'Float64'],
      ['decimal', 'Decimal[38e+9]'],
      ['flag', 'Bool'],
      ['bytes', 'Binary'],
      ['time', 'Timestamp<MILLISECOND>'],
      ['longs', 'List<Int64>'],
      ['texts', 'List<Utf8>'],
    ]);
    const valuesAt = (row: number): unknown[] =>
      table.schema.fields.map((_, column) => {
        const value: unknown = table.getChildAt(column)?.get(row);
        if (value instanceof Uint32Array) return decimalOf(value);
        if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
        return typeof value === 'object' && value !== null ? [...(value as Iterable<unknown>)] : value;
      });
    for (const at of [0, ROWS.length - 3]) {
      expect([0, 1, 2].map((row) => valuesAt(at + row))).toEqual([
        [
          9007199254740993n,
          -1,
          'a,"b"\r\nc\\',
          'Zürich 😀',
          0.1,
          12_345_678_901_234_567_890_123_456_789n,
          true,
          '00ff',
          Date.UTC(2026, 0, 31, 12),
          [9007199254740993n, null, -1n],
          ['a,b', 'c"d'],
        ],
        [-9223372036854775808n, 2147483647, '', '😀],[', Infinity, 1000n * 10n ** 9n, false, '', 0, [], [']']],
        [null, null, null, 'null', null, null, null, null, null, null, null],
      ]);
    }
  });

  describe('of values that are not of the type of their column', () => {
    const result = async (type: string, ...values: string[]): Promise<string> => {
      const schema = { columnNames: ['a', 'b'], columnDataTypes: ['STRING', type] };
      const texts = values.map((value) => `["x",${value}]`).join(',');
      endpoint.answer = () =>
        responseOf(`{"resultTable":{"dataSchema":${JSON.stringify(schema)},"rows":[${texts}]},"exceptions":[]}`);
      return submitted();
    };

    it.each([
      ['LONG', '1.5'],
      ['INT', '"x"'],
      ['BOOLEAN', '1'],
      ['DOUBLE', '1e999'],
      ['FLOAT', '1e39'],
      ['LONG', '9223372036854775808'],
    ])('is 502 with the row and the column: %s %s', async (type, value) => {
      const id = await result(type, 'null', value);
      for (const format of ['arrow', 'parquet']) {
        const { statusCode, body } = await get(id, `?format=${format}`);
        expect([statusCode, JSON.parse(body)]).toEqual([
          502,
          expect.objectContaining({ message: 'row 1 of the result has a value in column 1 that is not of its type' }),
        ]);
      }
    });

    it('is 502 also where the value comes after the first megabyte', async () => {
      const numbers = JSON.stringify(Array(1_000).fill(7));
      const id = await result('LONG_ARRAY', ...Array.from({ length: 1_500 }, () => numbers), '["z"]');
      for (const format of ['arrow', 'parquet'])
        expect((await get(id, `?format=${format}`)).json()).toMatchObject({
          message: expect.stringContaining('row 1500 of the result has a value in column 1'),
        });
    });

    it.each(['INT', 'LONG'])('has an %s in every spelling of an integer', async (type) => {
      const id = await result(type, '1.0', '12e2', '-0.0', '1200e-2', '-7', '"15"');
      const { rawPayload } = await get(id, '?format=arrow');
      const values = [...(tableFromIPC(rawPayload).getChild('b') as Iterable<unknown>)];
      expect(values.map(String)).toEqual(['1', '1200', '0', '12', '-7', '15']);
    });

    it('is 502 as CSV where a row has another number of values', async () => {
      const id = await result('INT', '1', '2,3', '4');
      const answer = await get(id, '?format=csv');
      expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
        502,
        'row 1 of the result has 3 values, but the result has 2 columns',
      ]);
      expect((await get(id, '?format=csv&numRows=1')).body).toBe('a,b\r\nx,1\r\n');
    });
  });

  it('is a Parquet file, which is not compressed again', async () => {
    const headers = { accept: 'application/vnd.apache.parquet', 'accept-encoding': 'gzip, zstd' };
    const answer = await get(await submitted(), '?offset=1&numRows=2', headers);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/vnd.apache.parquet',
      'content-disposition': expect.stringMatching(/\.parquet"$/),
      'x-olap-warden-rows': '2',
    });
    expect(answer.headers).not.toHaveProperty('content-encoding');
    const file = new Uint8Array(answer.rawPayload).buffer;
    const read = await parquetReadObjects({ file, compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) } });
    // The reader has undefined for a list that is null.
    expect(read.map(({ long, longs }) => [long, longs ?? null])).toEqual([
      [-9223372036854775808n, []],
      [null, null],
    ]);
  });

  it('consists of several record batches if it is large', async () => {
    rows = Array.from({ length: 20 }, () => ROWS).flat();
    const table = tableFromIPC((await get(await submitted(), '?format=arrow')).rawPayload);
    expect(table.numRows).toBe(20 * ROWS.length);
    expect(table.batches.length).toBeGreaterThan(2);
    expect(table.getChild('long')?.get(20 * ROWS.length - 3)).toBe(9007199254740993n);
  });

  it('has the columns of a result without rows', async () => {
    rows = [];
    const id = await submitted();
    expect((await get(id, '?format=jsonl')).body).toBe('');
    expect((await get(id, '?format=csv')).body).toBe(CSV_HEADER);
    const table = tableFromIPC((await get(id, '?format=arrow')).rawPayload);
    expect([table.numRows, table.schema.fields.length]).toEqual([0, COLUMNS.length]);
  });

  it('resumes at any byte of JSON lines', async () => {
    const id = await submitted();
    const bytes = Buffer.from(LINES);
    const etag = String((await get(id, '?format=jsonl')).headers.etag);
    const last = bytes.length - 1;
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=100000-', 100_000, bytes.length],
      [`bytes=${last}-`, last, bytes.length],
      ['bytes=-5', bytes.length - 5, bytes.length],
      ['bytes=1-99999999', 1, bytes.length],
      ...Array.from({ length: 40 }, (_, i) => [`bytes=${i * 97}-${i * 97 + 311}`, i * 97, i * 97 + 312] as const),
    ] as const) {
      const answer = await get(id, '?format=jsonl', { range, 'if-range': etag });
      expect(answer.statusCode).toBe(206);
      expect(answer.headers['content-range']).toBe(`bytes ${from}-${to - 1}/${bytes.length}`);
      expect(answer.rawPayload.equals(bytes.subarray(from, to))).toBe(true);
    }
    for (const headers of [{ range: 'bytes=5-', 'if-range': '"other"' }, { range: 'bytes=5-1' }, { range: 'rows=1-' }])
      expect((await get(id, '?format=jsonl', headers)).statusCode).toBe(200);
    const beyond = await get(id, '?format=jsonl', { range: `bytes=${bytes.length}-` });
    expect([beyond.statusCode, beyond.headers['content-range']]).toEqual([416, `bytes */${bytes.length}`]);
  });

  it('requires the permissions of a page for each request', async () => {
    const id = await submitted();
    for (const format of ['jsonl', 'csv', 'arrow', 'parquet']) {
      denied = new Set(['Query srn2:table#orders']);
      expect((await get(id, `?format=${format}`)).statusCode).toBe(403);
      denied = new Set([`GetResponseStore ${formatSrn(clusterResource)}`]);
      principal = { ...ALICE, srn: 'srn2:user#eve@example.com' };
      const other = await get(id, `?format=${format}`);
      expect([other.statusCode, other.body]).toEqual([403, expect.stringContaining('GetResponseStore')]);
      principal = ALICE;
    }
  });

  it('requires the permissions for a table in the letter case of the engine, too', async () => {
    endpoint.answer = () =>
      responseOf(
        `{"resultTable":{"dataSchema":${SCHEMA},"rows":[${ROWS.join(',')}]},"exceptions":[],"tablesQueried":["ORDERS_OFFLINE"]}`,
      );
    const id = await submitted();
    const queries = ['?offset=0&numRows=1', '?format=jsonl', '?format=csv', '?format=arrow', '?format=parquet'];
    const statuses = () => Promise.all(queries.map(async (query) => (await get(id, query)).statusCode));
    expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
    denied = new Set(['Query srn2:table#ORDERS']);
    expect(await statuses()).toEqual([403, 403, 403, 403, 403]);
  });

  it('is a page in JSON unless another format is preferred', async () => {
    const id = await submitted();
    for (const accept of ['application/json', '*/*', 'text/html, */*;q=0.8', 'text/csv;q=0.5, application/json'])
      expect((await get(id, '?offset=0&numRows=1', { accept })).headers['content-type']).toBe('application/json');
    const named = await get(id, '?offset=0&numRows=1&format=json', { accept: 'text/csv' });
    expect(named.headers['content-type']).toBe('application/json');
    expect((await get(id, '?numRows=1')).statusCode).toBe(400);
    const unknown = await get(id, '?format=xml');
    expect([unknown.statusCode, unknown.body]).toEqual([
      400,
      expect.stringContaining('json, jsonl, csv, arrow, parquet'),
    ]);
    expect((await get(id, '?format=csv&offset=2100')).statusCode).toBe(400);
  });

  it.each([
    [0, '1.5'],
    [0, '""'],
    [0, '" 5"'],
    [1, '"0x10"'],
    [1, '2147483648'],
    [4, '""'],
    [6, '1'],
    [7, '"0"'],
    [9, '["5 "]'],
    [10, '"a[5]"'],
  ])('names its first row where the value of column %i is %s, which is not of its type', async (at, value) => {
    const row = `[${COLUMNS.map(([, , values], i) => (i === at ? value : values[0])).join(',')}]`;
    rows = [...ROWS.slice(0, 5), row];
    const id = await submitted();
    for (const format of ['arrow', 'parquet']) {
      const { statusCode, body } = await get(id, `?format=${format}`);
      expect([statusCode, body]).toEqual([
        502,
        expect.stringContaining(`row 5 of the result has a value in column ${at} `),
      ]);
    }
  });
});
