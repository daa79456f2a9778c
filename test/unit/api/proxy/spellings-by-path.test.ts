// @module-tag slow
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { FakeEngine, type SeenRequest } from '../../../support/fake-engine.ts';
import { proxyApp } from './proxy-app.ts';

// Every spelling of a table, with every way to name a database, on every path that takes SQL. The engine of this test resolves names as 1.5.1 does (see
// the recordings in `databases/`), and no request may make it read a table that the caller may not query.

/** Spellings of a table in `FROM`, in either database or in none that exists. */
const SPELLINGS = [
  'deals',
  'sales.deals',
  '"sales.deals"',
  '"sales"."deals"',
  'sales."deals"',
  '"default"."deals"',
  'SALES.Deals',
  '"SALES.DEALS_OFFLINE"',
  '`sales`.`deals`',
  '`sales.deals`',
  'sales . deals',
  '"sales ".deals',
  'sales..deals',
  'other.sales.deals',
  'deals, sales.deals AS b',
  '(SELECT * FROM sales.deals) AS x',
  "deals WHERE IN_SUBQUERY(a, 'SELECT IDSET(a) FROM sales.deals') = 1",
  "deals WHERE LOOKUP('sales.deals', 'a', 'b', a) = 1",
];

interface Context {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly before?: string;
  readonly after?: string;
  readonly queryOptions?: string;
}

/** Ways to name a database beside the prefix. */
const CONTEXTS: Readonly<Record<string, Context>> = {
  nothing: {},
  'the header': { headers: { database: 'sales' } },
  'the header in capitals': { headers: { Database: 'SALES' } },
  'the header of the default database': { headers: { Database: 'Default' } },
  'the header twice': { headers: { database: ['default', 'sales'] } },
  'the header with two names': { headers: { database: 'default,sales' } },
  'the header with blanks': { headers: { database: 'sales deals' } },
  SET: { before: "SET database='sales'; " },
  'SET in capitals': { before: "SET DATABASE = 'SALES'; " },
  'SET of an identifier': { before: 'SET "database" = sales; ' },
  'SET twice': { before: "SET database='default'; SET database='sales'; " },
  'SET twice, in two cases': { before: "SET Database='default'; SET dataBase='sales'; " },
  'SET and the header': { before: "SET database='sales'; ", headers: { database: 'default' } },
  OPTION: { after: ' OPTION(database=sales)' },
  'OPTION and SET': { before: "SET database='default'; ", after: ' option( database = sales )' },
  queryOptions: { queryOptions: 'database=sales' },
  'queryOptions in capitals': { queryOptions: 'DataBase=sales;timeoutMs=1' },
  'queryOptions twice': { queryOptions: 'database=default;database=sales' },
  'queryOptions and SET': { queryOptions: 'database=sales', before: "SET database='default'; " },
  'queryOptions and the header': { queryOptions: 'database=sales', headers: { database: 'default' } },
};

interface Sent {
  readonly sql: string;
  readonly queryOptions: string | undefined;
}

const query = (sent: Sent, name = 'sql') =>
  `${name}=${encodeURIComponent(sent.sql)}${sent.queryOptions === undefined ? '' : `&queryOptions=${encodeURIComponent(sent.queryOptions)}`}`;

/** Paths that take SQL. */
const DOORS: Readonly<Record<string, (sent: Sent) => { method: 'GET' | 'POST'; url: string; payload?: object }>> = {
  'POST /query/sql': (payload) => ({ method: 'POST', url: '/query/sql', payload }),
  'GET /query/sql': (sent) => ({ method: 'GET', url: `/query/sql?${query(sent)}` }),
  'POST /query': (payload) => ({ method: 'POST', url: '/query', payload }),
  'GET /query': (sent) => ({ method: 'GET', url: `/query?${query(sent)}` }),
  'POST /sql': (payload) => ({ method: 'POST', url: '/sql', payload }),
  'GET /sql': (sent) => ({ method: 'GET', url: `/sql?${query(sent)}` }),
  'POST /query/sql with multi-stage options': ({ sql, queryOptions }) => ({
    method: 'POST',
    url: '/query/sql',
    payload: { sql, queryOptions: ['useMultistageEngine=true', queryOptions].filter(Boolean).join(';') },
  }),
  paginated: (payload) => ({ method: 'POST', url: '/query/sql?doPaginate=true', payload }),
  'a cursor': (payload) => ({ method: 'POST', url: '/query/sql?getCursor=true&numRows=1', payload }),
  'a fingerprint': (payload) => ({ method: 'POST', url: '/query/sql/queryFingerprint', payload }),
  validation: (payload) => ({ method: 'POST', url: '/validateMultiStageQuery', payload }),
  'validation of a list': ({ sql, ...more }) => ({
    method: 'POST',
    url: '/validateMultiStageQuery',
    payload: { sqls: ['SELECT 1', sql], ...more },
  }),
  'time series': ({ sql }) => ({
    method: 'GET',
    url: `/timeseries/api/v1/query_range?language=sql&query=${encodeURIComponent(sql)}`,
  }),
  comparison: (payload) => ({ method: 'POST', url: '/query/compare', payload }),
};

const TABLES = ['deals', 'sales.deals'];
let fake: FakeEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;
let unclear: string[];

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  const broker = [{ host: '127.0.0.1', port: fake.port }];
  fake.json('GET /databases', ['default', 'sales']);
  fake.json('GET /logicalTables', []);
  fake.answers.set('GET /tables/livebrokers', ({ headers }, response) => {
    const table = headers['database'] === 'sales' ? 'sales.deals_OFFLINE' : 'deals_OFFLINE';
    response.end(JSON.stringify({ [table]: broker }));
  });
  ({ app, decisions } = await proxyApp(fake.url, 'c'));
});

afterAll(async () => {
  await app.close();
  await fake.close();
});

beforeEach(() => {
  unclear = [];
});

/** `database` and `queryOptions` of a request to the engine, as the engine reads them. */
function optionsOf(text: string, queryOptions: string | undefined): Map<string, string> {
  const options = new Map<string, string>();
  const add = (pattern: RegExp, source: string): void => {
    for (const [, key = '', value = ''] of source.matchAll(pattern)) options.set(key.toLowerCase(), value);
  };
  add(/([\w.$-]+)=([^;]*)/g, queryOptions ?? '');
  add(/SET "([^"]+)" = '([^']*)'/g, text);
  add(/SET "([^"]+)" = ([\w.]+)/g, text);
  for (const [, list = ''] of text.matchAll(/OPTION\(([^)]*)\)/g)) add(/([\w.$-]+)=([^,]*)/g, list);
  return options;
}

/** The tables that the engine reads for one printed text. Unqualified names of `LOOKUP` are those of the default database. */
function tablesRead(text: string, { header, multistage, queryOptions }: EngineContext): string[] {
  const options = optionsOf(text, queryOptions);
  const isMultistage = multistage || options.get('usemultistageengine') === 'true';
  const option = isMultistage ? options.get('database') : undefined;
  if (header !== undefined && option !== undefined && header !== option) return [];
  const database = header ?? option;
  const found: string[] = [];
  const inner = text.replaceAll(/"?IN_SUBQUERY"? ?\([^']*'((?:[^']|'')*)'/g, (_, sub: string) => {
    found.push(...tablesRead(sub.replaceAll("''", "'"), { header, multistage, queryOptions }));
    return '';
  });
  const rest = inner.replaceAll(/"?LOOKUP"? ?\( ?'([^']*)'[^)]*\)/g, (_, name: string) => {
    found.push(name);
    return '';
  });
  const names = [...rest.matchAll(/(?:FROM|JOIN|,) ?("[^"]+"(?: ?\. ?"[^"]+")*)(?= |$|\)|;|,)/g)].map(([, name = '']) =>
    name.replaceAll(/[" ]/g, ''),
  );
  if (names.length === 0 && !/SELECT 1(?:;|$)/.test(inner)) unclear.push(text);
  for (const name of names) {
    const [prefix, table] = name.includes('.') ? name.split('.') : [undefined, name];
    if (prefix !== undefined && database !== undefined && prefix !== database) continue;
    // Whole names in one pair of quotes are not found by the multi-stage engine; reading them is the worse case.
    found.push(`${prefix ?? database ?? 'default'}.${table}`);
  }
  return found;
}

interface EngineContext {
  readonly header: string | undefined;
  readonly multistage: boolean;
  readonly queryOptions: string | undefined;
}

/** In the spelling of policies: the engine compares names without case, and ignores a type suffix. */
function canonical(name: string): string {
  return name
    .toLowerCase()
    .replace(/_(?:offline|realtime)$/, '')
    .replace(/^default\./, '');
}

function readBy({ url, headers, body }: SeenRequest): string[] {
  const path = url.split('?')[0] ?? '';
  const {
    sql,
    sqls = [],
    queryOptions,
  } = JSON.parse(body) as {
    sql?: string;
    sqls?: string[];
    queryOptions?: string;
  };
  const header = headers['database'] as string | undefined;
  const multistage = path === '/query' || path === '/validateMultiStageQuery';
  return [...(sql === undefined ? [] : [sql]), ...sqls].flatMap((text) =>
    tablesRead(text, { header, multistage, queryOptions }).map(canonical),
  );
}

describe.each(TABLES)('a caller who may query `%s` alone', (allowed) => {
  it.each(Object.keys(DOORS))('reads nothing else by %s', async (door) => {
    decisions.setPolicy('p', {
      statements: [{ effect: 'allow', actions: ['Query'], resources: [`srn2:table#${allowed}`] }],
    });
    decisions.setRole('r', ['p']);
    fake.seen.length = 0;
    const statuses = new Map<number, number>();
    const step = door.startsWith('POST /query') ? 1 : 3;
    for (const [row, spelling] of SPELLINGS.entries()) {
      for (const [column, [name, context]] of Object.entries(CONTEXTS).entries()) {
        // A part of the combinations on paths that share their code with another one.
        if ((row + column) % step !== 0) continue;
        const { headers = {}, before = '', after = '', queryOptions } = context;
        const sql = `${before}SELECT * FROM ${spelling}${after}`;
        const request = DOORS[door]!({ sql, ...(queryOptions !== undefined && { queryOptions }) } as Sent);
        const { statusCode } = await app.inject({ ...request, headers });
        statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
        const sent = fake.seen
          .splice(0)
          .filter(({ method, url }) => method === 'POST' || url.startsWith('/timeseries'));
        for (const one of sent) {
          const found = `${spelling} with ${name}: ${one.body} ${String(one.headers['database'])}`;
          expect([found, readBy(one).filter((table) => table !== allowed)]).toEqual([found, []]);
        }
      }
    }
    expect(unclear).toEqual([]);
    // The caller's own table is found on each path that is not closed to the caller, and no request fails.
    const open = door !== 'time series' && door !== 'comparison';
    if (open) expect(statuses.get(400)).toBeGreaterThan(0);
    expect(statuses.get(403)).toBeGreaterThan(0);
    expect([...statuses.keys()].filter((status) => status >= 500 && status !== 502)).toEqual([]);
    expect((statuses.get(200) ?? 0) + (statuses.get(502) ?? 0) > 0).toBe(open);
  });
});

it.each([
  ['POST', '/query/sql', { database: 'sales' }],
  ['POST', '/query/sql', { options: { database: 'sales' } }],
  ['POST', '/query/sql', { queryOptions: { database: 'sales' } }],
  ['POST', '/query', { Database: 'sales' }],
  ['POST', '/sql', { database: 'sales' }],
  ['POST', '/validateMultiStageQuery', { database: 'sales' }],
  ['POST', '/query/sql?database=sales', {}],
  ['POST', '/query/sql?queryOptions=database%3Dsales', {}],
  ['GET', `/query/sql?sql=${encodeURIComponent('SELECT * FROM deals')}&database=sales`, undefined],
  ['GET', `/query/sql?sql=${encodeURIComponent('SELECT * FROM deals')}&sql=x`, undefined],
  ['GET', `/sql?sql=${encodeURIComponent('SELECT * FROM deals')}&Database=sales`, undefined],
] as const)('a database in another place is refused: %s %s %j', async (method, url, more) => {
  decisions.setPolicy('p', { statements: [{ effect: 'allow', actions: ['*'], resources: ['*'] }] });
  decisions.setRole('r', ['p']);
  fake.seen.length = 0;
  const payload = more === undefined ? {} : { payload: { sql: 'SELECT * FROM deals', ...more } };
  expect((await app.inject({ method, url, ...payload })).statusCode).toBe(400);
  expect(fake.seen).toEqual([]);
});

it.each(['/query/sql', '/query', '/sql'])('`debugOptions` cannot name a database: %s', async (url) => {
  decisions.setPolicy('p', { statements: [{ effect: 'allow', actions: ['*'], resources: ['*'] }] });
  decisions.setRole('r', ['p']);
  const payload = { sql: 'SELECT * FROM deals', debugOptions: 'database=sales' };
  expect((await app.inject({ method: 'POST', url, payload })).statusCode).toBe(400);
});
