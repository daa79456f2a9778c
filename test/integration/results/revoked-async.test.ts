import { readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
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

/** The API gives a token no earlier expiry, and takes it from all roles when it deletes it; kubectl and Git do otherwise. */
const manifestOf = ({ accessKey }: ServiceToken): string => join(gateway.dataDir, 'servicetokens', `${accessKey}.yaml`);
const accepted = async (call: Promise<Response>): Promise<void> => expect((await call).status).toBe(200);

describe('an asynchronous query', () => {
  it.each([
    [
      'its token is deleted',
      'deleted',
      (token: ServiceToken) =>
        accepted(gateway.call('DELETE', `/api/v1/rbac-manager/service-tokens/srn2:service-token%23${token.accessKey}`)),
    ],
    ['the manifest of its token is removed', 'removed', (token: ServiceToken) => rm(manifestOf(token))],
    [
      'its token has expired',
      'expired',
      async (token: ServiceToken) => {
        const manifest = await readFile(manifestOf(token), 'utf8');
        const expired = manifest.replace(/^spec:\n/m, 'spec:\n  expiresAt: "2020-01-01T00:00:00Z"\n');
        expect(expired).not.toBe(manifest);
        await writeFile(manifestOf(token), expired);
      },
    ],
    [
      'its caller loses the role',
      'demoted',
      (token: ServiceToken) =>
        accepted(
          gateway.call('POST', '/api/v1/rbac-manager/roles/srn2:role%23demoted/delete-assignment', {
            subject: token.accessKey,
            subjectType: 'service-token',
          }),
        ),
    ],
  ])('is ended, also at the engine, when %s', async (_what, name, revoke) => {
    const token = await reader(name);
    const id = await submit(token);
    const closed = new Promise((resolve) => waiting[0]!.on('close', resolve));
    await revoke(token);
    await until('the query has failed', async () => (await status(id)).state === 'failed');
    expect((await status(id)).error).toMatchObject({ status: 403 });
    await closed;
    await until('a cancellation at the engine', () =>
      engine.seen.some(({ method, url }) => method === 'DELETE' && url.startsWith(`/query/${id}?client=true`)),
    );
    // A caller without a role is not authenticated.
    expect(await seen(token, id)).toEqual([401, 401]);
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
