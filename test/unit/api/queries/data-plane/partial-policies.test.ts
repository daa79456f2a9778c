import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../../src/access/policy/decision.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { proxyApp } from '../../proxy/proxy-app.ts';

// Policies with conditions, from the document to the text that the engine gets.
let fake: FakeEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['deals_OFFLINE', 'offers_OFFLINE'], '{"resultTable":null,"exceptions":[],"totalDocs":7}');
  const names = ['name', 'owner', 'region', 'secret'];
  const dimensionFieldSpecs = names.map((name) => ({ name, dataType: 'STRING' }));
  fake.json('GET /tables/deals/schema', { dimensionFieldSpecs });
  ({ app, decisions } = await proxyApp(fake.url, 'c'));
  decisions.setRole('r', ['p']);
});

afterAll(async () => {
  await app.close();
  await fake.close();
});

/** The text that the engine gets, or the response of the gateway. */
async function sent(statements: readonly object[], sql: string): Promise<string> {
  decisions.setPolicy('p', { statements });
  fake.seen.length = 0;
  const { body } = await app.inject({ method: 'POST', url: '/query/sql', payload: { sql } });
  const asked = fake.seen.find(({ url }) => url === '/query/sql');
  return asked === undefined ? body : (JSON.parse(asked.body) as { sql: string }).sql;
}

const query = (conditions?: object) => ({
  effect: 'allow',
  actions: ['Query'],
  resources: ['srn2:table#deals'],
  ...(conditions && { conditions }),
});

it.each([
  [
    [query({ rowFilters: ['owner = ${subject.email}'] })],
    `SELECT "name" FROM "deals" WHERE ("owner" = 'alice@example.com')`,
  ],
  [
    [
      query({ rowFilters: ["region = 'eu'"] }),
      query({ rowFilters: ["region = 'us'", 'owner IN (${subject.groups})'] }),
    ],
    `SELECT "name" FROM "deals" WHERE ((("owner" IN ('analysts')) AND ("region" = 'us')) OR ("region" = 'eu'))`,
  ],
  [[query({ columns: { mask: { name: 'upper(name)' } } })], 'SELECT (upper ("name")) FROM "deals"'],
  [[query({ rowFilters: ["region = 'eu'"] }), query()], 'SELECT "name" FROM "deals"'],
  [[query({ columns: { deny: ['secret'] } })], 'SELECT "name" FROM "deals"'],
])('a caller with the statements %j', async (statements, expected) => {
  expect(await sent(statements, 'SELECT name FROM deals')).toBe(expected);
});

it.each([
  [[query({ columns: { deny: ['secret'] } })], 'SELECT max(secret) FROM deals', '`secret` is not one of the columns'],
  [
    [query({ columns: { allow: ['name', 'gone'] } })],
    'SELECT name FROM deals',
    '`gone`, which its schema does not have',
  ],
  [[query({ rowFilters: ['owner = ${subject.token}'] })], 'SELECT name FROM deals', 'may not `Query`'],
  [[query({ rowFilters: ["region = 'eu'"] })], 'SELECT name FROM offers', 'may not `Query`'],
])('a caller with the statements %j is refused %s', async (statements, sql, why) => {
  expect(await sent(statements, sql)).toContain(why);
});
