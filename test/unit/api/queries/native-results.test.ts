import { systemClock } from '../../../../src/platform/clock.ts';
import { tableFromIPC } from 'apache-arrow';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../../src/access/principal.ts';
import { formatSrn } from '../../../../src/access/policy/srn.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine } from '../../../../src/pinot/types.ts';
import { Limits } from '../../../../src/api/server/admission/callers.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { ALICE, authorizerBy } from '../../../support/app.ts';
import {
  CURSOR_ROWS,
  CURSOR_SQL,
  CursorCluster,
  FAILING_SQL,
  NO_ROWS_SQL,
  printed,
} from '../../../support/cursor-brokers.ts';
import { fileProperties, memoryProperties } from '../../../support/result-stores.ts';
import { until } from '../../../support/until.ts';
import { readRecording } from '../../../support/replay-engine.ts';
import { startGateways, stopGateways, type TestGateway } from './gateways.ts';

const BOB: Principal = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
const HOUR_MS = 3_600_000;
const START = 1_700_000_000_000;

interface PageBody {
  readonly requestId: string;
  readonly brokerId: string;
}

describe('the stand-in for a broker with cursors', () => {
  const times = /"(?:cursorResultWriteTimeMs|cursorFetchTimeMs)":\d+/g;
  const ask = async (cluster: CursorCluster, method: string, path: string, body?: string) => {
    const answer = await fetch(cluster.brokers[0]!.url + path, { method, ...(body !== undefined && { body }) });
    return { status: answer.status, body: (await answer.text()).replaceAll(times, '') };
  };

  it('responds like the recorded broker', async () => {
    const cluster = await CursorCluster.start(1);
    const names = [
      'submit',
      'page2',
      'page_last',
      'page_huge',
      'page_past',
      'meta',
      'del',
      'del2',
      'afterdel',
      'unknown',
    ];
    for (const name of names) {
      const recorded = readRecording('1.5.1', `cursor/${name}`);
      const answer = await ask(cluster, recorded.method, recorded.path, recorded.requestBody);
      expect([name, answer]).toEqual([name, { status: recorded.status, body: recorded.body.replaceAll(times, '') }]);
    }
    expect((await ask(cluster, 'GET', '/responseStore/1/results?offset=0&numRows=3&more=1')).status).toBe(404);
    expect((await ask(cluster, 'GET', '/query/sql?getCursor=true')).status).toBe(501);
    expect(cluster.brokers[0]!.unknown).toEqual(['GET /query/sql?getCursor=true']);
    await cluster.close();
  });
});

describe('results in the engine’s cursors', () => {
  let cluster: CursorCluster;
  let engines: Engine[];
  let gateways: TestGateway[];
  let folder: string;
  let now: number;
  let principal: Principal;
  let denied: Set<string>;
  let settings = DEFAULT_PAGINATION_SETTINGS;
  let rowsPerQuery: number;
  let retention: (() => void)[];

  beforeEach(async () => {
    cluster = await CursorCluster.start(2);
    engines = [];
    gateways = [];
    folder = await mkdtemp(join(tmpdir(), 'native-results-'));
    now = START;
    principal = ALICE;
    denied = new Set();
    settings = DEFAULT_PAGINATION_SETTINGS;
    rowsPerQuery = 0;
    retention = [];
  });
  afterEach(async () => {
    await stopGateways(gateways);
    await Promise.all(engines.map((engine) => engine.close()));
    expect(cluster.brokers.flatMap(({ unknown }) => unknown)).toEqual([]);
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  interface StartOptions {
    readonly native?: boolean;
    readonly store?: 'memory' | 'file';
    readonly credential?: string;
  }

  /** Starts gateways for the cluster. By default the engine keeps the results, and each gateway has a file store in its own folder. */
  async function start(count = 1, options: StartOptions = {}): Promise<TestGateway> {
    const { native = true, store = 'file', credential } = options;
    const engine = createEngine({
      controllerUrls: [cluster.controller.url],
      ...(credential !== undefined && { credential: { header: () => credential, refused: () => undefined } }),
    });
    engines.push(engine);
    gateways = await startGateways(count, {
      engine,
      native,
      store: (gateway) =>
        store === 'memory' ? memoryProperties() : fileProperties(folder, `data-${gateway}`, `temp-${gateway}`),
      authorizer: authorizerBy((_who, action, resource) => !denied.has(`${action} ${formatSrn(resource)}`)),
      principal: () => principal,
      now: () => now,
      settings: () => settings,
      every: (call) => retention.push(call),
      parts: {
        callerLimits: new Limits({
          rolesOf: () => [],
          clock: { ...systemClock, monotonic: () => now },
          defaults: { rowsPerQuery },
        }),
      },
    });
    return gateways[0] as TestGateway;
  }

  const submit = ({ app }: TestGateway, numRows = 3, sql = CURSOR_SQL) =>
    app.inject({ method: 'POST', url: `/query/sql?doPaginate=true&numRows=${numRows}`, payload: { sql } });
  const page = ({ app }: TestGateway, id: string, query: string) => app.inject(`/query/${id}/results?${query}`);
  const remove = ({ app }: TestGateway, id: string) =>
    app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` });
  const submitted = async (gateway: TestGateway): Promise<string> => (await submit(gateway)).json<PageBody>().requestId;
  const brokerRequests = (): string[] => cluster.brokers.flatMap((broker) => broker.asked);
  /** The broker that stores a result. */
  const resultBroker = () => cluster.brokers.find(({ disk }) => disk.size > 0)!;
  const otherBroker = () => cluster.brokers.find((broker) => broker !== resultBroker())!;

  it('are the results of asynchronous queries, too, also without rows', async () => {
    const gateway = await start();
    for (const [sql, rows] of [
      [CURSOR_SQL, CURSOR_ROWS.length],
      [NO_ROWS_SQL, 0],
    ] as const) {
      const payload = { sql };
      const answer = await gateway.app.inject({
        method: 'POST',
        url: '/query/sql?doPaginate=true&async=true',
        payload,
      });
      expect(answer.statusCode).toBe(202);
      const { requestId } = answer.json<PageBody>();
      let status = answer.json<{ state: string }>();
      await until('the query is done', async () => {
        status = (await gateway.app.inject(`/query/${requestId}`)).json();
        return status.state !== 'running' && status.state !== 'storing';
      });
      expect(status).toMatchObject({ state: 'done', numRowsResultSet: rows });
      const first = (await page(gateway, requestId, 'offset=0&numRows=2')).json<{ numRowsResultSet: number }>();
      expect(first).toMatchObject({ requestId, numRowsResultSet: rows });
      expect((await remove(gateway, requestId)).statusCode).toBe(200);
    }
  });

  it('are listed for their caller in parts', async () => {
    const gateway = await start();
    const ids = [await submitted(gateway), await submitted(gateway), await submitted(gateway)];
    const listed: string[] = [];
    type Part = { readonly queries: readonly PageBody[]; readonly nextParams?: string };
    const list = async (params: string): Promise<Part> => {
      const answer = await gateway.app.inject(`/query/mine?${params}`);
      expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)]);
      return answer.json<Part>();
    };
    for (let params: string | undefined = 'limit=1'; params !== undefined && listed.length < 4;) {
      const part: Part = await list(params);
      listed.push(...part.queries.map(({ requestId }) => requestId));
      params = part.nextParams;
    }
    expect(listed.sort()).toEqual(ids.sort());
  });

  it('have the fields in the order of the specification, and their rows byte for byte', async () => {
    const gateway = await start();
    const answer = await submit(gateway);
    expect(answer.statusCode).toBe(200);
    const { requestId } = answer.json<PageBody>();
    expect(requestId).toMatch(/^[0-9a-f]{8}-n[0-9a-f]{30}$/);
    const recorded = readRecording('1.5.1', 'cursor/submit').body;
    const schema = /"dataSchema":(\{.*?\})/.exec(recorded)![1];
    expect(answer.body).toMatch(
      `{"resultTable":{"dataSchema":${schema},"rows":[${CURSOR_ROWS.slice(0, 3).join(',')}]},"requestId":"${requestId}",` +
        `"brokerId":"gateway-0","numRowsResultSet":10,"offset":0,"numRows":3,"nextOffsetParams":"offset=3&numRows=3",` +
        `"nextUrl":"/query/${requestId}/results?offset=3&numRows=3","exceptions":[],` +
        `"brokerHost":"127.0.0.1","brokerPort":${gateway.port},"partialResult":false,`,
    );
    expect(CURSOR_ROWS[0]).toContain('9007199255140993');
    // The expiry of the engine's store is not the expiry of this result.
    expect(answer.json()).not.toHaveProperty('expirationTimeMs');
    expect(answer.json()).toMatchObject({ numDocsScanned: 30, totalDocs: 1_000_000, tablesQueried: ['orders'] });
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.body)));
    expect(brokerRequests()).toEqual([`POST /query/sql?getCursor=true&numRows=3 ${CURSOR_SQL}`]);
    expect(resultBroker().engine.seen[0]).toMatchObject({ body: JSON.stringify({ sql: printed(CURSOR_SQL) }) });
  });

  it('require the permissions for a table in the letter case of the engine, too', async () => {
    for (const broker of cluster.brokers)
      broker.garble = (body) => body.replace('"tablesQueried":["orders"]', '"tablesQueried":["ORDERS"]');
    const gateway = await start();
    const id = await submitted(gateway);
    expect((await page(gateway, id, 'offset=0&numRows=1')).statusCode).toBe(200);
    denied = new Set(['Query srn2:table#ORDERS']);
    expect((await page(gateway, id, 'offset=0&numRows=1')).statusCode).toBe(403);
  });

  it('store no rows at the gateway', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    expect((await stat(join(folder, 'data-0', `${id}.rows`))).size).toBe(0);
    expect(await readdir(join(folder, 'temp-0'))).toEqual([]);
  });

  it('are paged in any order and size, with one engine request per page', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    for (const [offset, numRows, expected] of [
      [3, 3, 3],
      [9, 3, 1],
      [0, 100, 10],
      [5, 1, 1],
      [0, 10, 10],
    ] as const) {
      const answer = await page(gateway, id, `offset=${offset}&numRows=${numRows}`);
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain(`"rows":[${CURSOR_ROWS.slice(offset, offset + expected).join(',')}]}`);
      expect(answer.json()).toMatchObject({ requestId: id, offset, numRows: expected, numRowsResultSet: 10 });
      const next = answer.json<{ nextOffsetParams?: string }>().nextOffsetParams;
      expect(next).toBe(offset + expected < 10 ? `offset=${offset + expected}&numRows=${expected}` : undefined);
      expect(resultBroker().asked.at(-1)).toMatch(new RegExp(`results\\?offset=${offset}&numRows=${expected}$`, 'u'));
    }
    const before = brokerRequests().length;
    for (const query of [
      'offset=10',
      'offset=100&numRows=3',
      'offset=-1',
      'offset=abc',
      'offset=0&numRows=0',
      'numRows=2',
    ])
      expect((await page(gateway, id, query)).statusCode).toBe(400);
    expect((await page(gateway, id, 'offset=10')).json()).toMatchObject({
      message: expect.stringContaining('10 rows'),
    });
    expect(brokerRequests()).toHaveLength(before);
  });

  it('take their page size from the settings', async () => {
    const gateway = await start();
    settings = { ...settings, pageSize: 4, maxPageSize: 6 };
    const first = await gateway.app.inject({
      method: 'POST',
      url: '/query/sql?getCursor=true',
      payload: { sql: CURSOR_SQL },
    });
    expect(first.json()).toMatchObject({ numRows: 4 });
    const { requestId } = first.json<PageBody>();
    expect((await page(gateway, requestId, 'offset=0')).json()).toMatchObject({ numRows: 4 });
    expect((await page(gateway, requestId, 'offset=0&numRows=9')).json()).toMatchObject({ numRows: 6 });
  });

  it('can be submitted by GET, for which the engine would create no cursor', async () => {
    const gateway = await start();
    const sql = encodeURIComponent(CURSOR_SQL);
    const answer = await gateway.app.inject(`/query/sql?sql=${sql}&doPaginate=true&numRows=2`);
    expect(answer.json()).toMatchObject({ numRows: 2, numRowsResultSet: 10 });
    expect(brokerRequests()).toEqual([`POST /query/sql?getCursor=true&numRows=2 ${CURSOR_SQL}`]);
    expect(resultBroker().engine.seen[0]!.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('have the metadata of the engine', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    const [item] = (await gateway.app.inject(`/query/${id}/metadata`)).json<Record<string, unknown>[]>();
    expect(Object.keys(item!)).toHaveLength(39);
    expect(item).toMatchObject({
      requestId: id,
      brokerId: 'gateway-0',
      numRowsResultSet: 10,
      numSegmentsPrunedByServer: 7,
    });
    expect(resultBroker().asked.at(-1)).toBe('GET /responseStore/643128405000000011');
  });

  it('are listed with location and size, and count against the quota', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    const { resultMetadataList } = (await gateway.app.inject('/query/resultStore')).json<{
      resultMetadataList: { bytes: number }[];
    }>();
    expect(resultMetadataList).toEqual([
      {
        requestId: id,
        brokerId: 'gateway-0',
        submissionTimeMs: START,
        expirationTimeMs: START + HOUR_MS,
        responseMetadata: [
          {
            type: 'resultTable',
            numRows: 10,
            dataFile: `${resultBroker().url}/responseStore/643128405000000011/results`,
            metadataFile: expect.stringMatching(`^file://.*/${id}\\.json$`),
          },
        ],
        owner: ALICE.srn,
        bytes: expect.any(Number),
      },
    ]);
    const { size } = await stat(join(folder, 'data-0', `${id}.json`));
    expect(resultMetadataList[0]!.bytes).toBe(size + 773);
    const usage = (await gateway.app.inject('/query/resultStore/usage')).json<object>();
    expect(usage).toMatchObject({ usedBytes: size + 773, capacityBytes: null });
  });

  it('are deleted in the engine, too', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    const { disk } = resultBroker();
    const answer = await remove(gateway, id);
    expect([answer.statusCode, answer.body]).toEqual([200, `Query Results for ${id} deleted.`]);
    expect(disk.size).toBe(0);
    expect((await remove(gateway, id)).statusCode).toBe(404);
    expect((await page(gateway, id, 'offset=0')).statusCode).toBe(404);
    expect((await gateway.app.inject(`/query/${id}/metadata`)).statusCode).toBe(404);
    expect((await gateway.app.inject('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });

  it('require ownership or the right to read all results, and Query on their tables, at each read and after a restart', async () => {
    const first = await start();
    const id = await submitted(first);
    await stopGateways(gateways);
    const gateway = await start();
    const reads = async () => [
      (await page(gateway, id, 'offset=3&numRows=2')).statusCode,
      (await gateway.app.inject(`/query/${id}/metadata`)).statusCode,
    ];
    expect(await reads()).toEqual([200, 200]);
    const before = brokerRequests().length;
    denied.add('Query srn2:table#orders');
    expect(await reads()).toEqual([403, 403]);
    denied = new Set(['GetResponseStore srn2:', 'DeleteResponseStore srn2:']);
    principal = BOB;
    expect(await reads()).toEqual([403, 403]);
    expect((await remove(gateway, id)).statusCode).toBe(403);
    expect(brokerRequests()).toHaveLength(before);
    denied.clear();
    expect(await reads()).toEqual([200, 200]);
    expect((await remove(gateway, id)).statusCode).toBe(200);
  });

  it('stay readable when new results are stored by the gateway', async () => {
    const id = await submitted(await start());
    await stopGateways(gateways);
    const gateway = await start(1, { native: false });
    expect((await page(gateway, id, 'offset=9')).json()).toMatchObject({ numRows: 1 });
    expect((await remove(gateway, id)).statusCode).toBe(200);
    expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
  });

  it.each(['memory', 'file'] as const)(
    'are found by id from any gateway, each with its own %s store',
    async (store) => {
      await start(3, { store });
      const [first, second, third] = gateways as [TestGateway, TestGateway, TestGateway];
      const answer = (await submit(first)).json<{ requestId: string; brokerHost: string; brokerPort: number }>();
      const byId = await page(second, answer.requestId, 'offset=3&numRows=3');
      expect(byId.json()).toMatchObject({ brokerId: 'gateway-0', brokerPort: first.port, numRows: 3 });
      const named = await second.app.inject({
        url: `/query/${answer.requestId}/results?offset=3&numRows=3`,
        headers: { FORWARD_HOST: answer.brokerHost, FORWARD_PORT: String(answer.brokerPort) },
      });
      expect(named.body).toBe(byId.body);
      expect((await remove(third, answer.requestId)).statusCode).toBe(200);
      expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
    },
  );

  it('expire by the earlier one of the two stores', async () => {
    const gateway = await start();
    const short = await submitted(gateway);
    for (const broker of cluster.brokers) broker.lifetimeMs = 60_000;
    const shorter = await submitted(gateway);
    now += 60_000;
    expect((await page(gateway, short, 'offset=0')).statusCode).toBe(200);
    expect((await page(gateway, shorter, 'offset=0')).statusCode).toBe(404);
    now += HOUR_MS;
    expect((await page(gateway, short, 'offset=0')).statusCode).toBe(404);
    // The cleaner deletes expired results.
    expect((await remove(gateway, short)).statusCode).toBe(200);
  });

  it('are 404 when the engine has lost them, and can still be deleted', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    resultBroker().disk.clear();
    const answer = await page(gateway, id, 'offset=0');
    expect(answer.statusCode).toBe(404);
    expect(answer.json<{ message: string }>().message).toMatch(/at the engine: expired or deleted/);
    expect((await gateway.app.inject(`/query/${id}/metadata`)).statusCode).toBe(404);
    expect((await remove(gateway, id)).statusCode).toBe(200);
  });

  it('are never those of another query with the same id from a restarted broker', async () => {
    cluster.tell([cluster.brokers[0]!]);
    const gateway = await start();
    const id = await submitted(gateway);
    const { disk } = resultBroker();
    const before = [...disk.keys()];
    resultBroker().restart();
    const unrelated = await submitted(gateway);
    expect([...disk.keys()]).toEqual(before);
    expect((await page(gateway, id, 'offset=0')).statusCode).toBe(404);
    expect((await gateway.app.inject(`/query/${id}/metadata`)).statusCode).toBe(404);
    expect((await remove(gateway, id)).statusCode).toBe(200);
    expect((await page(gateway, unrelated, 'offset=0')).statusCode).toBe(200);
  });

  it('are 503 while their broker is unavailable, and readable when it is back', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    const broker = resultBroker();
    broker.intercept = (_call, response) => {
      response.destroy();
      return true;
    };
    const answer = await page(gateway, id, 'offset=0');
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBeDefined();
    expect(answer.json<{ message: string }>().message).toMatch(
      `the broker ${broker.url} with the result is unreachable`,
    );
    expect((await remove(gateway, id)).statusCode).toBe(503);
    broker.intercept = () => false;
    expect((await page(gateway, id, 'offset=0')).statusCode).toBe(200);
  });

  it('are read from another broker with the same store while their own is unavailable', async () => {
    await cluster.close();
    cluster = await CursorCluster.start(2, { sharedDisk: true });
    const gateway = await start();
    const id = await submitted(gateway);
    const executingBroker = cluster.brokers.find((broker) => broker.asked.length > 0)!;
    executingBroker.intercept = (_call, response) => {
      response.destroy();
      return true;
    };
    expect((await page(gateway, id, 'offset=3&numRows=3')).json()).toMatchObject({ requestId: id, offset: 3 });
    expect((await remove(gateway, id)).statusCode).toBe(200);
    expect(cluster.brokers[0]!.disk.size).toBe(0);
  });

  it('are not requested from an address that is no longer a broker', async () => {
    const id = await submitted(await start());
    const removedBroker = resultBroker();
    cluster.tell([otherBroker()]);
    await stopGateways(gateways);
    const gateway = await start();
    const before = removedBroker.asked.length;
    const answer = await page(gateway, id, 'offset=0');
    expect(answer.statusCode).toBe(503);
    expect(answer.json<{ message: string }>().message).toMatch(/is not live/);
    expect(removedBroker.asked).toHaveLength(before);
    // After expiry the gateway deletes its own record without the broker.
    expect((await remove(gateway, id)).statusCode).toBe(503);
    now += HOUR_MS;
    expect((await remove(gateway, id)).statusCode).toBe(200);
  });

  it('are requested with the gateway’s credential, and its rejection is reported without it', async () => {
    for (const broker of cluster.brokers) broker.credential = 'Bearer own-secret';
    const gateway = await start(1, { credential: 'Bearer own-secret' });
    const id = await submitted(gateway);
    expect((await page(gateway, id, 'offset=3')).statusCode).toBe(200);
    resultBroker().credential = 'Bearer another';
    const answer = await page(gateway, id, 'offset=3');
    expect(answer.statusCode).toBe(502);
    expect(answer.body).toMatch(/rejects the gateway's credential.*`engine-credential-file`/);
    expect(answer.body).not.toContain('own-secret');
  });

  it('of a failed query are the response of the engine', async () => {
    const gateway = await start();
    const answer = await submit(gateway, 3, FAILING_SQL);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe(readRecording('1.5.1', 'cursor/fail').body);
    expect((await gateway.app.inject('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });

  it('without rows are stored by the gateway with their columns, which the engine does not store', async () => {
    const gateway = await start();
    const answer = await submit(gateway, 3, NO_ROWS_SQL);
    expect(answer.json()).toMatchObject({
      resultTable: { dataSchema: { columnNames: ['orderId'] }, rows: [] },
      numRowsResultSet: 0,
      numRows: 0,
    });
    expect(answer.json()).not.toHaveProperty('nextOffsetParams');
    expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
    expect((await page(gateway, answer.json<PageBody>().requestId, 'offset=0')).statusCode).toBe(200);
    const metrics = await gateway.registry.getSingleMetric('olap_warden_pagination_submissions_total')!.get();
    expect(metrics.values).toMatchObject([{ labels: { outcome: 'stored' }, value: 1 }]);
  });

  it('are rejected and deleted if the query read tables that were not authorized', async () => {
    for (const broker of cluster.brokers) broker.garble = (text) => text.replace('["orders"]', '["orders","secrets"]');
    const gateway = await start();
    const answer = await submit(gateway);
    expect(answer.statusCode).toBe(403);
    expect(answer.body).not.toContain('9007199255140993');
    expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
    expect((await gateway.app.inject('/query/resultStore')).json()).toEqual({ resultMetadataList: [] });
  });

  it('are not kept if they exceed the row limit of the caller', async () => {
    const rows = [...CURSOR_ROWS, '[1]', '[2]'];
    for (const broker of cluster.brokers) broker.rows = rows;
    rowsPerQuery = 11;
    const gateway = await start();
    const answer = await submit(gateway);
    expect(answer.statusCode).toBe(400);
    expect(answer.json<{ message: string }>().message).toMatch(/row limit of this caller, 11 per query/);
    expect(brokerRequests()).toContain('DELETE /responseStore/643128405000000011');
    expect(cluster.brokers.every(({ disk }) => disk.size === 0)).toBe(true);
  });

  it('spool large pages through the store, and leave nothing there', async () => {
    const rows = Array.from({ length: 6000 }, (_, i) => `[${9007199254740993n + BigInt(i)},"${'ü'.repeat(500)}"]`);
    for (const broker of cluster.brokers) broker.rows = rows;
    const gateway = await start();
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' };
    const { requestId } = (await submit(gateway, 1)).json<PageBody>();
    for (const [path, init] of [
      ['sql?doPaginate=true&numRows=6000', { method: 'POST', body: JSON.stringify({ sql: CURSOR_SQL }) }],
      [`${requestId}/results?offset=0&numRows=6000`, {}],
    ] as const) {
      const plain = { ...headers, 'accept-encoding': 'identity' };
      const answer = await fetch(`${gateway.url}/query/${path}`, { ...init, headers: plain });
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text.includes(`"rows":[${rows.join(',')}]}`)).toBe(true);
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    }
    await expect.poll(() => readdir(join(folder, 'temp-0'))).toEqual([]);
    expect((await readdir(join(folder, 'data-0'))).filter((name) => name.endsWith('.rows'))).toHaveLength(2);
  });

  it('are downloaded page by page, and leave nothing in the store', async () => {
    const rows = Array.from(
      { length: 130_000 },
      (_, i) => `[${9007199254740993n + BigInt(i)},"ü,${i}",1760200000000,["t0"],0.5]`,
    );
    for (const broker of cluster.brokers) broker.rows = rows;
    const gateway = await start();
    const id = await submitted(gateway);
    const get = async (query: string) => {
      const url = `${gateway.url}/query/${id}/results?${query}`;
      const answer = await fetch(url, { headers: { authorization: 'Bearer any', 'accept-encoding': 'identity' } });
      return { statusCode: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const lines = await get('format=jsonl');
    expect(lines.statusCode).toBe(200);
    expect(lines.bytes.toString() === `${rows.join('\n')}\n`).toBe(true);
    expect(lines.headers.get('x-olap-warden-rows')).toBe('130000');
    expect(lines.headers.get('accept-ranges')).toBe('none');
    expect(brokerRequests().filter((call) => call.includes('/results?'))).toHaveLength(2);
    const csv = await get('format=csv&offset=99999&numRows=2');
    expect(csv.bytes.toString().split('\r\n').slice(1)).toEqual([
      '9007199254840992,"ü,99999",1760200000000,"[""t0""]",0.5',
      '9007199254840993,"ü,100000",1760200000000,"[""t0""]",0.5',
      '',
    ]);
    const table = tableFromIPC((await get('format=arrow')).bytes);
    expect(table.numRows).toBe(130_000);
    expect(table.getChildAt(0)?.get(129_999)).toBe(9007199254870992n);
    await expect.poll(() => readdir(join(folder, 'temp-0'))).toEqual([]);
    await expect.poll(() => gateway.service.data.queries.isBeingRead(id)).toBe(false);
  });

  it('end a download early, so that clients notice, if a later page fails', async () => {
    const rows = Array.from({ length: 130_000 }, (_, i) => `[${i},"x"]`);
    for (const broker of cluster.brokers) broker.rows = rows;
    const gateway = await start();
    const id = await submitted(gateway);
    resultBroker().garble = (text) =>
      text.includes('"offset":100000') ? text.replace('"exceptions":[]', '"exceptions":[{"message":"disk"}]') : text;
    const answer = await fetch(`${gateway.url}/query/${id}/results?format=csv`, {
      headers: { authorization: 'Bearer any' },
    });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    resultBroker().garble = (text) => text.replace('"exceptions":[]', '"exceptions":[{"message":"disk"}]');
    const refused = await gateway.app.inject(`/query/${id}/results?format=csv`);
    expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
      502,
      expect.stringContaining('disk'),
    ]);
    await expect.poll(() => readdir(join(folder, 'temp-0'))).toEqual([]);
    await expect.poll(() => gateway.service.data.queries.isBeingRead(id)).toBe(false);
  });

  it.each([
    ['not JSON', (text: string) => text.replace('"numRowsResultSet"', 'numRowsResultSet'), 502, /not valid JSON/],
    ['incomplete', (text: string) => text.slice(0, 300), 502, /ended unexpectedly/],
    [
      'different in rows and metadata',
      (text: string) => text.replace(/"numRows":\d+/u, '"numRows":7'),
      502,
      /received 3 rows/,
    ],
    ['another page', (text: string) => text.replace(/"offset":\d+/u, '"offset":1'), 502, /from offset 1/],
    [
      'an exception',
      (text: string) => text.replace('"exceptions":[]', '"exceptions":[{"message":"disk"}]'),
      502,
      /disk/,
    ],
    ['no cursor', (text: string) => text.replace(/"offset":\d+,/u, ''), 501, /before 1\.3/],
  ])('are not sent if a page is %s', async (_what, garble, status, message) => {
    const gateway = await start();
    const id = await submitted(gateway);
    resultBroker().garble = garble;
    const answer = await page(gateway, id, 'offset=3&numRows=3');
    expect(answer.statusCode).toBe(status);
    expect(answer.json<{ message: string }>().message).toMatch(message);
    expect(await readdir(join(folder, 'temp-0'))).toEqual([]);
  });

  it('require a broker with cursors; otherwise the error has advice and nothing is left', async () => {
    const gateway = await start();
    const kept = await submitted(gateway);
    for (const broker of cluster.brokers)
      broker.garble = (text) => text.replace(/,"offset":.*?,"brokerHost"/u, ',"brokerHost"');
    const answer = await submit(gateway);
    expect(answer.statusCode).toBe(501);
    expect(answer.json<{ message: string }>().message).toMatch(
      /before 1\.3.*upgrade.*`olap\.broker\.pagination\.native` to `false`.*Nothing was stored/,
    );
    const listing = (await gateway.app.inject('/query/resultStore')).json<{ resultMetadataList: object[] }>();
    expect(listing.resultMetadataList).toMatchObject([{ requestId: kept }]);
    expect(await readdir(join(folder, 'temp-0'))).toEqual([]);
  });

  it('free the engine when their caller disconnects', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    const client = new AbortController();
    const closed = Promise.withResolvers<void>();
    resultBroker().intercept = (call, response) => {
      if (!call.includes('/results')) return false;
      response.on('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"resultTable":{"dataSchema":{"columnNames":[],"columnDataTypes":[]},"rows":[[1],');
      client.abort();
      return true;
    };
    const call = fetch(`${gateway.url}/query/${id}/results?offset=0`, {
      headers: { authorization: 'Bearer x' },
      signal: client.signal,
    });
    await expect(call).rejects.toThrow();
    await closed.promise;
    await expect.poll(() => gateway.service.data.queries.isBeingRead(id)).toBe(false);
    resultBroker().intercept = () => false;
    expect((await page(gateway, id, 'offset=0')).statusCode).toBe(200);
  });

  it('leave nothing when the client aborts before the response, or during a large page', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `[${i},"${'x'.repeat(1000)}"]`);
    for (const broker of cluster.brokers) broker.rows = rows;
    const gateway = await start();
    const id = await submitted(gateway);
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' };
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const controller = new AbortController();
        const url = `${gateway.url}/query/${id}/results?offset=0&numRows=20000`;
        const answer = await fetch(url, { headers, signal: controller.signal });
        await answer.body!.getReader().read();
        controller.abort();
      }),
    );
    await expect.poll(() => readdir(join(folder, 'temp-0'))).toEqual([]);
    await expect.poll(() => gateway.service.data.queries.isBeingRead(id)).toBe(false);

    const client = new AbortController();
    const closed = Promise.withResolvers<void>();
    for (const broker of cluster.brokers) {
      broker.intercept = (_call, response) => {
        response.on('close', () => closed.resolve());
        client.abort();
        return true;
      };
    }
    const body = JSON.stringify({ sql: CURSOR_SQL });
    const request = { method: 'POST', body, headers, signal: client.signal };
    await expect(fetch(`${gateway.url}/query/sql?doPaginate=true`, request)).rejects.toThrow();
    await closed.promise;
    for (const broker of cluster.brokers) broker.intercept = () => false;
    const { resultMetadataList } = (await gateway.app.inject('/query/resultStore')).json<{
      resultMetadataList: object[];
    }>();
    expect(resultMetadataList).toHaveLength(1);
    expect((await page(gateway, id, 'offset=19999')).json()).toMatchObject({ numRows: 1 });
  });

  it('are deleted for the quota by their size at the engine, also after a failed deletion', async () => {
    const rows = Array.from({ length: 1200 }, (_, i) => `[${i},"${'x'.repeat(1000)}"]`);
    for (const broker of cluster.brokers) broker.rows = rows;
    const gateway = await start();
    const ids = [await submitted(gateway), await submitted(gateway), await submitted(gateway)];
    const [first, second] = cluster.brokers as [(typeof cluster.brokers)[0], (typeof cluster.brokers)[0]];
    // Two results are on one broker, one on the other.
    expect(first.disk.size + second.disk.size).toBe(3);
    const unavailableBroker = first.disk.size === 1 ? first : second;
    unavailableBroker.intercept = (_call, response) => {
      response.destroy();
      return true;
    };
    settings = {
      ...settings,
      storageCleaner: { enabled: true, maxStorageMb: 2, criticalPercent: 90, targetPercent: 0 },
    };
    // Each run schedules the next one.
    for (const run of retention.splice(0)) run();
    const remaining = async () =>
      (await gateway.app.inject('/query/resultStore')).json<{ resultMetadataList: { requestId: string }[] }>()
        .resultMetadataList;
    await expect.poll(remaining).toHaveLength(1);
    expect(first.disk.size + second.disk.size).toBe(1);
    expect(ids).toContain((await remaining())[0]!.requestId);
  });

  it('count engine calls in the store metrics', async () => {
    const gateway = await start();
    const id = await submitted(gateway);
    await page(gateway, id, 'offset=3');
    await remove(gateway, id);
    const text = await gateway.registry.metrics();
    for (const operation of ['cursor_page', 'cursor_metadata', 'cursor_delete'])
      expect(text).toMatch(`store_duration_seconds_count{operation="${operation}"} 1`);
    expect(text).toMatch('pagination_pages_total 2');
    expect(text).toMatch('deletions_total{reason="request"} 1');
  });
});
