import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { isListing } from '../../../support/fake-engine.ts';
import { type DatabasesEngine, databasesEngine } from '../../../support/databases-engine.ts';
import { proxyApp } from './proxy-app.ts';

// Paths that only Pinot 1.x has, on the recorded cluster: logical tables, other query languages, and the brokers' stored responses.
let fake: DatabasesEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;

/** Gives the caller these actions on these resources. */
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
  fake = databasesEngine();
  await fake.listen();
  ({ app, decisions } = await proxyApp(fake.url, 'pinot15'));
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
  app.inject({ method, url, ...(payload && { headers: { 'content-type': 'application/json' }, payload }) });
const query = (sql: string) => call('POST', '/query/sql', { sql });
/** Requests other than those for the lists of tables and brokers. */
const passed = () => fake.seen.filter((request) => !isListing(request)).map(({ method, url }) => `${method} ${url}`);

describe('a logical table', () => {
  it('is read with the right to it, whatever the rights to its physical tables', async () => {
    grant(['Query', 'srn2:table#alllog']);
    const answer = await query('SELECT * FROM alllog LIMIT 2');
    expect([answer.statusCode, answer.json<{ tablesQueried: string[] }>().tablesQueried]).toEqual([200, ['alllog']]);
    grant(['Query', 'srn2:table#customers']);
    expect((await query('SELECT * FROM alllog LIMIT 2')).statusCode).toBe(403);
    expect(fake.unknown).toEqual([]);
  });

  it('is listed to those who may see it', async () => {
    grant(['Query', 'srn2:table#alllog']);
    expect((await call('GET', '/logicalTables')).json()).toEqual(['alllog']);
    grant(['Query', 'srn2:table#customers']);
    expect((await call('GET', '/logicalTables')).json()).toEqual([]);
    expect(fake.unknown).toEqual([]);
  });

  const created = { tableName: 'both', physicalTableConfigMap: { customers_OFFLINE: {}, secret_OFFLINE: {} } };

  it.each([
    ['POST', '/logicalTables', 'CreateTable'],
    ['PUT', '/logicalTables/both', 'UpdateTableConfig'],
  ] as const)('is written by %s %s with `Query` on each of its physical tables', async (method, url, action) => {
    grant([action, 'srn2:table#both'], ['Query', 'srn2:table#customers']);
    const refused = await call(method, url, created);
    expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining('secret')]);
    expect(passed()).toEqual([]);
    grant([action, 'srn2:table#both'], ['Query', 'srn2:table#customers'], ['Query', 'srn2:table#secret']);
    await call(method, url, created);
    expect(passed()).toEqual([`${method} ${url}`]);
  });

  it.each([
    ['GET', 'GetTableConfig'],
    ['DELETE', 'DeleteTable'],
  ] as const)('needs for %s the action on it', async (method, action) => {
    grant([action, 'srn2:table#customers'], ['*', 'srn2:table#secret']);
    expect((await call(method, '/logicalTables/alllog')).statusCode).toBe(403);
    expect(passed()).toEqual([]);
    grant([action, 'srn2:table#alllog']);
    await call(method, '/logicalTables/alllog');
    expect(passed()).toEqual([`${method} /logicalTables/alllog`]);
  });
});

describe('a call that the gateway cannot judge by tables', () => {
  it.each([
    // Their language is not parsed.
    ['GET', '/timeseries/api/v1/query_range?language=m3ql&query=fetch&start=1&end=2'],
    ['GET', '/timeseries/api/v1/query?language=promql&query=up'],
    ['POST', '/query/timeseries'],
    // SQL that the gateway does not read.
    ['POST', '/query/compare'],
    ['POST', '/query/tableNames'],
    ['GET', '/resultStore'],
    ['GET', '/queryLog'],
    ['GET', '/systemTables'],
  ] as const)('%s %s needs every action on everything', async (method, url) => {
    const payload = method === 'POST' ? { language: 'm3ql', query: 'fetch' } : undefined;
    grant(
      ['Query GetTable GetTableConfig DownloadSegment', 'srn2:table#*'],
      ['Query GetResponseStore GetTable', 'srn2:cluster#*'],
    );
    const refused = await call(method, url, payload);
    expect(refused.statusCode).toBe(403);
    expect(passed()).toEqual([]);
    grant(['*', '*']);
    await call(method, url, payload);
    expect(passed()).toHaveLength(1);
  });

  const everything = { effect: 'allow', actions: ['*'], resources: ['*'] } as const;
  const denied = { effect: 'deny', actions: ['Query'], resources: ['srn2:table#sales.deals'] } as const;

  it.each([
    ['GET', '/timeseries/api/v1/query_range?language=m3ql&query=fetch&start=1&end=2'],
    ['POST', '/query/timeseries'],
    ['POST', '/query/compare'],
  ] as const)('%s %s is stopped by a statement that denies `Query` on any table', async (method, url) => {
    const payload = method === 'POST' ? { language: 'promql', query: 'sales:deals' } : undefined;
    decisions.setPolicy('p', { statements: [everything, denied] });
    decisions.setRole('r', ['p']);
    const refused = await call(method, url, payload);
    expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
      403,
      expect.stringMatching(
        /may not `Query` on `srn2:.*sales\.deals`: a statement of its roles denies it\. The gateway cannot read this query/,
      ),
    ]);
    expect(passed()).toEqual([]);
    // Other actions do not matter.
    decisions.setPolicy('p', { statements: [everything, { ...denied, actions: ['DeleteTable'] }] });
    await call(method, url, payload);
    expect(passed()).toHaveLength(1);
  });

  it('names the rights that a query of time series needs', async () => {
    grant(['Query', 'srn2:table#*'], ['*', 'srn2:table#*']);
    const refused = await call('GET', '/timeseries/api/v1/query_range?language=m3ql&query=fetch&start=1&end=2');
    expect(refused.json<{ message: string }>().message).toBe(
      '`srn2:user#alice@example.com` may not `*` on the cluster: no statement of its roles allows it. The gateway cannot read this query (it is not a list of commands of the form `name{…}` with `|` between them), so it could read any table: it needs `*`, `Query`, `DownloadSegment`, `GetResponseStore` on the cluster, and no statement may deny `Query` on a table',
    );
  });

  it('lists the languages of time series to those who may read the configuration of the cluster', async () => {
    grant(['Query', 'srn2:cluster#*']);
    expect((await call('GET', '/timeseries/languages')).statusCode).toBe(403);
    grant(['GetClusterConfig', 'srn2:cluster#*']);
    await call('GET', '/timeseries/languages');
    expect(passed()).toEqual(['GET /timeseries/languages']);
  });
});
