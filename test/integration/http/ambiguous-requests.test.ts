import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type RawAnswer, type RawRequest } from '../../support/raw-client.ts';
import { headerOf, StubEngine } from '../../support/stub-engine.ts';
import { BIG5, GBK, hidden, SHIFT_JIS } from './hidden-sql.ts';

// Requests that two servers can interpret differently are rejected and do not reach the engine. The caller may only query `readable`.

const ROWS_LIMIT = 5;
const TABLES = ['readable', 'secret', 'other.readable', 'customers', 'x.customers', 'y.customers'];

let engine: StubEngine;
let gateway: GatewayProcess;
let token: string;

beforeAll(async () => {
  engine = new StubEngine(TABLES.map((table) => `${table}_OFFLINE`));
  await engine.listen();
  const flags = { 'max-rows-per-query': ROWS_LIMIT };
  gateway = await GatewayProcess.start({ controllers: engine.url, flags });
  // Otherwise the first health run would come during a test, and its requests with it.
  const run = await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
  expect(run.status).toBe(200);
  const resources = ['srn2:table#readable', 'srn2:table#x.customers'];
  ({ bearerToken: token } = await gateway.tokenFor('reader', [{ effect: 'allow', actions: ['Query'], resources }]));
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});
beforeEach(() => {
  engine.requests.length = 0;
});

async function ask(request: RawRequest): Promise<RawAnswer> {
  return gateway.once({ ...request, headers: [gateway.authorization(token), ...(request.headers ?? [])] });
}

/** Expects an error body with this status, and no request at the engine. */
/** @param probe what may reach the engine, beside nothing: the question whether it has a path */
async function expectRefused(request: RawRequest, statuses: readonly number[] = [400], probe?: string): Promise<void> {
  const answer = await ask(request);
  const text = answer.body.toString();
  expect({ statuses: statuses.includes(answer.status) ? statuses : answer.status, text }).toEqual({ statuses, text });
  expect(JSON.parse(text)).toMatchObject({ status: answer.status, message: expect.stringMatching(/./) as string });
  const received = engine.requests.map(({ method, target, body }) => `${method} ${target} ${body.toString()}`.trim());
  expect(received.filter((one) => one !== probe)).toEqual([]);
}

const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const PLAIN = 'SELECT a FROM readable LIMIT 3';
const post = (body: string | Uint8Array, type = 'application/json', target = '/query/sql'): RawRequest => ({
  ...{ target, body },
  headers: [['Content-Type', type]],
});
const postSql = (sql: string, target = '/query/sql'): RawRequest => post(JSON.stringify({ sql }), undefined, target);

it('a plain query is forwarded', async () => {
  expect((await ask(postSql(PLAIN))).status).toBe(200);
  expect(engine.requests).toHaveLength(1);
});

const ROUTES = ['/query/sql', '/query', '/sql', '/query/sql?doPaginate=true&numRows=3'];

describe.each(ROUTES)('a body in two character sets at %s', (route) => {
  it.each([
    ['a second charset', 'application/json; charset=utf-8; charset=shift_jis', SHIFT_JIS],
    ['a first charset', 'application/json; charset=shift_jis; charset=utf-8', SHIFT_JIS],
    ['another parameter that ends with charset', 'application/json; xcharset=utf-8; charset=shift_jis', SHIFT_JIS],
    ['a charset after xcharset', 'application/json; charset=utf-8; xcharset=shift_jis', SHIFT_JIS],
    ['a charset in a quoted parameter', 'application/json; x="charset=utf-8"; charset=shift_jis', SHIFT_JIS],
    ['a charset in quotes', 'application/json; charset="shift_jis"', SHIFT_JIS],
    ['a charset in single quotes', "application/json; charset='shift_jis'", SHIFT_JIS],
    ['GBK', 'application/json; charset=utf-8; charset=gbk', GBK],
    ['Big5', 'application/json; charset=utf-8; charset=big5', BIG5],
    ['UTF-16', 'application/json; charset=utf-16', SHIFT_JIS],
    ['UTF-7', 'application/json; charset=utf-7', SHIFT_JIS],
    ['an unknown charset', 'application/json; charset=utf-8x', SHIFT_JIS],
  ])('is rejected: %s', async (_name, type, character) => {
    await expectRefused(post(hidden(character, 'readable', 'secret'), type, route), [400, 415]);
  });

  it('is rejected, or also UTF-8 for the engine, if the header is repeated', async () => {
    const types = ['application/json; charset=utf-8', 'application/json; charset=gbk'];
    for (const [first = '', second = ''] of [types, types.toReversed()]) {
      const answer = await ask({
        ...{ target: route, body: hidden(GBK, 'readable', 'secret') },
        headers: [
          ['Content-Type', first],
          ['Content-Type', second],
        ],
      });
      expect([200, 400, 415]).toContain(answer.status);
      for (const request of engine.requests)
        expect(headerOf(request, 'content-type')).toMatch(/^[^,;]+; charset=utf-8$/i);
    }
  });
});

describe('a body that is rejected', () => {
  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
  const json = JSON.stringify({ sql: PLAIN });
  it.each<[string, string | Uint8Array]>([
    ['has a key twice', '{"sql":"SELECT a FROM readable","sql":"SELECT a FROM secret"}'],
    ['has a key twice, once escaped', '{"sql":"SELECT a FROM readable","s\\u0071l":"SELECT a FROM secret"}'],
    [
      'has a key twice within options',
      '{"sql":"SELECT a FROM readable","queryOptions":"trace=1","queryOptions":"sampler=2"}',
    ],
    ['has an unknown field', '{"sql":"SELECT a FROM readable","pql":"SELECT a FROM secret"}'],
    ['has a field in another case', '{"sql":"SELECT a FROM readable","SQL":"SELECT a FROM secret"}'],
    ['is an array', '[{"sql":"SELECT a FROM readable"}]'],
    ['is two values', `${json}${json}`],
    ['has text after it', `${json}#`],
    ['has a NUL after it', `${json}\0`],
    ['has a comment', '{"sql":"SELECT a FROM readable"/*,"sql":"SELECT a FROM secret"*/}'],
    ['has a comma too many', '{"sql":"SELECT a FROM readable",}'],
    ['is in single quotes', "{'sql':'SELECT a FROM readable'}"],
    ['is UTF-16', utf16(json)],
    ['is UTF-16 without a mark', Buffer.from(json, 'utf16le')],
    ['is UTF-32', Buffer.from(Array.from(json, (character) => `\0\0\0${character}`).join(''))],
    ['begins with the bytes of a mark twice', `\ufeff\ufeff${json}`],
    ['is not UTF-8', Buffer.from('{"sql":"SELECT a FROM readable WHERE a = \'\xe9\'"}', 'latin1')],
    ['has an overlong quote', Buffer.from('{"sql":"SELECT a FROM readable WHERE a = \xc0\xa7"}', 'latin1')],
    ['has a surrogate as UTF-8', Buffer.from('{"sql":"SELECT a FROM readable -- \xed\xa0\x80"}', 'latin1')],
    ['has a raw line feed in a string', '{"sql":"SELECT a\nFROM readable"}'],
    ['is nested 5,000 deep', `{"sql":"SELECT a FROM readable","trace":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
    ['is empty', ''],
    ['has no SQL', '{}'],
    ['has SQL that is no text', '{"sql":["SELECT a FROM secret"]}'],
  ])('because it %s', async (_name, body) => {
    await expectRefused(post(body));
  });

  it.each(['gzip', 'deflate', 'br', 'identity, gzip', 'x-gzip', 'aws-chunked'])(
    'because it is compressed: %s',
    async (coding) => {
      const headers = [JSON_TYPE, ['Content-Encoding', coding]] as const;
      await expectRefused({ target: '/query/sql', headers, body: json }, [400, 415]);
    },
  );
});

describe('SQL that another grammar parses differently is rejected', () => {
  it.each([
    ...['for', 'and', 'or', 'not', 'extend', 'option(x)', 'match_condition', 'qualify(x)'].map(
      (word) => `SELECT a FROM readable WHERE EXISTS (SELECT 1 FROM readable ${word}, secret)`,
    ),
    'SELECT c.x, t.ıs dıstinct FROM secret AS c, (SELECT y AS ıs FROM readable) AS t',
    'SELECT a FROM readable WHERE a IN (ſELECT a FROM secret)',
    'SELECT a FROM readable ſ, secret',
    'SELECT a FROM readable UNION SELECT a FROM secret',
    "SELECT a FROM readable WHERE IN_SUBQUERY(a, 'SELECT ID_SET(a) FROM secret') = 1",
    'SELECT a FROM readable; SELECT a FROM secret',
    'SELECT a FROM readable/*! , secret */, secret',
    'SELECT a FROM readable -- \u2028, secret\n, secret',
    'SELECT a FROM "readable", "secret"',
    'SELECT a FROM `secret`',
    'SELECT a FROM [secret]',
    'SELECT a FROM readable\0, secret',
    'SELECT a FROM readable\u00a0, secret',
    "SELECT 'a\\', a FROM secret -- ' FROM readable",
    'SELECT a FROM readable WHERE a = $$ FROM secret $$, secret',
    'TABLE secret',
    '(TABLE secret)',
    'SELECT a FROM readable WHERE a IN (TABLE secret)',
    'SELECT a FROM TABLE(secret)',
    'SELECT a FROM LATERAL (SELECT a FROM secret)',
    'WITH readable AS (SELECT a FROM secret) SELECT a FROM readable',
    'EXPLAIN PLAN FOR SELECT a FROM secret',
    'SET database = other; SELECT a FROM readable',
    "SET database = 'other'; SELECT a FROM readable",
  ])('%j', async (sql) => {
    for (const route of ROUTES) {
      await expectRefused(postSql(sql, route), [400, 403]);
      const parameter = route.includes('?') ? `&sql=${encodeURIComponent(sql)}` : `?sql=${encodeURIComponent(sql)}`;
      if (route !== '/query') await expectRefused({ target: route + parameter }, [400, 403]);
    }
  });
});

describe('headers that are rejected', () => {
  const refused = (headers: readonly (readonly [string, string])[], statuses?: readonly number[]) =>
    expectRefused(
      {
        target: '/query/sql',
        headers: [JSON_TYPE, ...headers],
        body: JSON.stringify({ sql: 'SELECT a FROM customers' }),
      },
      statuses,
    );

  it.each([
    'database',
    'Database',
    'keep-alive, database',
    'close, DATABASE',
    'content-type',
    'authorization',
    'content-length, x',
  ])('`Database` if `Connection: %s` would remove it', (connection) =>
    refused([
      ['Database', 'x'],
      ['Connection', connection],
    ]),
  );

  it('`Database` twice, as a list, or empty', async () => {
    await refused([
      ['Database', 'x'],
      ['Database', 'y'],
    ]);
    await refused([['Database', 'x, y']]);
    await refused([
      ['Database', 'x'],
      ['database', 'x'],
    ]);
    await refused([['Database', 'x.customers']], [400, 403]);
    await refused([['Database', 'x\xe9']], [400, 403]);
  });

  it('a database that the caller may not read', async () => {
    await refused([['Database', 'y']], [403]);
    await refused([], [403]);
  });
});

describe('spellings of a path', () => {
  const SQL = 'SELECT a FROM readable LIMIT 100';
  const body = JSON.stringify({ sql: SQL });
  const parameter = `sql=${encodeURIComponent(SQL)}`;

  it('the row limit applies to the plain spellings', async () => {
    for (const route of ROUTES.slice(0, 3)) await expectRefused(postSql(SQL, route));
    await expectRefused({ target: `/query/sql?${parameter}` });
  });

  it.each([
    '/%71uery/sql',
    '/query/%73ql',
    '/quer%79/sql',
    '/query%2fsql',
    '/query%2Fsql',
    '/query/sql%00',
    '/query/./sql',
    '/./query/sql',
    '/x/../query/sql',
    '/query/%2e/sql',
    '/x/%2e%2e/query/sql',
    '/x/.%2e/query/sql',
    '//query/sql',
    '/query//sql',
    '/query/sql//',
    '/query/sql;x=1',
    '/query;x=1/sql',
    '/query/sql%3b',
    '/query\\sql',
    '/query/sql%c0%af',
    '/query/sql%zz',
    '/%',
  ])('%s is 400 with any method', async (target) => {
    await expectRefused({ target, body, headers: [JSON_TYPE] });
    await expectRefused({ target: `${target}?${parameter}` });
    await expectRefused({ target, method: 'DELETE' });
  });

  it.each([
    `/query/sql?%73ql=${encodeURIComponent(SQL)}`,
    `/query/sql?sq%6c=${encodeURIComponent(SQL)}`,
    `/query/sql?${parameter}&${parameter}`,
    `/query/sql?sql=SELECT+a+FROM+readable&%73ql=${encodeURIComponent(SQL)}`,
    `/query/sql?sql=SELECT%20a%20FROM%20readable%20WHERE%20a=%27%e9%27`,
    `/query/sql?sql=SELECT%20a%20FROM%20readable%zz`,
    `/query/sql?SQL=${encodeURIComponent(SQL)}`,
    `/query/sql?sql[]=${encodeURIComponent(SQL)}`,
    `/query/sql?doPaginate=true&doPaginate=false&${parameter}`,
    `/query/sql?doPaginat%65=true&${parameter}`,
    `/query/sql?getCursor=true&doPaginate=false&${parameter}`,
  ])('%s is 400', async (target) => {
    await expectRefused({ target });
  });

  it.each([
    `/query/sql?sql=SELECT+a+FROM+readable;sql=${encodeURIComponent(SQL)}`,
    `/query/sql?sql=${encodeURIComponent(SQL)}%00`,
  ])('%s is rejected', async (target) => {
    await expectRefused({ target }, [400, 403]);
  });

  it.each([
    '/query/sql/',
    '/Query/sql',
    '/QUERY/SQL',
    '/query/Sql',
    '/query/sql/x',
    '/sql/',
    '/SQL',
    '/query/sql.json',
    '/query/sql~',
    '/query/sql,',
    '/query/sql%20',
    '/%2571uery/sql',
  ])('%s is no query for the engine', async (target) => {
    const statuses = [400, 403, 404, 405];
    await expectRefused({ target, body, headers: [JSON_TYPE] }, statuses, `OPTIONS ${target}`);
    await expectRefused({ target: `${target}?${parameter}` }, statuses, `OPTIONS ${target}`);
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'SEARCH', 'post', 'HEAD'])(
    '%s is not a method for queries',
    async (method) => {
      const answer = await ask({ method, target: `/query/sql?${parameter}` });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(engine.requests).toEqual([]);
    },
  );

  it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
    '%s is not sent to the engine',
    async (name) => {
      const answer = await ask({ ...postSql(PLAIN), headers: [JSON_TYPE, [name, 'GET']] });
      expect([200, 400]).toContain(answer.status);
      for (const { headers } of engine.requests) {
        expect(headers.map(([header]) => header.toLowerCase())).not.toContain(name.toLowerCase());
      }
    },
  );
});
