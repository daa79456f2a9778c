import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { databasesEngine } from '../../../support/databases-engine.ts';
import type { FakeEngine } from '../../../support/fake-engine.ts';
import { proxyApp } from './proxy-app.ts';

let fake: FakeEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;

interface Statement {
  readonly effect: 'allow' | 'deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/** Gives the caller a role with one policy of these statements. */
function grant(...statements: readonly Statement[]): void {
  decisions.setPolicy('p', { statements });
  decisions.setRole('r', ['p']);
}

const allow = (actions: string, ...resources: readonly string[]): Statement => ({
  effect: 'allow',
  actions: actions.split(' '),
  resources,
});
const deny = (actions: string, ...resources: readonly string[]): Statement => ({
  ...allow(actions, ...resources),
  effect: 'deny',
});
const EVERYTHING = allow('*', '*');

beforeEach(async () => {
  fake = databasesEngine();
  await fake.listen();
  ({ app, decisions } = await proxyApp(fake.url, 'pinot15'));
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

const MULTISTAGE = 'SET useMultistageEngine=true; ';
const SALES = { database: 'sales' };

async function ask(sql: string, headers: Record<string, string> = {}, url = '/query/sql') {
  const answer = await app.inject({ method: 'POST', url, headers, payload: { sql } });
  const { tablesQueried, exceptions } = answer.json<{ tablesQueried?: string[]; exceptions?: unknown[] }>();
  return { status: answer.statusCode, tablesQueried, exceptions, body: answer.body };
}

const queries = () => fake.seen.filter(({ method }) => method === 'POST');

/** Every way to name the table `customers` of the database `sales`. */
const SPELLINGS: readonly (readonly [sql: string, headers: Record<string, string>])[] = [
  ['SELECT * FROM sales.customers LIMIT 2', {}],
  ['SELECT * FROM "sales"."customers" LIMIT 2', {}],
  ['SELECT * FROM "sales.customers" LIMIT 2', {}],
  ['SELECT * FROM sales.customers LIMIT 2', SALES],
  ['SELECT * FROM customers LIMIT 2', SALES],
  ["SET database='sales'; SELECT * FROM sales.customers LIMIT 2", {}],
  [`${MULTISTAGE}SELECT * FROM sales.customers LIMIT 2`, {}],
  [`${MULTISTAGE}SELECT * FROM "sales"."customers" LIMIT 2`, {}],
  [`${MULTISTAGE}SELECT * FROM "sales.customers" LIMIT 2`, {}],
  [`${MULTISTAGE}SELECT * FROM sales.customers LIMIT 2`, SALES],
  [`${MULTISTAGE}SELECT * FROM customers LIMIT 2`, SALES],
  [`SET database='sales'; ${MULTISTAGE}SELECT * FROM customers LIMIT 2`, {}],
  [`SET database='sales'; ${MULTISTAGE}SELECT * FROM customers LIMIT 2`, SALES],
];

describe('a table with the same name in two databases', { tags: 'slow' }, () => {
  it.each(SPELLINGS)('is read with the right to it alone: %s %j', async (sql, headers) => {
    grant(allow('Query', 'srn2:table#sales.customers'));
    expect(await ask(sql, headers)).toMatchObject({ status: 200, tablesQueried: ['sales.customers'], exceptions: [] });
    expect(queries().map(({ headers: sent }) => sent['database'])).toEqual(['sales']);
  });

  it.each(SPELLINGS)('is not read with the right to the other one: %s %j', async (sql, headers) => {
    grant(allow('*', 'srn2:table#customers'), allow('*', 'srn2:table#sales'), allow('*', 'srn2:table#sales.deals'));
    expect(await ask(sql, headers)).toMatchObject({
      status: 403,
      body: expect.stringContaining('srn2:table#sales.customers'),
    });
    expect(queries()).toEqual([]);
  });

  it.each(SPELLINGS)('is not read where it is denied: %s %j', async (sql, headers) => {
    grant(EVERYTHING, deny('Query', 'srn2:table#sales.*'));
    expect(await ask(sql, headers)).toMatchObject({ status: 403 });
    expect(await ask('SELECT * FROM customers LIMIT 2')).toMatchObject({ status: 200 });
  });

  it.each([['SELECT * FROM customers LIMIT 2'], [`${MULTISTAGE}SELECT * FROM customers LIMIT 2`]])(
    'of the default database is read with the right to it alone: %s',
    async (sql) => {
      grant(allow('Query', 'srn2:table#customers'));
      expect(await ask(sql)).toMatchObject({ status: 200, tablesQueried: ['customers'] });
      grant(allow('Query', 'srn2:table#sales.customers'));
      expect(await ask(sql)).toMatchObject({ status: 403 });
    },
  );

  it('needs both rights where the option names the one that the single-stage engine does not read', async () => {
    const sql = "SET database='sales'; SELECT * FROM customers LIMIT 2";
    for (const table of ['customers', 'sales.customers']) {
      grant(allow('Query', `srn2:table#${table}`));
      expect(await ask(sql)).toMatchObject({ status: 403 });
    }
    grant(allow('Query', 'srn2:table#customers', 'srn2:table#sales.customers'));
    expect(await ask(sql)).toMatchObject({ status: 200, tablesQueried: ['customers'] });
  });

  it('is read by an administrator, and with the right to all tables of its database', async () => {
    for (const statement of [EVERYTHING, allow('Query', 'srn2:table#sales.*')]) {
      grant(statement);
      for (const [sql, headers] of SPELLINGS) expect(await ask(sql, headers)).toMatchObject({ status: 200 });
    }
    grant(EVERYTHING);
    expect(await ask('SELECT * FROM alllog LIMIT 2')).toMatchObject({ status: 200, tablesQueried: ['alllog'] });
    // The engine's own errors.
    expect(await ask('SELECT 1 FROM sales.nosuch')).toMatchObject({ status: 501 });
  });

  it.each([
    ['the header and the prefix', 'SELECT * FROM default.customers LIMIT 2', SALES],
    ['the header and the prefix', `${MULTISTAGE}SELECT * FROM default.customers LIMIT 2`, SALES],
    ['the header and the prefix', 'SELECT * FROM sales.customers LIMIT 2', { database: 'default' }],
    ['the header and the option', `SET database='sales'; ${MULTISTAGE}SELECT * FROM customers`, { database: 'x' }],
    ['two prefixes', `${MULTISTAGE}SELECT 1 FROM customers a JOIN sales.customers b ON a.customerId=b.customerId`, {}],
  ])('is not looked for where %s disagree: %s', async (_, sql, headers) => {
    grant(EVERYTHING);
    expect(await ask(sql, headers)).toMatchObject({ status: 400 });
    expect(queries()).toEqual([]);
  });
});

describe('queries on paths of the multi-stage engine', () => {
  it('take the option database', async () => {
    grant(allow('Query', 'srn2:table#sales.customers'));
    fake.json('POST /query', { tablesQueried: ['sales.customers'], exceptions: [] });
    expect(await ask("SET database='sales'; SELECT * FROM customers", {}, '/query')).toMatchObject({ status: 200 });
    expect(JSON.parse(queries()[0]!.body)).toEqual({
      sql: `SET "database" = 'sales'; SELECT * FROM "sales"."customers"`,
    });
  });

  it('have one database for all texts', async () => {
    grant(EVERYTHING);
    const validate = (...sqls: readonly string[]) =>
      app.inject({ method: 'POST', url: '/validateMultiStageQuery', payload: { sqls } });
    fake.json('POST /validateMultiStageQuery', []);
    const refused = await validate('SELECT 1 FROM customers', 'SELECT 1 FROM sales.deals');
    expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
      400,
      'the texts in `sqls` name tables of the databases `default` and `sales`: send one request for each database',
    ]);
    expect((await validate('SELECT 1', 'SELECT 1 FROM sales.deals')).statusCode).toBe(200);
    expect(queries()[0]!.headers['database']).toBe('sales');
  });
});

describe('tables that FORWARD_TABLE names', () => {
  it('are those of the database of the request', async () => {
    const query = (table: string, headers: Record<string, string> = {}) =>
      ask('SELECT * FROM customers LIMIT 2', { ...headers, forward_table: table });
    grant(allow('Query', 'srn2:table#customers', 'srn2:table#sales.customers'));
    expect(await query('sales.customers')).toMatchObject({ status: 200 });
    expect(await query('customers', SALES)).toMatchObject({ status: 200 });
    expect(await query('sales.deals')).toMatchObject({ status: 403 });
    expect(await query('deals', SALES)).toMatchObject({ status: 403 });
    expect(await query('default.deals', SALES)).toMatchObject({ status: 400 });
  });
});

describe('calls of the controller', () => {
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  it.each([
    ['/tables/sales.deals', {}],
    ['/tables/sales.deals', SALES],
    ['/tables/deals', SALES],
  ])('need the right to the table of the database alone: %s %j', async (url, headers) => {
    grant(allow('GetTableConfig', 'srn2:table#sales.deals'));
    const sent = 'GET /tables/sales.deals';
    fake.json(sent, { OFFLINE: {} });
    expect((await get(url, headers)).statusCode).toBe(200);
    // With its database also for calls that ignore the header.
    expect(fake.seen.at(-1)?.url).toBe('/tables/sales.deals');
    for (const other of ['deals', 'sales', 'default.deals']) {
      grant(allow('*', `srn2:table#${other}`));
      expect((await get(url, headers)).statusCode).toBe(403);
    }
  });

  it('have the names of parameters with their database', async () => {
    grant(allow('GetSchedulerJobDetails', 'srn2:table#sales.deals'));
    fake.json('GET /tasks/scheduler/jobDetails', {});
    const url = '/tasks/scheduler/jobDetails?tableName=deals_OFFLINE&taskType=T';
    expect((await get(url, SALES)).statusCode).toBe(200);
    expect(fake.seen.at(-1)?.url).toBe('/tasks/scheduler/jobDetails?tableName=sales.deals_OFFLINE&taskType=T');
    expect((await get(url)).statusCode).toBe(403);
  });

  it('are rejected if the header and the prefix differ', async () => {
    grant(EVERYTHING);
    expect((await get('/tables/default.customers', SALES)).statusCode).toBe(400);
    expect((await get('/tables/sales.deals', { database: 'other' })).json()).toMatchObject({
      message: '`sales.deals` is in the database `sales`, but the header `Database` names `other`',
    });
  });

  it('take the names of a body as the engine does', async () => {
    const post = (url: string, payload: object) => app.inject({ method: 'POST', url, headers: SALES, payload });
    fake.json('POST /tables', {});
    fake.json('POST /tasks/execute', {});
    grant(allow('CreateTable', 'srn2:table#sales.deals'));
    expect((await post('/tables', { tableName: 'deals' })).statusCode).toBe(200);
    expect((await post('/tables', { tableName: 'sales.deals' })).statusCode).toBe(200);
    expect((await post('/tables', { tableName: 'default.deals' })).statusCode).toBe(400);
    // The engine ignores the header for this one.
    grant(allow('ExecuteTask', '*'), allow('*', 'srn2:table#sales.deals'));
    expect((await post('/tasks/execute', { taskType: 'T', tableName: 'deals' })).statusCode).toBe(403);
    expect((await post('/tasks/execute', { taskType: 'T', tableName: 'sales.deals' })).statusCode).toBe(200);
  });

  describe('of logical tables', () => {
    const physical = { physicalTableConfigMap: { customers_OFFLINE: {} }, refOfflineTableName: 'customers_OFFLINE' };
    const write = (call: string, tableName: string, headers: Record<string, string>, more: object = physical) => {
      const [method, url] = call.split(' ') as ['POST' | 'PUT', string];
      for (const name of ['', '/view', '/sales.view', '/default.view'])
        fake.json(`${method} /logicalTables${name}`, {});
      return app.inject({ method, url, headers, payload: { tableName, ...more } });
    };
    const READS_PHYSICAL = allow('Query', 'srn2:table#sales.customers');

    // The engine compares the names of path and body before it adds the database of the header to both.
    it.each([
      ['PUT /logicalTables/view', 'view', SALES],
      ['PUT /logicalTables/sales.view', 'view', SALES],
      ['PUT /logicalTables/view', 'sales.view', SALES],
      ['PUT /logicalTables/sales.view', 'sales.view', SALES],
      ['POST /logicalTables', 'view', SALES],
      ['POST /logicalTables', 'sales.view', SALES],
    ])('name the table in the path as in the body: %s %s', async (call, tableName, headers) => {
      grant(allow('CreateTable UpdateTableConfig', 'srn2:table#sales.view'), READS_PHYSICAL);
      expect((await write(call, tableName, headers)).statusCode).toBe(200);
      const url = call.startsWith('PUT') ? `/logicalTables/${tableName}` : '/logicalTables';
      const body = JSON.stringify({ tableName, ...physical });
      expect(fake.seen.at(-1)).toMatchObject({ url, headers: { database: 'sales' }, body });
      // Neither the table of that name nor the physical tables of another database.
      grant(allow('*', 'srn2:table#view', 'srn2:table#customers'), READS_PHYSICAL);
      expect((await write(call, tableName, headers)).statusCode).toBe(403);
      grant(allow('*', 'srn2:table#sales.view', 'srn2:table#customers'));
      expect((await write(call, tableName, headers)).statusCode).toBe(403);
    });

    it('are refused where path and body name different tables', async () => {
      grant(EVERYTHING);
      const refused = await write('PUT /logicalTables/view', 'other', SALES);
      expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
        400,
        'the path names the table `view`, but `tableName` in the body is `other`',
      ]);
      expect((await write('PUT /logicalTables/sales.view', 'view', {})).statusCode).toBe(400);
      expect((await write('PUT /logicalTables/view', 'default.view', {})).statusCode).toBe(200);
      expect(fake.seen.at(-1)?.url).toBe('/logicalTables/default.view');
    });

    it.each([true, 'true', 1, 'x'])(
      'over another cluster (`multiCluster`: %j) need `Query` on the cluster',
      async (multiCluster) => {
        const own = [allow('CreateTable', 'srn2:table#view'), allow('Query', 'srn2:table#customers')];
        const remote = { physicalTableConfigMap: { customers_OFFLINE: { multiCluster } } };
        grant(...own);
        expect((await write('POST /logicalTables', 'view', {}, remote)).statusCode).toBe(403);
        const local = { physicalTableConfigMap: { customers_OFFLINE: { multiCluster: false } } };
        expect((await write('POST /logicalTables', 'view', {}, local)).statusCode).toBe(200);
        grant(...own, allow('Query', 'srn2:cluster#*'));
        expect((await write('POST /logicalTables', 'view', {}, remote)).statusCode).toBe(200);
      },
    );

    // The engine reads a value in place of the object as the value of `multiCluster`.
    it.each([true, 'true', false, 1, 'x'])(
      'over another cluster (%j in place of the object) need `Query` on the cluster',
      async (value) => {
        const own = [allow('CreateTable', 'srn2:table#view'), allow('Query', 'srn2:table#customers')];
        const remote = { physicalTableConfigMap: { customers_OFFLINE: value } };
        grant(...own);
        expect((await write('POST /logicalTables', 'view', {}, remote)).statusCode).toBe(403);
      },
    );
  });

  it('list the tables of the requested database, filtered', async () => {
    const lists = async (headers: Record<string, string>) => [
      (await get('/tables', headers)).json<{ tables: string[] }>().tables,
      (await get('/schemas', headers)).json<string[]>(),
      (await get('/tableConfigs', headers)).json<string[]>(),
      (await get('/logicalTables', headers)).json<string[]>(),
      Object.keys((await get('/tables/livebrokers', headers)).json<object>()),
    ];
    grant(allow('Query', 'srn2:table#sales.deals', 'srn2:table#customers', 'srn2:table#alllog'));
    const sales = [['sales.deals'], ['sales.deals'], ['sales.deals'], [], ['sales.deals_OFFLINE']];
    expect(await lists(SALES)).toEqual(sales);
    const own = [['customers'], ['alllog', 'customers'], ['customers'], ['alllog'], ['customers_OFFLINE']];
    expect(await lists({})).toEqual(own);
    grant(allow('Query', 'srn2:table#sales.*'));
    expect(await lists({})).toEqual([[], [], [], [], []]);
    expect((await lists(SALES))[0]).toEqual(['sales.customers', 'sales.deals']);
  });
});

describe('calls on the cluster that name a table', () => {
  const send = async (call: string, payload?: object, headers: Record<string, string> = {}) => {
    const [method = '', url = ''] = call.split(' ');
    const path = url.split('?')[0] ?? '';
    for (const sent of [path, path.replace('/deals_', '/sales.deals_')]) fake.json(`${method} ${sent}`, {});
    const body = payload === undefined ? {} : { payload };
    const { statusCode } = await app.inject({ method: method as 'GET', url, headers, ...body });
    return statusCode;
  };

  interface DeniedCall {
    readonly call: string;
    readonly payload?: object;
    readonly headers?: Record<string, string>;
  }

  it.each<DeniedCall>([
    { call: 'POST /tasks/schedule?tableName=sales.deals_OFFLINE' },
    { call: 'POST /tasks/schedule?tableName=deals_OFFLINE', headers: SALES },
    { call: 'GET /tasks/T/sales.deals_OFFLINE/state' },
    { call: 'GET /tasks/generator/deals_OFFLINE/T/debug', headers: SALES },
    { call: 'GET /tasks/T/taskcounts?table=sales.deals_OFFLINE' },
    { call: 'POST /segments/sales.deals_OFFLINE/reset' },
    { call: 'GET /v2/brokers/tables/SALES.DEALS' },
    { call: 'GET /zk/get?path=/pinot15/PROPERTYSTORE/CONFIGS/TABLE/sales.deals_OFFLINE' },
    { call: 'GET /zk/getChildren?path=/pinot15/PROPERTYSTORE/SEGMENTS/sales.deals_OFFLINE' },
    { call: 'GET /zk/get?path=/pinot15/PROPERTYSTORE/INSTANCE_PARTITIONS/sales.deals_CONSUMING' },
    { call: 'PUT /zk/putChildren?path=/pinot15/PROPERTYSTORE/CONFIGS/TABLE', payload: [{ id: 'sales.deals_OFFLINE' }] },
    { call: 'POST /tenants/t/rebalance', payload: { includeTables: ['sales.deals_OFFLINE'] } },
    { call: 'POST /tenants/t/rebalance?includeTables=a,sales.deals_OFFLINE' },
    {
      call: 'POST /queryWorkloadConfigs',
      payload: { nodeConfigs: [{ propagationScheme: { propagationEntities: [{ entity: 'sales.deals' }] } }] },
    },
    { call: 'PUT /tables/recommender', payload: { schema: { schemaName: 'sales.deals' } } },
    { call: 'POST /unknown/sales.deals' },
    { call: 'GET /unknown/deals/x', headers: SALES },
  ])('are stopped by a statement that denies it: $call', async ({ call, payload, headers }) => {
    grant(EVERYTHING);
    expect(await send(call, payload, headers)).toBe(200);
    grant(EVERYTHING, deny('*', 'srn2:table#sales.deals'));
    expect(await send(call, payload, headers)).toBe(403);
    grant(EVERYTHING, deny('*', 'srn2:table#sales.customers'));
    expect(await send(call, payload, headers)).toBe(200);
  });

  it.each(['DeleteDatabase', 'DeleteTable', 'DeleteSchema', '*'])(
    'delete no database with a table on which %s is denied',
    async (action) => {
      for (const database of ['sales', 'SALES']) {
        grant(EVERYTHING);
        expect(await send(`DELETE /databases/${database}`)).toBe(200);
        grant(EVERYTHING, deny(action, 'srn2:table#sales.deals'));
        expect(await send(`DELETE /databases/${database}`)).toBe(403);
      }
      grant(EVERYTHING, deny(action, 'srn2:table#customers'), deny('Query', 'srn2:table#sales.deals'));
      expect(await send('DELETE /databases/sales')).toBe(200);
      expect(await send('DELETE /databases/default')).toBe(403);
    },
  );

  it.each(['%20', '%C2%A0', '%E3%80%80', 'a%20b', '*'])('delete no database of an invalid name: %s', async (name) => {
    // The engine takes a blank name for the default database.
    grant(EVERYTHING, deny('*', 'srn2:table#customers'));
    fake.seen.length = 0;
    expect(await send(`DELETE /databases/${name}`)).toBe(400);
    expect(fake.seen.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });

  it('delete no database whose tables cannot be listed', async () => {
    grant(EVERYTHING);
    expect(await send('DELETE /databases/sales')).toBe(200);
    fake.json('GET /databases', {}, 500);
    const sent = fake.seen.length;
    expect(await send('DELETE /databases/sales')).toBe(502);
    expect(fake.seen.slice(sent).filter(({ method }) => method === 'DELETE')).toEqual([]);
    grant(allow('*', 'srn2:table#*'));
    expect(await send('DELETE /databases/sales')).toBe(403);
  });

  it('need no right to the table where no statement denies it', async () => {
    grant(allow('GetTask', 'srn2:cluster#pinot15'));
    expect(await send('GET /tasks/T/sales.deals_OFFLINE/state')).toBe(200);
    grant(allow('GetTask', 'srn2:cluster#pinot15'), deny('ExecuteTask', 'srn2:table#*'));
    expect(await send('GET /tasks/T/sales.deals_OFFLINE/state')).toBe(200);
    grant(allow('GetTask', 'srn2:cluster#pinot15'), deny('GetTask', 'srn2:table#*'));
    expect(await send('GET /tasks/T/sales.deals_OFFLINE/state')).toBe(403);
    expect(await send('GET /tasks/tasktypes')).toBe(200);
  });

  it('are not denied because of parts of their paths that are not tables', async () => {
    grant(EVERYTHING, deny('*', 'srn2:table#*'));
    // The gateway lists the tables in the background.
    await expect.poll(() => send('GET /zk/get?path=/pinot15/CONFIGS/CLUSTER/pinot15')).toBe(200);
    expect(await send('GET /zk/get?path=/pinot15/PROPERTYSTORE/SCHEMAS/sales.deals')).toBe(403);
    expect(await send('GET /zk/get?path=/pinot15/PROPERTYSTORE/SEGMENTS/nosuch_OFFLINE')).toBe(403);
  });
});

describe('the list of databases', () => {
  const listed = async (): Promise<unknown> => (await app.inject('/databases')).json<unknown>();

  it('has those with a table that the caller may see', async () => {
    grant(allow('Query', 'srn2:table#sales.customers'));
    expect(await listed()).toEqual(['sales']);
    grant(allow('GetSchema', 'srn2:table#*'));
    expect(await listed()).toEqual(['default', 'sales']);
    grant(allow('Query', 'srn2:table#no_such_table'));
    expect(await listed()).toEqual([]);
  });

  it('has all for a caller with GetDatabase on the cluster', async () => {
    grant(allow('GetDatabase', 'srn2:cluster#pinot15'));
    expect(await listed()).toEqual(['default', 'sales']);
  });
});

it('an empty header names no database, as in Pinot', async () => {
  grant(EVERYTHING);
  const plain = await ask('SELECT * FROM sales.customers LIMIT 2');
  expect(await ask('SELECT * FROM sales.customers LIMIT 2', { database: '' })).toEqual(plain);
  expect(plain.status).toBe(200);
  const [asked] = queries().slice(-1);
  expect(asked?.headers['database']).toBe('sales');
  expect((await app.inject({ url: '/tables', headers: { database: '' } })).body).toBe(
    (await app.inject('/tables')).body,
  );
});
