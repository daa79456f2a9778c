// @module-tag slow
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processSessionKeys } from '../../../../src/api/server/authentication/session-keys.ts';
import { Sessions } from '../../../../src/api/server/authentication/sessions.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import { TEST_HEADERS, TEST_TOKEN } from '../../../support/app.ts';
import { fileProperties, memoryProperties } from '../../../support/result-stores.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

describe('a damaged result in a local store', () => {
  it('is 410 with the reason, is listed as damaged, and can be deleted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-damaged-'));
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)));
    const options = { engine: engineOf(endpoint), store: () => fileProperties(folder) };
    let gateways = await startGateways(1, options);
    try {
      let { url } = gateways[0]!;
      const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
      const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
      const submitted = await fetch(`${url}/query/sql?doPaginate=true`, { method: 'POST', headers, body });
      const { requestId } = (await submitted.json()) as { requestId: string };
      const path = join(folder, 'data', `${requestId}.rows`);
      const rows = await readFile(path);
      rows[5]! ^= 1;
      await writeFile(path, rows);
      // A new process, which has read nothing of it.
      await stopGateways(gateways);
      gateways = await startGateways(1, options);
      ({ url } = gateways[0]!);
      const page = await fetch(`${url}/query/${requestId}/results?offset=9`, { headers: TEST_HEADERS });
      expect([page.status, await page.json()]).toMatchObject([
        410,
        { message: expect.stringContaining('the stored result is damaged: its rows do not match their checksum') },
      ]);
      const listing = await fetch(`${url}/query/resultStore`, { headers: TEST_HEADERS });
      expect(await listing.json()).toMatchObject({
        resultMetadataList: [{ requestId, damaged: expect.stringContaining('do not match their checksum') }],
      });
      await writeFile(join(folder, 'data', `${requestId}.json`), '{');
      const deletion = await fetch(`${url}/query/resultStore/${requestId}`, {
        method: 'DELETE',
        headers: TEST_HEADERS,
      });
      expect(deletion.status).toBe(200);
      expect(await readdir(join(folder, 'data'))).toEqual([]);
    } finally {
      await stopGateways(gateways);
      await rm(folder, { recursive: true });
    }
  });

  it('is one whose rows an earlier build left in Pinot', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-damaged-'));
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)));
    const options = { engine: engineOf(endpoint), store: () => fileProperties(folder) };
    let gateways = await startGateways(1, options);
    try {
      const payload = { sql: 'SELECT * FROM orders' };
      const submitted = await gateways[0]!.app.inject({ method: 'POST', url: '/query/sql?doPaginate=true', payload });
      const { requestId } = submitted.json<{ requestId: string }>();
      await stopGateways(gateways);
      // The id and the record that such a build wrote, which is all that is here of the result.
      const id = requestId.replace('-', '-n');
      const path = join(folder, 'data', `${requestId}.json`);
      const record = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
      const { checksum: _, checksums: __, ...kept } = record;
      const cursor = { url: 'http://broker:8099', requestId: '7', submissionTimeMs: 5, bytes: 10 };
      const left = { ...kept, requestId: id, rowBytes: 0, checkpoints: 0, cursor };
      await rm(join(folder, 'data'), { recursive: true });
      await mkdir(join(folder, 'data'));
      await writeFile(join(folder, 'data', `${id}.json`), JSON.stringify(left));
      await writeFile(join(folder, 'data', `${id}.rows`), '');
      gateways = await startGateways(1, options);
      const { app } = gateways[0]!;
      const why = /rows were left in Pinot.*`olap\.broker\.pagination\.native`.*Run the query again/;
      for (const read of [`/query/${id}/results?offset=0`, `/responseStore/${id}/results`, `/query/${id}/metadata`]) {
        const answer = await app.inject(read);
        expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
          410,
          expect.stringMatching(why) as string,
        ]);
      }
      const listing = (await app.inject('/query/resultStore')).json<object>();
      expect(listing).toMatchObject({ resultMetadataList: [{ requestId: id, damaged: expect.stringMatching(why) }] });
      expect((await app.inject({ method: 'DELETE', url: `/query/resultStore/${id}` })).statusCode).toBe(200);
      expect(await readdir(join(folder, 'data'))).toEqual([]);
    } finally {
      await stopGateways(gateways);
      await rm(folder, { recursive: true });
    }
  });

  it.each(['offset=0&numRows=200000', 'format=jsonl', 'format=csv'])(
    'is listed as damaged also where %s ends early',
    async (query) => {
      const folder = await mkdtemp(join(tmpdir(), 'olap-warden-damaged-'));
      const endpoint = new StubEndpoint();
      endpoint.answer = () => responseOf(answerText(rowTexts(200_000)));
      const settings = () => ({ ...DEFAULT_PAGINATION_SETTINGS, maxPageSize: 200_000 });
      const gateways = await startGateways(1, {
        engine: engineOf(endpoint),
        store: () => fileProperties(folder),
        settings,
      });
      try {
        const { url } = gateways[0]!;
        const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
        const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
        const submission = await fetch(`${url}/query/sql?doPaginate=true&numRows=1`, { method: 'POST', headers, body });
        const { requestId } = (await submission.json()) as { requestId: string };
        const path = join(folder, 'data', `${requestId}.rows`);
        const rows = await readFile(path);
        rows[4_000_000]! ^= 1;
        await writeFile(path, rows);
        const answer = await fetch(`${url}/query/${requestId}/results?${query}`, { headers: TEST_HEADERS });
        expect(answer.status).toBe(200);
        await expect(answer.arrayBuffer()).rejects.toThrow();
        const listing = await fetch(`${url}/query/resultStore`, { headers: TEST_HEADERS });
        expect(await listing.json()).toMatchObject({
          resultMetadataList: [{ requestId, damaged: expect.stringContaining('do not match their checksum') }],
        });
      } finally {
        await stopGateways(gateways);
        await rm(folder, { recursive: true });
      }
    },
  );
});

describe('three gateways with stores of their own', () => {
  let gateways: TestGateway[];
  let [first, second, third]: TestGateway[] = [];
  const sessions = new Sessions({ keys: processSessionKeys(), maxAgeMs: 60_000, clock: systemClock });

  beforeAll(async () => {
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)));
    gateways = await startGateways(3, {
      engine: engineOf(endpoint),
      store: memoryProperties,
      parts: { sessions, trustProxy: ['127.0.0.1'] },
    });
    [first, second, third] = gateways;
  });
  afterAll(() => stopGateways(gateways));

  const call = async (gateway: TestGateway | undefined, path: string, init: RequestInit = {}) => {
    const headers = { ...TEST_HEADERS, ...(init.headers as Record<string, string> | undefined) };
    const answer = await fetch(`${gateway!.url}${path}`, { ...init, headers });
    return { status: answer.status, text: await answer.text() };
  };

  async function submit(): Promise<{ requestId: string; brokerId: string; brokerHost: string; brokerPort: number }> {
    const { text } = await call(first, '/query/sql?doPaginate=true&numRows=3', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
    });
    return JSON.parse(text) as never;
  }

  it('submits on one, pages on another, deletes on a third', async () => {
    const { requestId, brokerId, brokerHost, brokerPort } = await submit();
    expect(brokerId).toBe('gateway-0');
    const forward = { FORWARD_HOST: brokerHost, FORWARD_PORT: String(brokerPort) };
    const named = await call(second, `/query/${requestId}/results?offset=3&numRows=4`, { headers: forward });
    expect(named.status).toBe(200);
    expect(named.text).toContain(`"rows":[${rowTexts(10).slice(3, 7).join(',')}]}`);
    expect(JSON.parse(named.text)).toMatchObject({ brokerId: 'gateway-0', brokerPort: first!.port });
    const byId = await call(second, `/query/${requestId}/results?offset=3&numRows=4`);
    expect(byId).toEqual(named);
    expect((await call(third, `/query/${requestId}/metadata`)).status).toBe(200);
    const deleted = await call(third, `/query/resultStore/${requestId}`, { method: 'DELETE' });
    expect(deleted).toEqual({ status: 200, text: `Query Results for ${requestId} deleted.` });
    for (const gateway of gateways) {
      expect((await call(gateway, `/query/${requestId}/results?offset=0`)).status).toBe(404);
    }
  });

  it.each([
    ['http', 'olap-warden-session'],
    ['https', '__Host-olap-warden-session'],
  ])('forwards a session of the dashboard that came over %s', async (protocol, name) => {
    const { requestId } = await submit();
    const answer = await fetch(`${second!.url}/query/${requestId}/results?offset=3&numRows=4`, {
      headers: {
        cookie: `other=1; ${name}=${await sessions.seal(TEST_TOKEN)}`,
        'x-olap-warden-ui': '1',
        'x-forwarded-proto': protocol,
      },
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { brokerId: 'gateway-0' }]);
  });

  it('forwards the caller’s credential to the gateway with the result, and its error back', async () => {
    const { requestId } = await submit();
    const beyondEnd = await call(second, `/query/${requestId}/results?offset=10`);
    expect(beyondEnd.status).toBe(400);
    expect(beyondEnd.text).toContain('10 rows');
    const unauthenticated = await call(second, `/query/${requestId}/results?offset=0`, {
      headers: { authorization: 'Bearer wrong' },
    });
    expect(unauthenticated.status).toBe(401);
  });

  it('forwards only to addresses of this deployment', async () => {
    const { requestId } = await submit();
    const headers = { FORWARD_HOST: 'metadata.internal', FORWARD_PORT: '80' };
    const answer = await call(second, '/query/12345/results?offset=0', { headers });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('not a gateway of this deployment');
    // The address may be that of the gateway before it restarted, so the id decides.
    const byId = await call(second, `/query/${requestId}/results?offset=0`, { headers });
    expect([byId.status, JSON.parse(byId.text)]).toMatchObject([200, { brokerId: 'gateway-0' }]);
  });

  it('forwards a request only once', async () => {
    const { requestId } = await submit();
    const headers = { 'x-olap-warden-forwarded': '1' };
    expect((await call(second, `/query/${requestId}/results?offset=0`, { headers })).status).toBe(404);
    expect((await call(first, `/query/${requestId}/results?offset=0`, { headers })).status).toBe(200);
  });

  it('returns its brokerId without a credential', async () => {
    const answer = await fetch(`${second!.url}/query/gateway`);
    expect(await answer.json()).toEqual({ brokerId: 'gateway-1' });
  });

  it('returns 503 with Retry-After when the gateway of the id is not among the gateways', async () => {
    const requestId = newRequestId('gateway-7', (bytes) => Buffer.alloc(bytes, 'absent'));
    const answers = [`/query/${requestId}/results?offset=0`, `/query/${requestId}/metadata`].map((path) =>
      fetch(`${second!.url}${path}`, { headers: TEST_HEADERS }),
    );
    const deletion = fetch(`${second!.url}/query/resultStore/${requestId}`, {
      method: 'DELETE',
      headers: TEST_HEADERS,
    });
    for (const answer of await Promise.all([...answers, deletion])) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.text()).toContain('is not running; try again later');
    }
  });

  it('returns 503 when the gateway with the result has ended', async () => {
    const { requestId } = await submit();
    await call(second, `/query/${requestId}/metadata`);
    await first!.app.close();
    const answer = await call(second, `/query/${requestId}/results?offset=0`);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('does not respond');
  });
});

describe('a single gateway', () => {
  it('refuses an incomplete address, and a foreign one where the id names no gateway', async () => {
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(rowTexts(10)));
    const gateways = await startGateways(1, { engine: engineOf(endpoint), store: memoryProperties, isSingle: true });
    try {
      const [{ url }] = gateways as [TestGateway];
      const submission = await fetch(`${url}/query/sql?doPaginate=true`, {
        method: 'POST',
        headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
        body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
      });
      const page = (await submission.json()) as { requestId: string; brokerHost: string; brokerPort: number };
      const status = async (path: string, headers: Record<string, string>): Promise<number> =>
        (await fetch(url + path, { headers: { ...TEST_HEADERS, ...headers } })).status;
      const own = { FORWARD_HOST: page.brokerHost, FORWARD_PORT: String(page.brokerPort) };
      const foreign = { FORWARD_HOST: 'metadata.internal', FORWARD_PORT: '80' };
      const incomplete = { FORWARD_HOST: page.brokerHost };
      for (const [prefix, rest] of [
        ['/query/', '/results?offset=0'],
        ['/query/', '/metadata'],
        ['/query/', ''],
        ['/responseStore/', ''],
      ] as const) {
        const stored = `${prefix}${page.requestId}${rest}`;
        // The address may be that of this gateway before it restarted.
        expect([await status(stored, own), await status(stored, foreign)]).toEqual([200, 200]);
        const other = `${prefix}12345${rest}`;
        expect([await status(other, own), await status(other, foreign)]).toEqual([404, 400]);
        expect([await status(stored, incomplete), await status(other, incomplete)]).toEqual([400, 400]);
      }
    } finally {
      await stopGateways(gateways);
    }
  });
});
