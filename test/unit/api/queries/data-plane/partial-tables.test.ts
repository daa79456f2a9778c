import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Authorizer } from '../../../../../src/access/authorizer.ts';
import type { Reading, TableConditions } from '../../../../../src/access/conditions.ts';
import { formatSrn } from '../../../../../src/access/policy/srn.ts';
import { parseRowFilter } from '../../../../../src/access/sql/row-filter.ts';
import { paginatedQueries } from '../../../../../src/api/queries/index.ts';
import { engineProxy } from '../../../../../src/api/proxy/index.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../../../src/pinot/table-name.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { authorizerBy, dataPlaneOf, TEST_HEADERS, testApp } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';

function filter(text: string) {
  const found = parseRowFilter(text);
  if (!found.ok) throw new Error(found.reason);
  return found;
}

/** The conditions of the rows of an owner. */
function conditionsOf(owner: string): TableConditions {
  return { rows: [[filter(`owner = '${owner}'`)]], columns: undefined, masks: new Map(), key: `owner=${owner}` };
}

const SCHEMA = {
  schemaName: 'deals',
  dimensionFieldSpecs: [
    { name: 'owner', dataType: 'STRING' },
    { name: 'a', dataType: 'STRING' },
  ],
  metricFieldSpecs: [{ name: 'secret', dataType: 'LONG' }],
};

const RESPONSE = {
  resultTable: { dataSchema: { columnNames: ['a'], columnDataTypes: ['STRING'] }, rows: [['x'], ['y']] },
  exceptions: [],
  numDocsScanned: 4711,
  totalDocs: 815,
  numSegmentsQueried: 3,
  tablesQueried: ['deals'],
  timeUsedMs: 3,
  traceInfo: { Server_1: 'secret' },
};

const VERSION = { 'pinot-controller': '1.5.1-020ff0d0' };

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let dataPlane: ReturnType<typeof dataPlaneOf>;
let reading: Reading;
let body: string;
let status: number;
/** Callers whose reading of `deals` is `reading`; others may do everything. */
const limited: Authorizer = {
  ...authorizerBy((_who, action, resource) => action !== 'Query' || formatSrn(resource) !== 'srn2:table#deals'),
  hasConditions: () => true,
  reading: (_who, table) =>
    formatSrn(table) === 'srn2:table#deals' ? reading : { allowed: true, conditions: undefined },
};

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['deals_OFFLINE', 'offers_OFFLINE'], '');
  fake.json('GET /tables/deals/schema', SCHEMA);
  fake.json('GET /version', VERSION);
  fake.answers.set('POST /query/sql', (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  engine = createEngine({ controllerUrls: [fake.url] });
  await engine.actualTables([tableNameOf('deals')]);
  dataPlane = dataPlaneOf(engine);
  app = await testApp({
    authorizer: limited,
    register: [
      async (scope) => paginatedQueries(scope, { queries: dataPlane.queries, settings: dataPlane.settings } as never),
      async (scope) => engineProxy(scope, { engine }),
    ],
    parts: { dataPlane },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

beforeEach(() => {
  reading = { allowed: true, conditions: conditionsOf('me') };
  body = JSON.stringify(RESPONSE);
  status = 200;
});

afterEach(() => {
  fake.seen.length = 0;
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

async function call(path: string, sql?: string, more: object = {}) {
  const { port } = app.server.address() as { port: number };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...(sql !== undefined && { method: 'POST', body: JSON.stringify({ sql, ...more }) }),
    headers: { ...TEST_HEADERS, 'content-type': 'application/json' },
  });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) as Record<string, unknown> };
}

/** The texts that the engine got. */
function asked(): string[] {
  return fake.seen
    .filter(({ url }) => url.startsWith('/query'))
    .map((one) => (JSON.parse(one.body) as { sql: string }).sql);
}

describe.each(['/query/sql', '/query/sql?doPaginate=true'])('a caller with conditions at %s', (path) => {
  it('reads the rows of its filter, without statistics of others', async () => {
    const found = await call(path, 'SELECT a FROM DEALS WHERE a = 1 OR TRUE LIMIT 5');
    expect(found.status, found.text).toBe(200);
    expect(asked()).toEqual([`SELECT "a" FROM "DEALS" WHERE ("owner" = 'me') AND ("a" = 1 OR TRUE) LIMIT 5`]);
    expect(found.json()).toMatchObject({ resultTable: RESPONSE.resultTable });
    for (const hidden of ['4711', '815', 'numSegmentsQueried', 'traceInfo']) expect(found.text).not.toContain(hidden);
  });

  it('reads whole tables as before', async () => {
    body = JSON.stringify({ ...RESPONSE, tablesQueried: ['offers'] });
    const found = await call(path, 'SELECT a FROM offers LIMIT 5');
    expect(asked()).toEqual(['SELECT "a" FROM "offers" LIMIT 5']);
    expect(found.text).toContain('4711');
  });

  it('gets of an error its kind and position', async () => {
    body = JSON.stringify({
      exceptions: [
        { errorCode: 200, message: `QueryExecutionError: For input string: "outside" line 1, column 2` },
        { errorCode: 150, message: 'SQLParsingError: line 3, column 4: "outside"' },
      ],
      totalDocs: 815,
    });
    const { text } = await call(path, 'SELECT a FROM deals');
    expect(text).toContain('QueryExecutionError: the message');
    expect(text).toContain('SQLParsingError at line 3, column 4 of');
    for (const hidden of ['outside', '815', 'column 2']) expect(text).not.toContain(hidden);
  });

  it.each([
    ['a text', 'java.lang.IllegalStateException: outside', 500],
    ['JSON', '{"code":500,"error":"outside"}', 500],
  ])('gets nothing of an error that is %s', async (_, sent, code) => {
    body = sent;
    status = code;
    const found = await call(path, 'SELECT a FROM deals');
    expect(found.status).toBe(code);
    expect(found.text).not.toContain('outside');
  });

  it('gets no response that is not JSON', async () => {
    body = 'outside';
    const found = await call(path, 'SELECT a FROM deals');
    expect(found.status).toBe(502);
    expect(found.text).not.toContain('outside');
  });

  it.each([
    ['EXPLAIN PLAN FOR SELECT a FROM deals', {}, '`EXPLAIN`'],
    ['SELECT a FROM deals', { trace: true }, '`trace`'],
    ['SELECT a FROM deals', { queryOptions: 'trace=true' }, '`trace`'],
    ['SELECT a FROM deals', { debugOptions: 'timeoutMs=1' }, '`debugOptions`'],
    [`SELECT lookUp('deals', 'a', 'b', c) FROM offers`, {}, '`LOOKUP`'],
    [`SET skipUpsert = true; SELECT a FROM deals`, {}, '`skipUpsert`'],
    ['SELECT $docId FROM deals', {}, '`$docId`'],
  ])('is refused %s %o', async (sql, more, why) => {
    const found = await call(path, sql, more);
    expect(found.status).toBe(403);
    expect(found.text).toContain(why);
    expect(asked()).toEqual([]);
  });

  it('is refused a filter over a column that is gone', async () => {
    reading = { allowed: true, conditions: { ...conditionsOf('me'), rows: [[filter('gone = 1')]] } };
    const found = await call(path, 'SELECT a FROM deals');
    expect([found.status, asked()]).toEqual([403, []]);
    expect(found.text).toContain('`gone`, which its schema does not have');
  });

  it('gets the name of a column that is masked', async () => {
    const expression = filter(`lower(a) = 1`).condition.parts.slice(0, -2);
    const masks = new Map([['a', { expression: { kind: 'sequence', parts: expression } as const, text: 'lower(a)' }]]);
    reading = { allowed: true, conditions: { ...conditionsOf('me'), masks } };
    const dataSchema = {
      columnNames: ['lower(a)', 'owner', 'lower(a)'],
      columnDataTypes: ['STRING', 'STRING', 'STRING'],
    };
    body = JSON.stringify({ ...RESPONSE, resultTable: { dataSchema, rows: [['x', 'me', 'x']] } });
    const found = await call(path, 'SELECT a AS a, owner, a AS shown FROM deals');
    expect(asked()).toEqual([
      `SELECT (lower ("a")), "owner", (lower ("a")) AS "shown" FROM "deals" WHERE ("owner" = 'me')`,
    ]);
    expect(found.json()).toMatchObject({ resultTable: { dataSchema: { columnNames: ['a', 'owner', 'lower(a)'] } } });
  });

  it('reads only its columns', async () => {
    const columns = { kind: 'deny', names: new Set(['secret']) } as const;
    reading = { allowed: true, conditions: { ...conditionsOf('me'), columns } };
    await call(path, 'SELECT * FROM deals');
    await call(path, 'SET useMultistageEngine = true; SELECT * FROM deals');
    expect(asked()).toEqual([
      `SELECT "a", "owner" FROM "deals" WHERE ("owner" = 'me')`,
      `SET "useMultistageEngine" = true; SELECT * FROM (SELECT "a", "owner" FROM "deals" WHERE ("owner" = 'me')) AS "deals"`,
    ]);
    expect((await call(path, 'SELECT max(secret) FROM deals')).status).toBe(403);
  });
});

it.each([
  [{ 'pinot-controller': '0.11.0-1b4d6b6b0a27422c1552ea1a936ad145056f7033' }, 403],
  [{ 'pinot-controller': '1.0.0' }, 403],
  [{ 'pinot-controller': 'unknown' }, 403],
  [{}, 403],
  [{ 'pinot-controller': '1.1.0' }, 200],
  [{ 'pinot-controller': '2.0.0-SNAPSHOT' }, 200],
])('in the multi-stage engine, which lost filters before 1.1: %o', async (version, expected) => {
  const old = createEngine({ controllerUrls: [fake.url] });
  fake.json('GET /version', version);
  body = JSON.stringify({ ...RESPONSE, tablesQueried: [] });
  const own = await testApp({
    authorizer: limited,
    register: async () => undefined,
    parts: { dataPlane: dataPlaneOf(old) },
  });
  const query = (sql: string, url = '/query/sql') => own.inject({ method: 'POST', url, payload: { sql } });
  const found = await query('SET useMultistageEngine = true; SELECT a FROM deals');
  const whole = await query('SET useMultistageEngine = true; SELECT a FROM offers');
  const single = await query('SELECT a FROM deals');
  fake.json('GET /version', VERSION);
  await own.close();
  await old.close();
  expect([found.statusCode, whole.statusCode, single.statusCode]).toEqual([expected, 200, 200]);
  if (expected === 403) expect(found.body).toContain('in the multi-stage engine of Pinot before 1.1');
});

it('is refused with 503 while the schema cannot be read', async () => {
  const other = createEngine({ controllerUrls: [fake.url] });
  fake.json('GET /tables/deals/schema', { code: 500, error: 'no' }, 500);
  const own = await testApp({
    authorizer: limited,
    register: async () => undefined,
    parts: { dataPlane: dataPlaneOf(other) },
  });
  const found = await own.inject({ method: 'POST', url: '/query/sql', payload: { sql: 'SELECT a FROM deals' } });
  fake.json('GET /tables/deals/schema', SCHEMA);
  await own.close();
  await other.close();
  expect([found.statusCode, asked()]).toEqual([503, []]);
  expect(found.body).toContain('the columns of `deals`');
});

it('a logical table without conditions is refused if one of its tables has some', async () => {
  const other = new FakeEngine();
  const url = await other.listen();
  other.serve(['deals_OFFLINE', 'offers_OFFLINE'], JSON.stringify({ ...RESPONSE, tablesQueried: [] }));
  other.json('GET /logicalTables', ['view', 'whole']);
  other.json('GET /logicalTables/view', { physicalTableConfigMap: { offers_OFFLINE: {}, deals_OFFLINE: {} } });
  other.json('GET /logicalTables/whole', { physicalTableConfigMap: { offers_OFFLINE: {} } });
  const logical = createEngine({ controllerUrls: [url] });
  const own = await testApp({
    authorizer: limited,
    register: async () => undefined,
    parts: { dataPlane: dataPlaneOf(logical) },
  });
  const query = (sql: string) => own.inject({ method: 'POST', url: '/query/sql', payload: { sql } });
  const [view, whole] = [await query('SELECT a FROM view'), await query('SELECT a FROM whole')];
  await own.close();
  await logical.close();
  await other.close();
  expect([view.statusCode, whole.statusCode]).toEqual([403, 200]);
  expect(view.body).toContain('`view` consists of `srn2:table#deals`, which may be read in part only');
});

it.each([
  ['while they can be listed', { physicalTableConfigMap: { offers_OFFLINE: {}, deals_OFFLINE: {} } }, 200],
  ['while they could not be listed', { code: 500, error: 'no' }, 500],
])('a stored result of a logical table is 410 when one of its tables gets conditions: %s', async (_, body, code) => {
  const other = new FakeEngine();
  const url = await other.listen();
  other.serve(['deals_OFFLINE', 'offers_OFFLINE'], JSON.stringify({ ...RESPONSE, tablesQueried: [] }));
  other.json('GET /logicalTables', ['view']);
  other.json('GET /logicalTables/view', body, code);
  const logical = createEngine({ controllerUrls: [url] });
  const parts = dataPlaneOf(logical);
  let isLimited = false;
  const own = await testApp({
    authorizer: {
      ...limited,
      hasConditions: () => isLimited,
      reading: (who, table) => (isLimited ? limited.reading(who, table) : { allowed: true, conditions: undefined }),
    },
    register: async (scope) => paginatedQueries(scope, { queries: parts.queries, settings: parts.settings } as never),
    parts: { dataPlane: parts },
  });
  const submitted = await own.inject({
    method: 'POST',
    url: '/query/sql?doPaginate=true',
    payload: { sql: 'SELECT a FROM view' },
  });
  const page = `/query/${submitted.json<{ requestId: string }>().requestId}/results?offset=0`;
  const before = await own.inject(page);
  isLimited = true;
  const after = await own.inject(page);
  const download = await own.inject(page.replace('offset=0', 'format=csv'));
  await own.close();
  await logical.close();
  await other.close();
  expect([submitted.statusCode, before.statusCode, after.statusCode, download.statusCode]).toEqual([
    200, 200, 410, 410,
  ]);
  expect(after.body).toContain('run the query again');
});

describe('a stored result', () => {
  const stored = async (): Promise<string> => {
    const { text } = await call('/query/sql?doPaginate=true', 'SELECT a FROM deals');
    return (JSON.parse(text) as { requestId: string }).requestId;
  };

  it.each([
    ['the same conditions', { allowed: true, conditions: conditionsOf('me') }, 200],
    ['other conditions', { allowed: true, conditions: conditionsOf('you') }, 410],
    ['no conditions any more', { allowed: true, conditions: undefined }, 410],
    ['no right any more', { allowed: false }, 403],
  ] as const)('by a caller with %s', async (_, now, expected) => {
    const id = await stored();
    reading = now;
    for (const path of [
      `/query/${id}/results?offset=0`,
      `/query/${id}/results?format=csv`,
      `/responseStore/${id}/results?offset=0`,
      `/responseStore/${id}`,
    ]) {
      const found = await call(path);
      expect([path, found.status]).toEqual([path, expected]);
      if (expected === 410) expect(found.text).toContain('run the query again');
    }
  });

  it('is recorded by its text without conditions, which have values of the caller', async () => {
    const id = await stored();
    expect(asked().at(-1)).toContain(`"owner" = 'me'`);
    const { record } = await dataPlane.queries.open(id, AbortSignal.timeout(5_000));
    expect(record.sql).toBe('SELECT "a" FROM "deals"');
  });

  it('of whole tables by a caller with conditions', async () => {
    reading = { allowed: true, conditions: undefined };
    const id = await stored();
    reading = { allowed: true, conditions: conditionsOf('me') };
    expect((await call(`/query/${id}/results?offset=0`)).status).toBe(410);
  });
});

describe('calls of the controller', () => {
  it.each([
    '/segments/deals/metadata',
    '/segments/deals_OFFLINE/s1',
    '/segments/deals',
    '/tables/deals/size',
    '/tables/deals/metadata?columns=*',
    '/tables/deals/indexes',
    '/tables/deals/idealstate',
    '/tables/deals/consumingSegmentsInfo',
    '/tables/DEALS/segments/s1/metadata',
    '/debug/tables/deals',
    '/zk/get?path=/c/SEGMENTS/deals_OFFLINE/s1',
    '/tasks/MergeRollupTask/deals_OFFLINE/metadata',
  ])('%s shows rows of others and is refused', async (path) => {
    const found = await call(path);
    expect([found.status, fake.seen.filter(({ url }) => url === path)]).toEqual([403, []]);
    expect(found.text).toContain('may be read in part only');
  });

  it.each([
    '/tables/deals',
    '/tables/deals/schema',
    '/schemas/deals',
    '/segments/offers/metadata',
    '/tables/offers/size',
  ])('%s is forwarded', async (path) => {
    expect((await call(path)).status).toBe(200);
  });

  it('lists the table', async () => {
    fake.json('GET /tables', { tables: ['deals', 'offers'] });
    expect((await call('/tables')).text).toContain('deals');
  });
});
