import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { GatewayProcess, type ServiceToken } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { answerText, rowTexts } from '../../unit/results/answers.ts';

interface Status {
  readonly requestId: string;
  readonly state: string;
  readonly error?: { readonly status: number };
}

let engine: FakeEngine;
let gateway: GatewayProcess;
let waiting: ServerResponse[];

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', (_request, response) => {
    waiting.push(response);
  });
  gateway = await GatewayProcess.start({ controllers: engine.url });
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});
beforeEach(() => {
  waiting = [];
});

const callAs = ({ bearerToken }: ServiceToken, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${bearerToken}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function submit(token: ServiceToken): Promise<string> {
  const sql = 'SELECT id FROM orders LIMIT 5';
  const answer = await callAs(token, 'POST', '/query/sql?doPaginate=true&async=true', { sql });
  expect(answer.status).toBe(202);
  await until('a query at the engine', () => waiting.length === 1);
  return ((await answer.json()) as Status).requestId;
}

/** The statuses of the calls by which a caller sees its query. */
const seen = (token: ServiceToken, id: string): Promise<number[]> =>
  Promise.all(
    [`/query/${id}`, `/query/${id}/results?offset=0`].map(async (path) => (await callAs(token, 'GET', path)).status),
  );
/** As the administrator sees it. */
const status = async (id: string): Promise<Status> =>
  (await (await gateway.call('GET', `/query/${id}`)).json()) as Status;
const reader = (name: string): Promise<ServiceToken> =>
  gateway.tokenFor(name, [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }]);

describe('an asynchronous query', () => {
  it.each([
    [
      'its token is deleted',
      (token: ServiceToken) =>
        gateway.call('DELETE', `/api/v1/rbac-manager/service-tokens/srn2:service-token%23${token.accessKey}`),
    ],
    [
      'its caller loses the role',
      (token: ServiceToken) =>
        gateway.call('POST', '/api/v1/rbac-manager/roles/srn2:role%23second/delete-assignment', {
          subject: token.accessKey,
          subjectType: 'service-token',
        }),
    ],
  ])('is ended, also at the engine, when %s', async (what, revoke) => {
    const token = await reader(what.includes('role') ? 'second' : 'first');
    const id = await submit(token);
    const closed = new Promise((resolve) => waiting[0]!.on('close', resolve));
    expect((await revoke(token)).status).toBe(200);
    await until('the query has failed', async () => (await status(id)).state === 'failed');
    expect((await status(id)).error).toMatchObject({ status: 403 });
    await closed;
    await until('a cancellation at the engine', () =>
      engine.seen.some(({ method, url }) => method === 'DELETE' && url.startsWith(`/query/${id}?client=true`)),
    );
  });

  it('shows neither its state nor its result to a token that was deleted after its end', async () => {
    const token = await reader('fourth');
    const id = await submit(token);
    waiting[0]!.setHeader('content-type', 'application/json');
    waiting[0]!.end(answerText(rowTexts(5)));
    await until('the query is done', async () => (await status(id)).state === 'done');
    expect(await seen(token, id)).toEqual([200, 200]);
    const srn = `srn2:service-token%23${token.accessKey}`;
    expect((await gateway.call('DELETE', `/api/v1/rbac-manager/service-tokens/${srn}`)).status).toBe(200);
    expect(await seen(token, id)).toEqual([401, 401]);
  });

  it('continues when its caller has disconnected, and is read with the rights of then', async () => {
    const token = await reader('third');
    const id = await submit(token);
    waiting[0]!.setHeader('content-type', 'application/json');
    waiting[0]!.end(answerText(rowTexts(5)));
    await until('the query is done', async () => (await status(id)).state === 'done');
    expect((await callAs(token, 'GET', `/query/${id}/results?offset=0`)).status).toBe(200);
    const assignment = { subject: token.accessKey, subjectType: 'service-token' };
    await gateway.call('POST', '/api/v1/rbac-manager/roles/srn2:role%23third/delete-assignment', assignment);
    const refused = await callAs(token, 'GET', `/query/${id}/results?offset=0`);
    expect([401, 403]).toContain(refused.status);
  });
});
