import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInS3Properties, gcsProperties, s3Properties } from '../../support/result-stores.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { TEST_HEADERS } from '../../support/app.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../unit/results/answers.ts';

let s3: S3Server;
let gcs: GcsServer;
beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
});

const STORES: readonly [string, () => Promise<PropertyValues>][] = [
  ['s3', async () => s3Properties(await s3.bucket('shared'))],
  ['gcs', async () => gcsProperties(await gcs.bucket('shared'))],
  ['file in a bucket of S3', async () => fileInS3Properties(await s3.bucket('shared-files'), 'pages')],
];

describe.each(STORES)('three gateways with one store: %s', (_name, properties) => {
  let gateways: TestGateway[];

  beforeAll(async () => {
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)));
    const store = await properties();
    gateways = await startGateways(3, { engine: engineOf(endpoint), store: () => store });
  });
  afterAll(() => stopGateways(gateways ?? []));

  async function call(at: number, path: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
    const headers = { ...TEST_HEADERS, ...(init.headers as Record<string, string> | undefined) };
    const answer = await fetch(`${gateways[at]?.url ?? ''}${path}`, { ...init, headers });
    return { status: answer.status, text: await answer.text() };
  }

  it('serve a result on any gateway until it is deleted', async () => {
    const submitted = await call(0, '/query/sql?doPaginate=true&numRows=3', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
    });
    const first = JSON.parse(submitted.text) as Record<string, unknown>;
    const requestId = first['requestId'] as string;
    expect(first).toMatchObject({ brokerId: 'gateway-0', nextOffsetParams: 'offset=3&numRows=3' });
    expect(first).not.toHaveProperty('brokerHost');

    const pages = await Promise.all([0, 1, 2].map((at) => call(at, `/query/${requestId}/results?offset=3&numRows=4`)));
    expect(pages[1]?.text).toContain(`"rows":[${rowTexts(10).slice(3, 7).join(',')}]}`);
    expect(pages).toEqual([pages[1], pages[1], pages[1]]);
    for (const at of [0, 1, 2]) expect((await call(at, '/query/resultStore')).text).toContain(requestId);

    const deleted = await call(2, `/query/resultStore/${requestId}`, { method: 'DELETE' });
    expect(deleted).toEqual({ status: 200, text: `Query Results for ${requestId} deleted.` });
    for (const at of [0, 1, 2]) {
      expect((await call(at, `/query/${requestId}/results?offset=3&numRows=4`)).status).toBe(404);
      expect((await call(at, `/query/${requestId}/metadata`)).status).toBe(404);
      expect((await call(at, '/query/resultStore')).text).not.toContain(requestId);
      expect((await call(at, `/query/resultStore/${requestId}`, { method: 'DELETE' })).status).toBe(404);
    }
  });

  it('refuse the address of a foreign gateway, where the id is not one of theirs', async () => {
    const named = (host: string, port: number | undefined) =>
      call(0, '/query/12345/results?offset=0', { headers: { FORWARD_HOST: host, FORWARD_PORT: String(port) } });
    expect(await named('metadata.internal', 80)).toMatchObject({
      status: 400,
      text: expect.stringContaining('not a gateway of this deployment') as string,
    });
    for (const gateway of gateways) expect((await named('127.0.0.1', gateway.port)).status).toBe(404);
  });
});
