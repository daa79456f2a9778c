import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { FakeEngine, isListing } from '../../../support/fake-engine.ts';
import { proxyApp } from './proxy-app.ts';

// Time series and DDL: judged by the tables of their texts, and forwarded as the gateway prints them.
let fake: FakeEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;

function grant(...statements: readonly (readonly [actions: string, resource: string])[]): void {
  decisions.setPolicy('p', {
    statements: statements.map(([actions, resource]) => ({
      effect: 'allow',
      actions: actions.split(' '),
      resources: [resource],
    })),
  });
  decisions.setRole('r', ['p']);
}

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['orders_OFFLINE', 'secret_OFFLINE']);
  fake.json('GET /databases', ['default', 'sales']);
  ({ app, decisions } = await proxyApp(fake.url, 'c'));
});
afterEach(async () => {
  await app.close();
  await fake.close();
});

const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, payload });
const passed = () => fake.seen.filter((request) => !isListing(request));

const FETCH =
  'fetch{table="orders_OFFLINE",filter="city = \'x\'",ts_column="ts",ts_unit="SECONDS",value="1"} | sum{city}';
const range = (query: string, more = ''): string =>
  `/timeseries/api/v1/query_range?language=m3ql&query=${encodeURIComponent(query)}&start=1&end=2&step=1h${more}`;
const body = (query: string) => ({ language: 'm3ql', query, start: '1', end: 2 });

describe('time series', () => {
  it('are read with `Query` on their table, by GET and POST', async () => {
    grant(['Query', 'srn2:table#orders']);
    expect((await app.inject(range(FETCH.replace('fetch{', ' fetch { ')))).statusCode).toBe(200);
    expect((await post('/query/timeseries', body(FETCH))).statusCode).toBe(200);
    const [get, sent] = passed();
    const { searchParams, pathname } = new URL(get?.url ?? '', fake.url);
    expect([pathname, Object.fromEntries(searchParams)]).toEqual([
      '/timeseries/api/v1/query_range',
      { language: 'm3ql', query: FETCH, start: '1', end: '2', step: '1h' },
    ]);
    expect([sent?.url, JSON.parse(sent?.body ?? '')]).toEqual(['/query/timeseries', body(FETCH)]);
  });

  it('get the database of the header as a part of the name', async () => {
    grant(['Query', 'srn2:table#sales.orders']);
    const headers = { database: 'sales' };
    expect((await app.inject({ url: range(FETCH), headers })).statusCode).toBe(200);
    expect(new URL(passed()[0]?.url ?? '', fake.url).searchParams.get('query')).toContain(
      'table="sales.orders_OFFLINE"',
    );
    expect((await app.inject(range(FETCH))).statusCode).toBe(403);
  });

  it.each([
    ['another table', FETCH.replace('orders', 'secret'), /may not `Query` on .*secret/],
    ['a table in a filter', FETCH.replace("city = 'x'", 'a IN (SELECT a FROM secret)'), /must not read another table/],
    ['a second fetch', `${FETCH} | fetch{table="secret"}`, /after `fetch`/],
    ['an unknown command', `${FETCH} | union{secret}`, /after `fetch`/],
  ])('are refused with %s', async (_, query, reason) => {
    grant(['Query', 'srn2:table#orders']);
    for (const answer of [await app.inject(range(query)), await post('/query/timeseries', body(query))]) {
      expect(answer.statusCode).toBe(403);
      expect(answer.json<{ message: string }>().message).toMatch(reason);
    }
    expect(passed()).toEqual([]);
  });

  it.each([
    ['another language', range(FETCH).replace('m3ql', 'promql')],
    ['an unknown parameter', range(FETCH, '&table=secret')],
    ['an unusual value', range(FETCH, '&timeout=1%20s')],
  ])('are refused with %s', async (_, url) => {
    grant(['Query', 'srn2:table#orders']);
    expect((await app.inject(url)).statusCode).toBe(403);
    expect((await post('/query/timeseries?query=x', body(FETCH))).statusCode).toBe(403);
    expect((await post('/query/timeseries', { ...body(FETCH), Query: 'x' })).statusCode).toBe(403);
    expect(passed()).toEqual([]);
  });

  it('that the gateway cannot read pass unchanged for those who may read everything', async () => {
    grant(['*', '*']);
    const unread = { language: 'promql', query: 'up' };
    expect((await post('/query/timeseries', unread)).statusCode).toBe(200);
    expect(JSON.parse(passed()[0]?.body ?? '')).toEqual(unread);
  });
});

const ddl = (sql: string, headers?: Record<string, string>) => post('/sql/ddl?dryRun=true', { sql }, headers);

describe('DDL', () => {
  it.each([
    ['CREATE TABLE orders (id INT) TABLE_TYPE = OFFLINE', 'CreateTable CreateSchema'],
    ['DROP TABLE IF EXISTS "orders" TYPE OFFLINE;', 'DeleteTable DeleteSchema'],
    ['SHOW CREATE TABLE orders', 'GetTableConfig GetSchema'],
    ['DROP MATERIALIZED VIEW orders', 'DeleteTable DeleteSchema'],
  ])('%s needs the actions on its table', async (sql, actions) => {
    grant(['*', 'srn2:table#secret'], ['Query', 'srn2:table#orders']);
    expect((await ddl(sql)).statusCode).toBe(403);
    for (const one of actions.split(' ')) {
      grant([one, 'srn2:table#orders']);
      expect((await ddl(sql)).statusCode).toBe(403);
    }
    grant([actions, 'srn2:table#orders']);
    expect((await ddl(sql)).statusCode).toBe(200);
    expect(passed().map(({ url }) => url)).toEqual(['/sql/ddl?dryRun=true']);
  });

  it('is judged in the database of its name or of the header', async () => {
    grant(['DeleteTable DeleteSchema', 'srn2:table#sales.orders']);
    expect((await ddl('DROP TABLE orders')).statusCode).toBe(403);
    expect((await ddl('DROP TABLE sales.orders')).statusCode).toBe(200);
    expect((await ddl('DROP TABLE orders', { database: 'sales' })).statusCode).toBe(200);
    expect((await ddl('DROP TABLE default.orders', { database: 'sales' })).statusCode).toBe(400);
  });

  it('is forwarded without comments and hints', async () => {
    grant(['DeleteTable DeleteSchema', 'srn2:table#orders']);
    await ddl('DROP /* secret */ TABLE --x\n orders /*+ secret */ ;;');
    expect(JSON.parse(passed()[0]?.body ?? '')).toEqual({ sql: 'DROP TABLE orders' });
  });

  it('that may read other tables needs `Query` on the cluster', async () => {
    const view = 'CREATE MATERIALIZED VIEW orders AS SELECT city, count(*) FROM secret GROUP BY city';
    const task = `CREATE TABLE orders (id INT) TABLE_TYPE = OFFLINE PROPERTIES ('task.SqlConnector' = 'x')`;
    grant(['CreateTable CreateSchema', 'srn2:table#orders']);
    const copy = 'CREATE TABLE orders (id INT) TABLE_TYPE = OFFLINE AS SELECT * FROM secret';
    const apart = `CREATE TABLE orders (id INT) TABLE_TYPE = OFFLINE PROPERTIES ('ta'\n'sk.X.input' = 'x')`;
    for (const sql of [view, task, copy, apart]) expect((await ddl(sql)).statusCode).toBe(403);
    grant(['CreateTable CreateSchema', 'srn2:table#orders'], ['Query', 'srn2:cluster#*']);
    for (const sql of [view, task]) expect((await ddl(sql)).statusCode).toBe(200);
  });

  it('lists tables with `GetTable` on the cluster', async () => {
    grant(['*', 'srn2:table#*']);
    expect((await ddl('SHOW TABLES FROM sales')).statusCode).toBe(403);
    grant(['GetTable', 'srn2:cluster#*']);
    expect((await ddl('SHOW MATERIALIZED VIEWS')).statusCode).toBe(200);
  });

  it.each([
    ['two statements', 'DROP TABLE orders; DROP TABLE secret', /only one statement/],
    ['two tables', 'DROP TABLE orders, secret', /it must be `CREATE`/],
    ['the schema of another table', 'CREATE TABLE orders LIKE secret', /it must be `CREATE`/],
    ['a query', 'SELECT * FROM secret', /it must be `CREATE`/],
    ['an unknown statement', 'ALTER TABLE orders ADD COLUMN a INT', /it must be `CREATE`/],
    ['a name in backticks', 'DROP TABLE `secret`', /may only be used within quotes/],
    ['a string with a prefix', `CREATE TABLE orders (id INT) PROPERTIES (U&'a' = 'x')`, /with a prefix/],
    ['three parts of a name', 'DROP TABLE a.b.orders', /invalid table name/],
    ['an open comment', 'DROP TABLE orders /* ', /not closed/],
  ])('with %s is rejected', async (_, sql, reason) => {
    grant(['*', '*']);
    const answer = await ddl(sql);
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      400,
      expect.stringMatching(reason),
    ]);
    expect(passed()).toEqual([]);
  });

  it.each([{ SQL: 'x' }, { sql: 1 }, { sql: 'SHOW TABLES', other: 1 }, ['SHOW TABLES']])(
    'with the body %j is rejected',
    async (payload) => {
      grant(['*', '*']);
      expect((await post('/sql/ddl', payload)).statusCode).toBe(400);
    },
  );
});
