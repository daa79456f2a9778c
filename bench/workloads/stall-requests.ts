import { ACTIONS_BY_KIND } from '../../src/access/policy/action-kinds.ts';
import { SQL_LIMITS } from '../../src/access/sql/limits.ts';

/** A request with the maximum cost that the gateway's limits allow. */
export interface WorstRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by the service token whose role has the longest policy, instead of the administrator. */
  readonly asReader?: boolean;
}

const KIB = 1024;
const RBAC = '/api/v1/rbac-manager';
/** Limits of the gateway that the requests reach. */
const SQL_BYTES = SQL_LIMITS.bytes;
const BODY_BYTES = KIB * KIB;
const PATTERNS = 2048;
/** Node's limit on all header lines together is 16 KiB. */
const HEADER_BYTES = 15 * KIB;

/** `unit(0) unit(1) …` up to that many characters. */
function fill(characters: number, unit: (index: number) => string): string {
  const parts: string[] = [];
  let length = 0;
  for (let index = 0; length < characters; index++) {
    const part = unit(index);
    parts.push(part);
    length += part.length;
  }
  if (length > characters) parts.pop();
  return parts.join('');
}

/** Patterns that a text of many `a` nearly matches, so that only a full comparison shows the difference. */
const slowPattern = (index: number, length: number): string =>
  `srn2:table#*${'a'.repeat(length)}b${index.toString(36)}*c*`;

/** The largest allowed policy, with patterns that no index excludes. */
export function longestPolicy(patternLength: number): string {
  const perStatement = 256;
  const statements = Array.from({ length: PATTERNS / perStatement }, (_, statement) => ({
    effect: 'allow',
    actions: ['Query', ...actionPatterns(perStatement - 1)],
    resources: Array.from({ length: perStatement }, (_unused, index) =>
      slowPattern(statement * perStatement + index, patternLength),
    ),
  }));
  return JSON.stringify({ version: 'v1', statements });
}

/** Each matches an action on tables, because others are rejected. */
function actionPatterns(count: number): string[] {
  const actions = ACTIONS_BY_KIND.table;
  return Array.from({ length: count }, (_, index) => {
    const action = actions[index % actions.length] ?? '';
    const cut = 1 + (index % (action.length - 1));
    return `*${action.slice(0, cut)}*${action.slice(cut)}*`;
  });
}

/** Names of the maximum length in a request. */
const LONG_NAME = 'a'.repeat(512);
const post = (name: string, path: string, body: unknown): WorstRequest => ({
  name,
  method: 'POST',
  path,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

const sql = (name: string, text: string): WorstRequest => post(`SQL: ${name}`, '/query/sql', { sql: text });

/** `unit(0) unit(1) …`, so many of them. */
const repeat = (count: number, unit: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => unit(i)).join('');

/** Texts that reach a limit and are accepted. */
function sqlAtLimits(): WorstRequest[] {
  const { tokens, nesting, commonTables, tables, statements, bytes, texts } = SQL_LIMITS;
  // Leaves room for the rest of each text.
  const most = tokens - 100;
  const deep = nesting - 10;
  return [
    sql('columns', `SELECT ${repeat(most / 2, (i) => `c${i},`)}1 FROM orders`),
    sql('values in IN', `SELECT a FROM orders WHERE a IN (${repeat(most / 2, (i) => `${i % 9},`)}1)`),
    sql('one literal', `SELECT a FROM orders WHERE a = '${fill(bytes - 100, () => "x''")}'`),
    sql('comments', `SELECT a ${fill(bytes - 100, () => '/**/')} FROM orders`),
    sql('line comments', `SELECT a ${fill(bytes - 100, () => '--\n')} FROM orders`),
    sql(
      'parentheses',
      `SELECT ${repeat(Math.floor(most / (2 * deep + 2)), () => `${'('.repeat(deep)}1${')'.repeat(deep)},`)}1 FROM orders`,
    ),
    sql('nested queries', `${'SELECT a FROM ('.repeat(deep / 2)}SELECT a FROM orders${') AS t'.repeat(deep / 2)}`),
    sql(
      'nested calls',
      `SELECT ${repeat(Math.floor(most / (3 * deep + 2)), () => `${'f('.repeat(deep)}1${')'.repeat(deep)},`)}1 FROM orders`,
    ),
    sql('unary operators', `SELECT ${repeat(deep, () => '- ')}1 FROM orders`),
    sql('NOT', `SELECT a FROM orders WHERE ${'NOT '.repeat(deep)} a`),
    sql('conditions', `SELECT a FROM orders WHERE ${repeat(Math.floor(most / 4), (i) => `a=${i % 9} AND `)} a = 1`),
    sql(
      'common table expressions',
      `WITH ${repeat(commonTables - 1, (i) => `c${i} AS (SELECT 1 FROM orders), `)} z AS (SELECT 1 FROM orders) SELECT 1 FROM orders`,
    ),
    sql(
      'common table expressions, each of the one before',
      `WITH c0 AS (SELECT a FROM orders)${repeat(commonTables - 1, (i) => `, c${i + 1} AS (SELECT a FROM c${i})`)} SELECT a FROM orders`,
    ),
    sql('queries within strings', withinStrings(texts, most / 2)),
    sql('tables', `SELECT 1 FROM ${repeat(tables - 1, (i) => `t${i}, `)} orders`),
    sql(
      'tables of a database',
      `SET useMultistageEngine = true; SET database = '${'d'.repeat(128)}'; SELECT 1 FROM ${repeat(tables - 1, (i) => `t${i}${'t'.repeat(120)}, `)} orders`,
    ),
    sql('joins', `SELECT 1 FROM orders ${repeat(tables - 1, (i) => `JOIN t${i} ON a = b `)}`),
    sql('unions', `${repeat(tables - 1, () => 'SELECT a FROM orders UNION ALL ')} SELECT a FROM orders`),
    sql('SET', `${repeat(statements - 1, (i) => `SET k${i} = ${i}; `)} SELECT a FROM orders`),
  ];
}

/** A text with so many queries within strings, which have so many columns together. */
function withinStrings(texts: number, columns: number): string {
  const within = `in_subquery(a, 'SELECT ${repeat(Math.floor(columns / texts) - 20, () => 'a,')}1 FROM orders')`;
  return `SELECT ${repeat(texts - 1, () => `${within} + `)}${within} FROM orders`;
}

/** Texts that exceed a limit, and requests that are rejected. */
function sqlBeyondLimits(): WorstRequest[] {
  const list = (unit: (index: number) => string, size = SQL_BYTES - 100): string => fill(size, unit);
  return [
    sql('more columns', `SELECT ${list((i) => `c${i},`)}1 FROM orders`),
    sql('open parentheses', `SELECT ${'('.repeat(SQL_BYTES - 50)}`),
    sql('CASE', `SELECT ${list(() => 'CASE WHEN a THEN ')}1`),
    sql(
      'more common table expressions',
      `WITH ${list((i) => `c${i} AS (SELECT 1 FROM orders), `)} z AS (SELECT 1) SELECT 1`,
    ),
    sql('more queries within strings', withinStrings(SQL_LIMITS.texts, SQL_BYTES / 2)),
    sql('more tables', `SELECT 1 FROM ${list((i) => `t${i}, `)} orders`),
    sql('one name', `SELECT ${'a'.repeat(SQL_BYTES - 50)} FROM orders`),
    sql('quoted names with dots', `SELECT ${list(() => '"a"."b".')}"c" FROM orders`),
    sql(
      'words without a meaning',
      list(() => 'for '),
    ),
    sql(
      'what no token begins with',
      list(() => '\u0131'),
    ),
    post('SQL: query options', '/query/sql', {
      sql: 'SELECT a FROM orders',
      queryOptions: fill(BODY_BYTES - 200, (i) => `k${i}=${i};`),
    }),
    post('SQL: a longer text than is allowed', '/query/sql', { sql: 'x '.repeat(BODY_BYTES / 2 - 100) }),
    post('SQL: unknown fields', '/query/sql', `{"sql":"SELECT 1"${fill(BODY_BYTES - 100, (i) => `,"k${i}":${i}`)}}`),
    post('SQL: a body nested deeply', '/query/sql', `${'['.repeat(BODY_BYTES / 2)}${']'.repeat(BODY_BYTES / 2)}`),
    post('SQL: a body nested 5,000 deep', '/query/sql', `{"sql":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    { name: 'SQL: GET', method: 'GET', path: `/query/sql?sql=${'%28'.repeat(HEADER_BYTES / 3 - 100)}` },
    {
      ...sql('the longest policy, the longest name', `SELECT a FROM ${LONG_NAME}`),
      asReader: true,
    },
    {
      ...sql(
        'the longest policy, many tables',
        `SELECT 1 FROM ${fill(4 * KIB, (i) => `${'a'.repeat(40)}${i}, `)} orders`,
      ),
      asReader: true,
    },
  ];
}

function accessRequests(): WorstRequest[] {
  const subjects = { subjectTypeToSubject: { 'user-email': 'somebody@example.com' } };
  const ask = (name: string, body: object): WorstRequest =>
    post(`simulate-access: ${name}`, `${RBAC}/simulate-access`, { ...subjects, ...body });
  const questions = (count: number, name: string): object => ({
    requests: Array.from({ length: count }, () => ({ resourceSrn2String: `srn2:table#${name}`, action: 'Query' })),
  });
  const wrong = (fields: object): string =>
    JSON.stringify({ version: 'v1', statements: Array.from({ length: 1000 }, () => fields) });
  const policy = (name: string, policyDocumentJson: string): WorstRequest => ({
    ...post(`policy: ${name}`, `${RBAC}/policies/srn2:policy%23written`, { policyDocumentJson }),
    method: 'PUT',
  });
  return [
    ask('patterns × questions', { policyDocumentJson: longestPolicy(60), ...questions(97, LONG_NAME) }),
    ask('many questions', { policyDocumentJson: policyOfPatterns(200), ...questions(1000, LONG_NAME) }),
    ask('the longest stored policy', { subjectTypeToSubject: { group: 'everyone' }, ...questions(97, LONG_NAME) }),
    ask('everything is allowed', { subjectTypeToSubject: { group: 'everything' }, ...questions(1000, 't') }),
    ask('a longer name than is allowed', { resourceSrn2String: `srn2:table#${'a'.repeat(900)}`, action: 'Query' }),
    ask('unknown actions', {
      policyDocumentJson: wrong({ actions: unknownActions(20), resources: ['*'] }),
      ...questions(1, 't'),
    }),
    policy('as many patterns as there may be', longestPolicy(60)),
    policy('as many and as long patterns as there may be', longestPolicy(180)),
    policy('no field that is known', wrong({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 })),
    policy('wrong resources', wrong({ resources: Array.from({ length: 25 }, () => 'srn2:tabel#x') })),
    policy('unknown actions', wrong({ actions: unknownActions(4), resources: ['*'] })),
    policy('a long text', JSON.stringify({ version: 'v1', statements: 'x'.repeat(BODY_BYTES - 200) })),
    policy('JSON in JSON with many keys', `{${fill(BODY_BYTES / 2, (i) => `"${i.toString(36)}":1,`)}"z_":1}`),
    {
      name: 'who-can',
      method: 'GET',
      path: `${RBAC}/who-can?action=Query&resource=srn2:table%23${LONG_NAME}&limit=10000`,
    },
    post('assignment: a long subject', `${RBAC}/roles/srn2:role%23longest/create-assignment`, {
      subject: `x${' '.repeat(BODY_BYTES - 200)}y `,
      subjectType: 'group',
    }),
  ];
}

function policyOfPatterns(count: number): string {
  const resources = Array.from({ length: count }, (_, index) => slowPattern(index, 60));
  return JSON.stringify({ version: 'v1', statements: [{ effect: 'allow', resources }] });
}

function unknownActions(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `UpdateTabelConfigurationsOfSegments${'abcdefghij'[index % 10]!}`);
}

function bodyRequests(): WorstRequest[] {
  const roles = `${RBAC}/roles`;
  return [
    post('JSON: many keys', roles, `{${fill(BODY_BYTES - 100, (i) => `"${i.toString(36)}":1,`)}"z_":1}`),
    post('JSON: many values', roles, `[${'{},'.repeat(BODY_BYTES / 3 - 10)}1]`),
    post(
      'JSON: as many values as are allowed',
      roles,
      `{${fill(BODY_BYTES - 300, (i) => (i < 32_000 ? `"${i.toString(36)}":[],` : ' '))}"z_":1}`,
    ),
    post('JSON: nested deeply', roles, `${'['.repeat(BODY_BYTES / 2)}${']'.repeat(BODY_BYTES / 2)}`),
    post('JSON: nested 5,000 deep', roles, `${'[{"a":'.repeat(2500)}1${'}]'.repeat(2500)}`),
    post('JSON: a text of escapes', roles, `{"name":"${'\\u00e9'.repeat(BODY_BYTES / 6 - 10)}"}`),
    post('JSON: the same key', roles, `{${'"a":1,'.repeat(BODY_BYTES / 6 - 10)}"a":1}`),
    post('JSON: spaces', roles, `${' '.repeat(BODY_BYTES - 10)}{}`),
    post('schema of a table', '/schemas', schemaOfTable(2 * BODY_BYTES - 100)),
    post('configuration of a table', '/tables', `{"tableName":"orders","a":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    post(
      'configuration of a table, many keys',
      '/tables',
      `{"tableName":"orders"${fill(2 * BODY_BYTES - 100, (i) => `,"${i}x":1`)}}`,
    ),
  ];
}

function schemaOfTable(characters: number): string {
  return `{"schemaName":"orders","dimensionFieldSpecs":[${fill(characters, (i) => `{"name":"c${i}","dataType":"INT"},`)}{}]}`;
}

function headerRequests(): WorstRequest[] {
  const long = (name: string, headers: Record<string, string>, path = '/tables'): WorstRequest => ({
    name: `header: ${name}`,
    method: 'GET',
    path,
    headers,
  });
  const path = (name: string, text: string): WorstRequest => ({ name: `path: ${name}`, method: 'GET', path: text });
  return [
    long('Authorization of spaces', { authorization: `Bearer x${' '.repeat(HEADER_BYTES)}x` }),
    long('Authorization, Basic', { authorization: `Basic ${'YTph'.repeat(HEADER_BYTES / 4)}` }),
    long('Authorization, a token of dots', { authorization: `Bearer ${'a.'.repeat(HEADER_BYTES / 2)}` }),
    long('Database', { database: 'a'.repeat(HEADER_BYTES) }),
    long('Connection', { connection: `close${fill(HEADER_BYTES, (i) => `,x${i}`)}` }),
    long('Content-Type', { 'content-type': `application/json${'; '.repeat(HEADER_BYTES / 2)}` }),
    long('Cookie', { cookie: fill(HEADER_BYTES, (i) => `a${i}=b; `) }, '/ui/'),
    long('Accept-Encoding', { 'accept-encoding': fill(HEADER_BYTES, () => 'gzip;q=0.5, ') }, '/openapi.json'),
    long('If-None-Match', { 'if-none-match': fill(HEADER_BYTES, (i) => `W/"${i}", `) }, '/openapi.json'),
    long('X-Forwarded-For', { 'x-forwarded-for': fill(HEADER_BYTES, () => '10.0.0.1, ') }),
    long('FORWARD_TABLE', { forward_table: fill(HEADER_BYTES, (i) => `t${i},`) }, '/query/sql?sql=SELECT%201'),
    path('many parameters', `/query/sql?${'a&'.repeat(HEADER_BYTES / 2)}`),
    path('one parameter, many times', `/query/sql?${'sql=1&'.repeat(HEADER_BYTES / 6)}`),
    path('many segments', '/a'.repeat(HEADER_BYTES / 2)),
    path('a long segment', `/tables/${'a'.repeat(HEADER_BYTES)}`),
    path('escapes', `/tables/${'%61'.repeat(HEADER_BYTES / 3)}`),
    path('unknown check', `/clusterHealth?check=${'A'.repeat(HEADER_BYTES)}`),
    path('unknown task', `/periodictask/run?taskname=${'A'.repeat(HEADER_BYTES)}`),
    path('a long resource name', `${RBAC}/roles/srn2:role%23${'a'.repeat(2000)}`),
    path('the roles', `${RBAC}/roles`),
    path('the policies', `${RBAC}/policies`),
    path('the assignments of a role', `${RBAC}/roles/srn2:role%23longest/assignments`),
    path('who I am', `${RBAC}/whoami`),
  ];
}

export function worstRequests(): readonly WorstRequest[] {
  return [...sqlAtLimits(), ...sqlBeyondLimits(), ...accessRequests(), ...bodyRequests(), ...headerRequests()];
}
