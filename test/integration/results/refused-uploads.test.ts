import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { type Refusal, RefusingProxy } from '../../support/refusing-proxy.ts';

// A bucket that refuses to begin an upload, as GCS does for a short time when it has too much load. The SDK of Google throws errors whose fields
// cannot be copied.

const ANSWER =
  '{"resultTable":{"dataSchema":{"columnNames":["id"],"columnDataTypes":["INT"]},"rows":[[1],[2],[3]]},"exceptions":[],"tablesQueried":["orders"]}';

let gcs: GcsServer;
let proxy: RefusingProxy;
let engine: FakeEngine;
let gateway: GatewayProcess;

beforeAll(async () => {
  gcs = await startGcs();
  const { bucket, prefix } = await gcs.bucket('refused');
  proxy = await RefusingProxy.start(gcs.url, ({ url = '' }) => url.includes('uploadType=resumable'));
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE'], ANSWER);
  const properties = [
    'olap.broker.pagination.protocol=gcs',
    `olap.broker.pagination.gcs.bucket=${bucket}`,
    `olap.broker.pagination.gcs.prefix=${prefix}`,
    `olap.broker.pagination.gcs.endpoint=${proxy.url}`,
  ];
  gateway = await GatewayProcess.start({ controllers: engine.url, properties });
});
afterEach(() => {
  proxy.refusals.length = 0;
});
afterAll(async () => {
  await gateway?.stop();
  await proxy?.close();
  await engine?.close();
  await gcs?.stop();
});

const refusal = (status: number, reason: string): Refusal => ({
  status,
  body: JSON.stringify({ error: { code: status, message: `refused: ${reason}`, errors: [{ reason }] } }),
});
const submit = (): Promise<Response> =>
  gateway.call('POST', '/query/sql?doPaginate=true&numRows=2', { sql: 'SELECT id FROM orders' });

describe('a query whose result cannot be stored at first', () => {
  it.each([
    ['503', refusal(503, 'backendError')],
    ['500', refusal(500, 'internalError')],
    ['403 for too many requests', refusal(403, 'rateLimitExceeded')],
    ['429', refusal(429, 'rateLimitExceeded')],
    ['503 without JSON', { status: 503, body: '<html>' }],
  ])('succeeds after one response with status %s', async (_what, first) => {
    proxy.refusals.push(first);
    const answer = await submit();
    expect(answer.status, await answer.clone().text()).toBe(200);
    expect(await answer.json()).toMatchObject({ resultTable: { rows: [[1], [2]] } });
    expect(proxy.refusals).toEqual([]);
  });

  it.each([
    ['503', refusal(503, 'backendError')],
    ['403 for a missing permission', refusal(403, 'forbidden')],
  ])('fails with 503 after only responses with status %s, and the gateway goes on', async (_what, each) => {
    for (let attempt = 0; attempt < 10; attempt++) proxy.refusals.push(each);
    const answer = await submit();
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('GCS result store failed');
    for (const text of ['"type":"GaxiosError"', `"status":${each.status},"stack"`])
      await gateway.program.printed(text, WAIT_LIMIT_MS);
    expect(proxy.refusals).toHaveLength(each.status === 503 ? 6 : 9);
    proxy.refusals.length = 0;
    expect((await submit()).status).toBe(200);
  });
});
