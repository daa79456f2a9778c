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
});
