import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileProperties, s3Properties, type TestBucket } from '../../support/result-stores.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { S3ObjectClient } from '../../../src/results/stores/s3/s3-client.ts';
import { CURSOR_ROWS, CURSOR_SQL, CursorCluster } from '../../support/cursor-brokers.ts';
import { FIRST_ORDER_ID } from '../../../tools/pinot/sample-tables.ts';
import { forVersions } from '../../support/for-versions.ts';
import { sharedPinot } from '../../support/pinot.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const submit = ({ app }: TestGateway, sql: string, numRows: number) =>
  app.inject({ method: 'POST', url: `/query/sql?doPaginate=true&numRows=${numRows}`, payload: { sql } });

const listed = async ({ app }: TestGateway): Promise<readonly object[]> =>
  (await app.inject('/query/resultStore')).json<{ resultMetadataList: object[] }>().resultMetadataList;

const before13 = await forVersions('<1.3');
const from13 = await forVersions('>=1.3');

describe('a real Pinot', () => {
  const SQL = 'SELECT * FROM orders ORDER BY orderedAt LIMIT 20000';
  let folder: string;
  let engine: Engine & KnownTables;
  let gateways: TestGateway[];

  const start = async (native: boolean, count = 1): Promise<TestGateway> => {
    await stopGateways(gateways);
    gateways = await startGateways(count, {
      engine,
      native,
      store: () => fileProperties(folder),
    });
    return gateways[0] as TestGateway;
  };

  beforeAll(async () => {
    gateways = [];
    folder = await mkdtemp(join(tmpdir(), 'native-results-'));
    engine = createEngine({ controllerUrls: [(await sharedPinot()).controllerUrl] });
  });
  afterAll(async () => {
    await stopGateways(gateways);
    await engine?.close();
    await rm(folder, { recursive: true });
  });

  before13('without cursors causes an error with a remedy, stores nothing, and keeps earlier results', async () => {
    const storing = await start(false);
    const { requestId } = (await submit(storing, SQL, 10)).json<{ requestId: string }>();
    const before = await storing.app.inject(`/query/${requestId}/results?offset=19990`);

    const gateway = await start(true);
    for (const [sql, numRows] of [
      [SQL, 10],
      [SQL, 100_000],
      ['SELECT orderId FROM orders LIMIT 3', 3],
      ['SELECT orderId FROM orders WHERE orderId < 0 LIMIT 3', 3],
    ] as const) {
      const answer = await submit(gateway, sql, numRows);
      expect(answer.statusCode).toBe(501);
      expect(answer.json<{ message: string }>().message).toMatch(
        /^the broker http:\S+ returned no cursor.*upgrade the broker, or set `olap\.broker\.pagination\.native` to `false`.*Nothing was stored$/,
      );
    }
    expect(await readdir(join(folder, 'temp'))).toEqual([]);
    expect(await listed(gateway)).toMatchObject([{ requestId }]);
    const after = await gateway.app.inject(`/query/${requestId}/results?offset=19990`);
    expect(after.statusCode).toBe(200);
    expect(after.body.replace(/"brokerPort":\d+/, '')).toBe(before.body.replace(/"brokerPort":\d+/, ''));
  });

  from13('stores a result, of which any gateway serves and deletes the pages', async () => {
    const first = await start(true, 2);
    const second = gateways[1] as TestGateway;
    for (const [engineName, set] of [
      ['single-stage', ''],
      ['multi-stage', 'SET useMultistageEngine=true; '],
    ] as const) {
      const answer = await submit(first, `${set}SELECT orderId FROM orders ORDER BY orderId LIMIT 20000`, 10);
      const { requestId, ...submitted } = answer.json<{ requestId: string }>();
      expect([engineName, answer.statusCode, submitted]).toEqual([
        engineName,
        200,
        expect.objectContaining({ numRowsResultSet: 20_000, numRows: 10, exceptions: [] }),
      ]);
      for (const { app } of gateways) {
        const page = await app.inject(`/query/${requestId}/results?offset=19998&numRows=10`);
        expect(page.body).toContain(`"rows":[[${FIRST_ORDER_ID + 19_998n}],[${FIRST_ORDER_ID + 19_999n}]]`);
        expect(await listed({ app } as TestGateway)).toMatchObject([{ requestId }]);
      }
      expect((await second.app.inject({ method: 'DELETE', url: `/query/resultStore/${requestId}` })).statusCode).toBe(
        200,
      );
      expect((await first.app.inject(`/query/${requestId}/results?offset=0`)).statusCode).toBe(404);
      expect(await listed(first)).toEqual([]);
    }
  });

  it('passes through failed queries and queries without pagination', async () => {
    const gateway = await start(true);
    const failed = await submit(gateway, 'SELECT nosuch FROM orders LIMIT 3', 3);
    expect(failed.statusCode).toBe(200);
    expect(failed.json<{ exceptions: unknown[] }>().exceptions).not.toHaveLength(0);
    const payload = { sql: 'SELECT orderId FROM orders LIMIT 3' };
    const plain = await gateway.app.inject({ method: 'POST', url: '/query/sql', payload });
    expect(plain.json<{ resultTable: { rows: unknown[] } }>().resultTable.rows).toHaveLength(3);
  });
});

describe('results that the engine keeps, with their records in a bucket', () => {
  let s3: S3Server;
  let bucket: TestBucket;
  let cluster: CursorCluster;
  let engine: Engine & KnownTables;
  let gateways: TestGateway[];

  beforeAll(async () => {
    s3 = await startS3();
    cluster = await CursorCluster.start(2);
    engine = createEngine({ controllerUrls: [cluster.controller.url] });
    bucket = await s3.bucket('native-results');
    gateways = await startGateways(3, { engine, native: true, store: () => s3Properties(bucket) });
  });
  afterAll(async () => {
    await stopGateways(gateways);
    await engine?.close();
    await cluster?.close();
    await s3?.stop();
  });

  it('are served, listed and deleted by any gateway', async () => {
    const [first, second, third] = gateways as [TestGateway, TestGateway, TestGateway];
    const answer = (await submit(first, CURSOR_SQL, 3)).json<{ requestId: string }>();
    expect(answer).not.toHaveProperty('brokerHost');
    const path = `/query/${answer.requestId}/results?offset=3&numRows=4`;
    for (const gateway of gateways) {
      const page = await gateway.app.inject(path);
      expect(page.body).toContain(`"rows":[${CURSOR_ROWS.slice(3, 7).join(',')}]}`);
      expect(page.json()).toMatchObject({ brokerId: 'gateway-0', nextOffsetParams: 'offset=7&numRows=4' });
      expect(await listed(gateway)).toHaveLength(1);
    }
    const deleted = await third.app.inject({ method: 'DELETE', url: `/query/resultStore/${answer.requestId}` });
    expect(deleted.statusCode).toBe(200);
    expect((await first.app.inject(path)).statusCode).toBe(404);
    expect((await second.app.inject(path)).statusCode).toBe(404);
    expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
    expect(cluster.brokers.flatMap(({ unknown }) => unknown)).toEqual([]);
  });

  it('buffer large pages in the bucket and remove them', async () => {
    const rows = Array.from({ length: 6000 }, (_, i) => `[${9007199254740993n + BigInt(i)},"${'ü'.repeat(500)}"]`);
    for (const broker of cluster.brokers) broker.rows = rows;
    const [first, second] = gateways as [TestGateway, TestGateway];
    const { requestId } = (await submit(first, CURSOR_SQL, 1)).json<{ requestId: string }>();
    const headers = { authorization: 'Bearer test-token' };
    const answer = await fetch(`${second.url}/query/${requestId}/results?offset=1&numRows=6000`, { headers });
    expect((await answer.text()).includes(`"rows":[${rows.slice(1).join(',')}]}`)).toBe(true);
    const objects = new S3ObjectClient({
      region: undefined,
      pathStyle: true,
      accessKeyId: undefined,
      secretAccessKey: undefined,
      ...bucket,
    });
    const keys = async () => {
      const all: string[] = [];
      for await (const { key } of objects.list('', AbortSignal.timeout(WAIT_LIMIT_MS))) all.push(key);
      return all.sort();
    };
    await expect.poll(keys).toEqual([`${requestId}.json`, `${requestId}.rows`]);
    await objects.close();
  });
});
