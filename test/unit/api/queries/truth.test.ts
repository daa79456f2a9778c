import { zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paginatedQueries } from '../../../../src/api/queries/index.ts';
import { ByteBudget } from '../../../../src/api/server/bounds/byte-budget.ts';
import { PaginatedQueries } from '../../../../src/results/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { testApp } from '../../../support/app.ts';
import { responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf } from './gateways.ts';

/** `TRUTH_ROWS=1000000` is the long form. */
const ROWS = Number(process.env['TRUTH_ROWS'] ?? 30_000);
const PAGE = 1009;
/** Rows that a reader of Parquet holds at once. */
const PART = 50_000;
const LIMIT_MS = 60_000 + ROWS;

const CITIES = ['New York', 'Zürich', 'São Paulo', '"quoted", Inc', '東京', 'a\\b\r\nc', ''];
const FIRST_ID = 9_007_199_254_740_993n;

/** The values of a row; the long cannot be represented as a double. */
const idOf = (i: number): bigint => (i % 2 === 0 ? FIRST_ID + BigInt(i) : -FIRST_ID - BigInt(i));
const cityOf = (i: number): string | null => (i % 11 === 0 ? null : (CITIES[i % 7] as string));
const priceOf = (i: number): string => `${(i * 7919) % 100_000}.${i % 10}${(i % 9) + 1}`;
const tagsOf = (i: number): (string | null)[] => (i % 5 === 0 ? [] : [`t${i % 5}`, i % 13 === 0 ? null : ',"]']);

const COLUMNS = {
  columnNames: ['id', 'city', 'price', 'tags'],
  columnDataTypes: ['LONG', 'STRING', 'DOUBLE', 'STRING_ARRAY'],
};

const rowOf = (i: number): string =>
  `[${idOf(i)},${JSON.stringify(cityOf(i))},${priceOf(i)},${JSON.stringify(tagsOf(i))}]`;

/** The fields of a row in CSV. */
function csvOf(i: number): string {
  const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const city = cityOf(i);
  const field = city === null ? '' : city === '' ? '""' : quoted(city);
  return `${idOf(i)},${field},${priceOf(i)},${quoted(JSON.stringify(tagsOf(i)))}\r\n`;
}

/** The values as readers of columns have them. */
const valuesOf = (i: number): unknown[] => [idOf(i), cityOf(i), Number(priceOf(i)), tagsOf(i)];

const rows = Array.from({ length: ROWS }, (_, i) => rowOf(i));
const offsets = Array.from({ length: Math.ceil(ROWS / PAGE) }, (_, page) => page * PAGE);

/** The offsets in an order that does not repeat a neighbour. */
const scattered = offsets.map((_, i) => offsets[(i * 7919) % offsets.length] as number);

describe(`a result of ${ROWS} rows`, () => {
  let app: FastifyInstance;
  let requestId: string;

  beforeAll(async () => {
    const endpoint = new StubEndpoint();
    const schema = JSON.stringify(COLUMNS);
    endpoint.answer = () =>
      responseOf(`{"resultTable":{"dataSchema":${schema},"rows":[${rows.join(',')}]},"exceptions":[]}`);
    const settings = () => DEFAULT_PAGINATION_SETTINGS;
    const queries = new PaginatedQueries({
      store: new MemoryStore({ maxBytes: 1_000_000_000 }),
      settings,
      identity: { id: 'gateway-0', host: 'gateway-0.test', port: 8080 },
      clock: { now: () => 1_700_000_000_000 },
      random: (bytes) => new Uint8Array(bytes).fill(1),
    });
    app = await testApp({
      parts: { dataPlane: { engine: engineOf(endpoint), queries, settings, budget: new ByteBudget() } },
      register: (scope) => paginatedQueries(scope, { queries }),
    });
    const payload = { sql: 'SELECT * FROM orders' };
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true&numRows=1', payload });
    expect(answer.json()).toMatchObject({ numRowsResultSet: ROWS });
    requestId = answer.json<{ requestId: string }>().requestId;
  }, LIMIT_MS);
  afterAll(() => app?.close());

  const download = async (format: string): Promise<Buffer> =>
    (await app.inject(`/query/${requestId}/results?format=${format}`)).rawPayload;

  it.each([
    ['forward', offsets],
    ['backward', offsets.toReversed()],
    ['scattered', scattered],
  ])(
    'has the rows of the engine in its pages: %s',
    async (_order, order) => {
      const wrong: number[] = [];
      for (const offset of order) {
        const { body } = await app.inject(`/query/${requestId}/results?offset=${offset}&numRows=${PAGE}`);
        if (!body.includes(`"rows":[${rows.slice(offset, offset + PAGE).join(',')}]`)) wrong.push(offset);
      }
      expect([new Set(order).size, wrong]).toEqual([offsets.length, []]);
    },
    LIMIT_MS,
  );

  it(
    'has them as JSON lines and CSV, byte for byte',
    async () => {
      expect((await download('jsonl')).equals(Buffer.from(`${rows.join('\n')}\n`))).toBe(true);
      const csv = `id,city,price,tags\r\n${rows.map((_, i) => csvOf(i)).join('')}`;
      expect((await download('csv')).equals(Buffer.from(csv))).toBe(true);
    },
    LIMIT_MS,
  );

  it(
    'has their values in Arrow',
    async () => {
      const table = tableFromIPC(await download('arrow'));
      expect(table.numRows).toBe(ROWS);
      const columns = COLUMNS.columnNames.map((name) => table.getChild(name));
      const wrong: number[] = [];
      for (let i = 0; i < ROWS; i++) {
        const [id, city, price, tags] = columns.map((column) => column?.get(i) as unknown);
        if (!isRow(i, [id, city, price, [...(tags as Iterable<unknown>)]])) wrong.push(i);
      }
      expect(wrong).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'has their values in Parquet',
    async () => {
      const file = new Uint8Array(await download('parquet')).buffer;
      const compressors = { ZSTD: (bytes: Uint8Array): Uint8Array => zstdDecompressSync(bytes) };
      let read = 0;
      const wrong: number[] = [];
      for (let rowStart = 0; rowStart < ROWS; rowStart += PART) {
        const part = await parquetReadObjects({ file, compressors, rowStart, rowEnd: Math.min(ROWS, rowStart + PART) });
        for (const { id, city, price, tags } of part) {
          const items = (tags as unknown[]).map((item) => item ?? null);
          if (!isRow(read, [id, city ?? null, price, items])) wrong.push(read);
          read++;
        }
      }
      expect([read, wrong]).toEqual([ROWS, []]);
    },
    LIMIT_MS,
  );
});

function isRow(i: number, values: readonly unknown[]): boolean {
  const spelled = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);
  return JSON.stringify(values, spelled) === JSON.stringify(valuesOf(i), spelled);
}
