import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { memoryQueue } from '../../../src/api/server/admission/memory.ts';
import { paginatedQueries } from '../../../src/api/queries/index.ts';
import { PaginatedQueries } from '../../../src/results/submit/paginated-queries.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../src/results/settings.ts';
import { MemoryStore } from '../../../src/results/stores/memory/memory-store.ts';
import { testApp } from '../../support/app.ts';
import { sharedPinot, type PinotClient } from '../../support/pinot.ts';
import { seeded } from '../../support/seed.ts';

/** The bytes between the brackets of `rows`. */
function rowsText(answer: string): string {
  const from = answer.indexOf('"rows":[') + '"rows":['.length;
  return answer.slice(from, answer.indexOf(']}', answer.lastIndexOf(']]}') + 1));
}

describe('paginated queries on a real Pinot', () => {
  let pinot: PinotClient;
  let engine: Engine & KnownTables;
  let app: FastifyInstance;

  beforeAll(async () => {
    pinot = await sharedPinot();
    engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
    const settings = () => DEFAULT_PAGINATION_SETTINGS;
    const queries = new PaginatedQueries({
      store: new MemoryStore({ maxBytes: 512 * 1024 * 1024 }),
      settings,
      identity: { id: 'Broker_127.0.0.1_1', host: '127.0.0.1', port: 1 },
      clock: systemClock,
      random: randomBytes,
    });
    app = await testApp({
      register: (scope) => paginatedQueries(scope, { queries }),
      parts: { dataPlane: { engine, queries, settings, memory: memoryQueue() } },
    });
  });
  afterAll(async () => {
    await app?.close();
    await engine?.close();
  });

  const submit = async (sql: string, numRows: number): Promise<{ requestId: string; numRowsResultSet: number }> => {
    const answer = await app.inject({
      method: 'POST',
      url: `/query/sql?doPaginate=true&numRows=${numRows}`,
      payload: { sql },
    });
    expect(answer.body).toMatch(/^\{"resultTable":\{"dataSchema":/);
    return answer.json();
  };

  // Ordered by a column whose values a double can hold: Pinot compares LONGs as doubles, and equal ones come in any order.
  it('returns the bytes of the engine page by page in random order', async () => {
    const sql = 'SELECT * FROM orders ORDER BY orderedAt LIMIT 20000';
    const direct = rowsText(await pinot.query(sql));
    const { requestId, numRowsResultSet } = await submit(sql, 100);
    expect(numRowsResultSet).toBe(20_000);
    const size = 777;
    const offsets = Array.from({ length: Math.ceil(numRowsResultSet / size) }, (_, i) => i * size);
    const pages = new Map<number, string>();
    for (const offset of seeded().shuffled(offsets)) {
      const page = await app.inject(`/query/${requestId}/results?offset=${offset}&numRows=${size}`);
      expect(page.statusCode).toBe(200);
      expect(page.json()).toMatchObject({ offset, numRows: Math.min(size, numRowsResultSet - offset) });
      pages.set(offset, rowsText(page.body));
    }
    expect(offsets.map((offset) => pages.get(offset)).join(',')).toBe(direct);
    expect(direct).toContain('9007199254740993');
  });

  it('keeps the spelling of values', async () => {
    const sql = 'SELECT * FROM types ORDER BY id LIMIT 100';
    const direct = rowsText(await pinot.query(sql));
    const { requestId } = await submit(sql, 1);
    const page = await app.inject(`/query/${requestId}/results?offset=0&numRows=100`);
    expect(rowsText(page.body)).toBe(direct);
  });

  it('returns the engine’s response to a failed query and stores nothing', async () => {
    const sql = 'SELECT nosuch FROM orders LIMIT 10';
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true', payload: { sql } });
    expect(answer.statusCode).toBe(200);
    expect(answer.json<{ exceptions: unknown[] }>().exceptions).not.toHaveLength(0);
    expect(answer.json()).not.toHaveProperty('nextOffsetParams');
  });

  it('returns the schema of a result without rows', async () => {
    const sql = 'SELECT orderId, city FROM orders WHERE orderId < 0 LIMIT 10';
    const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true', payload: { sql } });
    expect(answer.json()).toMatchObject({
      resultTable: { dataSchema: { columnNames: ['orderId', 'city'] }, rows: [] },
      numRowsResultSet: 0,
    });
  });

  describe('where the broker queries no server', () => {
    const EMPTY = `empty_${randomBytes(4).toString('hex')}`;
    const PRUNED = `pruned_${randomBytes(4).toString('hex')}`;

    beforeAll(async () => {
      for (const name of [EMPTY, PRUNED]) {
        await pinot.createTable(
          {
            schemaName: name,
            dimensionFieldSpecs: [{ name: 'city', dataType: 'STRING' }],
            dateTimeFieldSpecs: [
              { name: 'at', dataType: 'LONG', format: '1:MILLISECONDS:EPOCH', granularity: '1:MILLISECONDS' },
            ],
          },
          {
            tableName: name,
            tableType: 'OFFLINE',
            segmentsConfig: { schemaName: name, replication: '1', timeColumnName: 'at' },
            tenants: {},
            tableIndexConfig: { loadMode: 'MMAP' },
            routing: { segmentPrunerTypes: ['time'] },
            metadata: {},
          },
        );
      }
      await pinot.uploadRows(PRUNED, ['{"city":"Oslo","at":1600000000000}', '{"city":"Rome","at":1600000001000}']);
      await pinot.awaitRows(PRUNED, 2);
    });
    afterAll(async () => {
      for (const name of [EMPTY, PRUNED]) await pinot?.deleteTable(name);
    });

    // Pinot 1.4 and newer name the columns, also those of a query that reads nothing.
    it.each([
      ['a table without segments', () => `SELECT city FROM ${EMPTY} LIMIT 10`],
      ['an aggregation of a table without segments', () => `SELECT COUNT(*) FROM ${EMPTY}`],
      ['segments that are all pruned', () => `SELECT city FROM ${PRUNED} WHERE at > 1700000000000 LIMIT 10`],
      [
        'groups of segments that are all pruned',
        () => `SELECT city, COUNT(*) FROM ${PRUNED} WHERE at > 1700000000000 GROUP BY city`,
      ],
    ])('stores an empty result with an id, which every format can be read from: %s', async (_, sqlOf) => {
      const sql = sqlOf();
      const { requestId, numRowsResultSet } = await submit(sql, 10);
      expect(numRowsResultSet).toBe(0);
      const page = await app.inject(`/query/${requestId}/results?offset=0`);
      expect([page.statusCode, page.json()]).toEqual([
        200,
        expect.objectContaining({ resultTable: expect.objectContaining({ rows: [] }), requestId, numRows: 0 }),
      ]);
      for (const format of ['csv', 'jsonl', 'arrow', 'parquet']) {
        const download = await app.inject(`/query/${requestId}/results?format=${format}`);
        expect([format, download.statusCode]).toEqual([format, 200]);
      }
      const direct = await app.inject({ method: 'POST', url: '/query/sql', payload: { sql } });
      expect(direct.json()).toMatchObject({ exceptions: [], numServersQueried: 0 });
    });

    it('stores the schema where the filter has no rows in segments that a server read', async () => {
      const sql = `SELECT city FROM ${PRUNED} WHERE city = 'Paris' LIMIT 10`;
      const answer = await app.inject({ method: 'POST', url: '/query/sql?doPaginate=true', payload: { sql } });
      expect(answer.json()).toMatchObject({
        resultTable: { dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] }, rows: [] },
      });
      expect(answer.json()).not.toHaveProperty('warnings');
    });
  });

  it('passes a query without pagination through, compressed or not', async () => {
    const sql = 'SELECT orderId, city FROM orders ORDER BY orderedAt LIMIT 50';
    const direct = rowsText(await pinot.query(sql));
    const answer = await app.inject({ method: 'POST', url: '/query/sql', payload: { sql } });
    expect(rowsText(answer.body)).toBe(direct);
    const byGet = await app.inject(`/query/sql?sql=${encodeURIComponent(sql)}`);
    expect(rowsText(byGet.body)).toBe(direct);
  });
});
