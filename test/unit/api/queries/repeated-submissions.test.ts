// @module-tag slow
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../../src/access/principal.ts';
import type { EngineRequest, EngineResponse } from '../../../../src/pinot/types.ts';
import { ALICE, authorizerBy, TEST_HEADERS } from '../../../support/app.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { until } from '../../../support/until.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

// Clients that lose a response send their request again with the same `Idempotency-Key`.

const BOB: Principal = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };
const SQL = 'SELECT * FROM orders LIMIT 100';

interface Body {
  readonly requestId: string;
  readonly [field: string]: unknown;
}

describe('a repeated submission', () => {
  let endpoint: StubEndpoint;
  let gateways: TestGateway[];
  let principal: Principal;
  let isDenied: boolean;
  let answer: (request: EngineRequest) => EngineResponse | Promise<EngineResponse>;

  beforeEach(async () => {
    principal = ALICE;
    isDenied = false;
    answer = () => responseOf(answerText(rowTexts(30)));
    endpoint = new StubEndpoint();
    endpoint.answer = (request) => answer(request);
    gateways = await startGateways(1, {
      engine: engineOf(endpoint),
      store: () => memoryProperties(),
      principal: () => principal,
      authorizer: authorizerBy(() => !isDenied),
      isSingle: true,
    });
  });
  afterEach(() => stopGateways(gateways));

  const post = (
    key: string | undefined,
    { sql = SQL, query = 'doPaginate=true', ...init }: { sql?: string; query?: string } & RequestInit = {},
  ): Promise<Response> =>
    fetch(`${gateways[0]!.url}/query/sql?${query}`, {
      method: 'POST',
      headers: {
        ...TEST_HEADERS,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: JSON.stringify({ sql }),
      ...init,
    });
  const bodyOf = async (response: Response): Promise<Body> => (await response.json()) as Body;
  const remove = (id: string): Promise<Response> =>
    fetch(`${gateways[0]!.url}/query/resultStore/${id}`, { method: 'DELETE', headers: TEST_HEADERS });
  const asked = (): number => endpoint.requests.length;

  it('gets the same result, and the engine is asked once', async () => {
    const first = await post('a key');
    const page = await first.text();
    const again = await post('a key');
    expect([first.status, again.status, await again.text()]).toEqual([200, 200, page]);
    // The first page may have another size.
    const small = await bodyOf(await post('a key', { query: 'doPaginate=true&numRows=2' }));
    expect(small).toMatchObject({ requestId: (JSON.parse(page) as Body).requestId, numRows: 2 });
    expect(asked()).toBe(1);
    // Without a key, and with another one, it is another query.
    const others = [await bodyOf(await post(undefined)), await bodyOf(await post('a  key'))];
    expect(new Set([small, ...others].map(({ requestId }) => requestId)).size).toBe(3);
    expect(asked()).toBe(3);
  });

  it('of another query is 422, and asks nothing', async () => {
    await post('key');
    for (const other of [
      { sql: `${SQL} OFFSET 1` },
      { query: 'doPaginate=true&async=true' },
      { body: JSON.stringify({ sql: SQL, queryOptions: 'timeoutMs=1000' }) },
    ]) {
      const refused = await post('key', other);
      expect([refused.status, (await bodyOf(refused))['message']]).toEqual([
        422,
        expect.stringContaining('this `Idempotency-Key` belongs to another query'),
      ]);
    }
    expect(asked()).toBe(1);
  });

  it('of another caller is a query of its own, which tells nothing of the first one', async () => {
    const ofAlice = await bodyOf(await post('key'));
    principal = BOB;
    const ofBob = await post('key', { sql: 'SELECT * FROM orders LIMIT 5' });
    expect(ofBob.status).toBe(200);
    expect((await bodyOf(ofBob)).requestId).not.toBe(ofAlice.requestId);
    principal = ALICE;
    isDenied = true;
    expect((await post('key')).status).toBe(403);
  });

  it('while the first one runs is 409, which says when to ask again', async () => {
    const held = Promise.withResolvers<EngineResponse>();
    answer = () => held.promise;
    const first = post('key');
    await until('a query at the engine', () => asked() === 1);
    const early = await post('key');
    expect([early.status, early.headers.get('retry-after')]).toEqual([409, expect.stringMatching(/^\d+$/)]);
    expect((await bodyOf(early))['message']).toContain('send the request again later, with the same key');
    expect((await post('key', { sql: 'SELECT 1 FROM orders' })).status).toBe(422);
    held.resolve(responseOf(answerText(rowTexts(3))));
    const { requestId } = await bodyOf(await first);
    expect((await bodyOf(await post('key'))).requestId).toBe(requestId);
    expect(asked()).toBe(1);
  });

  it('runs again where the first one failed, or its client left before it was stored', async () => {
    answer = () => responseOf(answerText([], { exceptions: '[{"errorCode":150,"message":"no"}]' }));
    expect(await bodyOf(await post('key'))).toMatchObject({ exceptions: [{ errorCode: 150 }] });
    answer = () => responseOf('{', {});
    expect((await post('key')).status).toBe(502);
    // The key of a query that has no result is free, also for another one.
    const leaving = new AbortController();
    const before = asked();
    answer = ({ signal }) =>
      new Promise((_, fail) => signal?.addEventListener('abort', () => fail(new Error('closed'))));
    const left = post('key', { sql: 'SELECT 2 FROM orders', signal: leaving.signal }).catch(() => 'left');
    await until('a query at the engine', () => asked() > before);
    leaving.abort();
    expect(await left).toBe('left');
    answer = () => responseOf(answerText(rowTexts(3)));
    await until('a free key', async () => (await post('key')).status === 200);
    expect(asked()).toBe(before + 2);
  });

  it('runs again after the result was deleted', async () => {
    const { requestId } = await bodyOf(await post('key'));
    expect((await remove(requestId)).status).toBe(200);
    const again = await bodyOf(await post('key'));
    expect(again.requestId).not.toBe(requestId);
    expect(asked()).toBe(2);
  });

  it('of an asynchronous query gets its state', async () => {
    const held = Promise.withResolvers<EngineResponse>();
    answer = () => held.promise;
    const query = 'doPaginate=true&async=true';
    const first = await post('key', { query });
    const { requestId } = await bodyOf(first);
    const running = await post('key', { query });
    expect([first.status, running.status, running.headers.get('location'), running.headers.get('retry-after')]).toEqual(
      [202, 202, `/query/${requestId}`, '1'],
    );
    expect(await bodyOf(running)).toMatchObject({ requestId, state: 'running' });
    held.resolve(responseOf(answerText(rowTexts(3))));
    await until('its end', async () => (await bodyOf(await post('key', { query })))['state'] === 'done');
    const done = await post('key', { query });
    expect([done.headers.get('retry-after'), (await bodyOf(done)).requestId]).toEqual([null, requestId]);
    expect(asked()).toBe(1);
  });

  it('has a key of at most 255 visible characters', async () => {
    for (const key of ['', ' ', 'a\tb', 'é', 'x'.repeat(256)]) {
      const refused = await post(key);
      expect([key.length, refused.status, (await bodyOf(refused))['message']]).toEqual([
        key.length,
        400,
        expect.stringContaining('`Idempotency-Key` must have 1 to 255 visible ASCII characters'),
      ]);
    }
    for (const key of ['x'.repeat(255), '"quoted"', '../../../etc', '{"a":1}', 'a,b', '0', '__proto__']) {
      const first = await bodyOf(await post(key));
      expect((await bodyOf(await post(key))).requestId).toBe(first.requestId);
    }
  });

  it('has no effect on queries that are not stored', async () => {
    for (let count = 0; count < 2; count++) expect((await post('key', { query: '' })).status).toBe(200);
    expect(asked()).toBe(2);
  });
});
