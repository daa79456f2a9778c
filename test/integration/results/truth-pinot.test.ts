import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { type PinotClient, sharedPinot } from '../../support/pinot.ts';
import { memoryProperties } from '../../support/result-stores.ts';
import {
  arrowBatches,
  type Coding,
  download,
  hashOf,
  parquetGroups,
  type ReadColumns,
} from '../../support/truth-readers.ts';
import { isComplete, objectOf, trueRows } from '../../support/truth-rows.ts';
import { startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';

/** `TRUTH_ROWS=999996` takes a minute more; the cluster of the tests, with a heap of 1 GB, returns them. */
const ROWS = Number(process.env['TRUTH_ROWS'] ?? 300_000);
const SEGMENTS = 6;
const PAGE = 10_007;
const TABLE = 'truth_rows';
const SQL = `SELECT number, id, city, price, tags FROM ${TABLE} LIMIT ${2 * ROWS}`;
const LIMIT_MS = 300_000;

const SCHEMA = {
  schemaName: TABLE,
  dimensionFieldSpecs: [
    { name: 'number', dataType: 'INT' },
    { name: 'id', dataType: 'LONG' },
    { name: 'city', dataType: 'STRING' },
    { name: 'price', dataType: 'DOUBLE' },
    { name: 'tags', dataType: 'STRING', singleValueField: false },
  ],
};
const CONFIG = {
  tableName: TABLE,
  tableType: 'OFFLINE',
  segmentsConfig: { schemaName: TABLE, replication: '1', segmentPushType: 'APPEND' },
  tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
  tableIndexConfig: { loadMode: 'MMAP', noDictionaryColumns: ['number', 'id', 'price'] },
  metadata: {},
};

describe(`${ROWS} rows of a real broker`, () => {
  let pinot: PinotClient;
  let engine: (Engine & KnownTables) | undefined;
  let gateways: TestGateway[] = [];
  let results: string;
  /** The rows as JSON lines, in the order of the result. */
  let lines: string[];
  let numbers: number[];

  beforeAll(async () => {
    pinot = await sharedPinot();
    await pinot.createTable(SCHEMA, CONFIG);
    let number = 0;
    for (let segment = 0; segment < SEGMENTS; segment++) {
      const rows: string[] = [];
      for (; rows.length < ROWS / SEGMENTS; number++) if (isComplete(number)) rows.push(objectOf(number));
      await pinot.uploadRows(TABLE, rows);
    }
    await pinot.awaitRows(TABLE, ROWS);
    engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
    const properties = { ...memoryProperties(), 'olap.broker.pagination.memory.max.bytes': 1_000_000_000 };
    gateways = await startGateways(1, { engine, store: () => properties, isSingle: true });
    const { app, url } = gateways[0] as TestGateway;
    const payload = { sql: SQL };
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true&numRows=1', payload });
    expect(answer.json()).toMatchObject({ numRowsResultSet: ROWS });
    results = `${url}/query/${answer.json<{ requestId: string }>().requestId}/results`;
    lines = (await buffer(await download(`${results}?format=jsonl`, 'identity'))).toString().trimEnd().split('\n');
    numbers = lines.map((line) => Number(/^\[(\d+),/.exec(line)?.[1]));
  }, LIMIT_MS);
  afterAll(async () => {
    await stopGateways(gateways);
    await engine?.close();
    await pinot?.deleteTable(TABLE);
  });

  const numberOf = (place: number): number => numbers[place] as number;

  it('are each row of the table once, with its values, as JSON lines', async () => {
    expect([lines.length, new Set(numbers).size]).toEqual([ROWS, ROWS]);
    expect(await trueRows(batchesOf(lines), numberOf)).toBe(ROWS);
  });

  it.each<[string, Coding, (offsets: number[]) => number[]]>([
    ['forward', 'identity', (offsets) => offsets],
    ['backward', 'gzip', (offsets) => offsets.toReversed()],
    ['scattered', 'zstd', (offsets) => offsets.map((_, i) => offsets[(i * 7919) % offsets.length] as number)],
  ])(
    'are the same in pages: %s, %s',
    async (_order, coding, order) => {
      const offsets = order(Array.from({ length: Math.ceil(ROWS / PAGE) }, (_, page) => page * PAGE));
      const wrong: number[] = [];
      for (const offset of offsets) {
        const page = await buffer(await download(`${results}?offset=${offset}&numRows=${PAGE}`, coding));
        const rows = Buffer.from(`"rows":[${lines.slice(offset, offset + PAGE).join(',')}]`);
        if (!page.includes(rows)) wrong.push(offset);
      }
      expect([new Set(offsets).size, wrong]).toEqual([Math.ceil(ROWS / PAGE), []]);
    },
    LIMIT_MS,
  );

  it(
    'have the same values in Arrow and Parquet, and the same bytes in CSV',
    async () => {
      expect(await trueRows(arrowBatches(await download(`${results}?format=arrow`, 'zstd')), numberOf)).toBe(ROWS);
      expect(await trueRows(parquetGroups(await download(`${results}?format=parquet`, 'identity')), numberOf)).toBe(
        ROWS,
      );
      const csv = await download(`${results}?format=csv`, 'gzip');
      expect(await hashOf(csv)).toBe(await hashOf(Readable.from(csvOf(lines))));
    },
    LIMIT_MS,
  );
});

/** The values of rows in JSON. Ids are read from their digits. */
async function* batchesOf(lines: readonly string[]): AsyncIterable<ReadColumns> {
  for (let from = 0; from < lines.length; from += PAGE) {
    const [id, city, price, tags]: unknown[][] = [[], [], [], []];
    for (const line of lines.slice(from, from + PAGE)) {
      const values = JSON.parse(line) as unknown[];
      id?.push(BigInt(/^\[\d+,(-?\d+),/.exec(line)?.[1] ?? 0));
      city?.push(values[2]);
      price?.push(values[3]);
      tags?.push(values[4]);
    }
    yield { id, city, price, tags } as ReadColumns;
  }
}

/** The rows in CSV, with the numbers as the engine writes them. */
function* csvOf(lines: readonly string[]): Iterable<string> {
  const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  yield 'number,id,city,price,tags\r\n';
  for (const line of lines) {
    const [, number = '', id = '', city = '', price = '', tags = ''] =
      /^\[(\d+),(-?\d+),("(?:[^"\\]|\\.)*"),([\d.E-]+),(\[.*\])\]$/.exec(line) ?? [];
    yield `${number},${id},${field(JSON.parse(city) as string)},${price},${field(tags)}\r\n`;
  }
}
