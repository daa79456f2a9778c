import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { until } from '../../support/until.ts';

let engine: FakeEngine;
let gateway: Standalone;
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', (_request, response) => waiting.push(response));
  gateway = await startStandalone({
    controllers: engine.url,
    'max-concurrent-queries': 2,
    'max-concurrent-calls': 2,
    'role-limits': 'heavy:max-concurrent-queries=4,slow:max-requests-per-second=1,few:max-rows-per-query=2',
    'caller-limits': 'admin@localhost:max-rows-per-query=1',
  });
});

afterAll(async () => {
  await gateway.stop();
  await engine.close();
});

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** A token with these actions on `orders`, by a role of that name. */
async function tokenOf(role: string, actions = ['Query']): Promise<Record<string, string>> {
  const statement = { actions, effect: 'allow', resources: ['srn2:table#orders'] };
  await post('/policies', { name: role, policyDocument: { version: 'v1', statements: [statement] } });
  await post('/roles', { name: role, description: role });
  await post(`/roles/srn2:role%23${role}/attach-policy`, { policySrn: `srn2:policy#${role}` });
  const token = await post<{ accessKey: string; bearerToken: string }>('/service-tokens', { description: role });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await post(`/roles/srn2:role%23${role}/create-assignment`, assignment);
  return { authorization: `Bearer ${token.bearerToken}` };
}

const query = (headers: Record<string, string>) =>
  gateway.call('POST', '/query/sql', { sql: 'SELECT * FROM orders' }, headers);

async function engineHas(count: number): Promise<void> {
  await until(`${count} queries at the engine`, () => waiting.length >= count);
  expect(waiting).toHaveLength(count);
}

it.each([
  ['plain', 2],
  ['heavy', 4],
])(
  'a caller with the role %s may run %i queries at once; one more is 429 and does not reach the engine',
  async (role, most) => {
    const headers = await tokenOf(role);
    const running = Array.from({ length: most }, () => query(headers));
    await engineHas(most);
    const refused = await query(headers);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(waiting).toHaveLength(most);
    for (const response of waiting.splice(0)) response.end('{}');
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(running.map(() => 200));
    // Completed responses free their place.
    const next = query(headers);
    await engineHas(1);
    waiting.pop()?.end('{}');
    expect((await next).status).toBe(200);
  },
);

it('calls of one caller to the controller wait above its limit, those of another caller do not', async () => {
  const calls: ServerResponse[] = [];
  engine.answers.set('GET /tables/orders/size', (_request, response) => calls.push(response));
  const [one, other] = [await tokenOf('one', ['*']), await tokenOf('other', ['*'])];
  const size = (headers: Record<string, string>) => gateway.call('GET', '/tables/orders/size', undefined, headers);
  const running = Array.from({ length: 3 }, () => size(one));
  await until('two calls at the engine', () => calls.length === 2);
  running.push(size(other));
  await until('the call of the other caller at the engine', () => calls.length === 3);
  calls.shift()?.end('{}');
  await until('the waiting call at the engine', () => calls.length === 3);
  for (const response of calls) response.end('{}');
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

it('the rate limit of a role applies only to its callers', async () => {
  const headers = await tokenOf('slow');
  // All at once: one more is allowed for each second that the gateway takes for them.
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => gateway.call('GET', '/tables', undefined, headers)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(10);
  expect(refused).not.toEqual([]);
  expect(new Set(refused.map((answer) => answer.headers.get('retry-after')))).toEqual(new Set(['1']));
  expect((await gateway.call('GET', '/tables')).status).toBe(200);
});

it.each([
  ['a role’s', 2],
  ['a caller’s own', 1],
])('the row limit %s is %i per query', async (_whose, most) => {
  const headers = most === 2 ? await tokenOf('few') : {};
  const answer = async (rows: number, sql: string) => {
    const asked = gateway.call('POST', '/query/sql', { sql }, headers);
    await engineHas(1);
    const list = Array.from({ length: rows }, (_, row) => [row]);
    waiting.pop()?.end(JSON.stringify({ resultTable: { rows: list }, exceptions: [], tablesQueried: ['orders'] }));
    return (await asked).status;
  };
  expect(await answer(most, 'SELECT a FROM orders')).toBe(200);
  expect(await answer(most + 1, 'SELECT a FROM orders')).toBe(400);
  const refused = await gateway.call('POST', '/query/sql', { sql: `SELECT a FROM orders LIMIT ${most + 1}` }, headers);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(`LIMIT ${most}`)]);
  expect(waiting).toHaveLength(0);
});
