import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { SEED } from '../../support/seed.ts';
import { ELSEWHERE, OPERATIONS, type Ask, type Names, type Row } from './decision-table.ts';

// What simulate-access and who-can say about a name is what a request with that name gets, for each operation and each form of a name.

const RBAC = '/api/v1/rbac-manager';
const TABLES = ['orders_OFFLINE', 'customers_REALTIME', 'Mixed_OFFLINE'];
/** Names of tables, as they stand in paths, in queries and in questions. */
const NAMES = ['orders', 'ORDERS', 'orders_OFFLINE', 'customers_REALTIME', 'mixed', 'Mixed', 'absent', 'Absent'];
const PATTERNS = ['*', 'o*', 'orders', 'ORDERS', 'customers', 'mixed', 'Mixed', 'absent', 'Absent', '*s'];
const ROLES = 40;
const CLUSTER = 'srn2:cluster#pinot';

let engine: FakeEngine;
let service: Standalone;

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  const resultTable = { dataSchema: { columnNames: ['a'], columnDataTypes: ['INT'] }, rows: [] };
  engine.serve(TABLES, JSON.stringify({ resultTable, exceptions: [] }));
  service = await startStandalone({
    controllers: engine.url,
    'max-requests-per-second': 0,
    'max-failed-attempts': 1e6,
  });
});
afterAll(async () => {
  await service?.stop();
  await engine?.close();
});

async function manage<T>(method: string, path: string, body?: unknown, base = RBAC): Promise<T> {
  const response = await service.call(method, base + path, body);
  const text = await response.text();
  expect(response.status, `${method} ${path} ${JSON.stringify(body)}: ${text}`).toBe(200);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

interface Token {
  readonly accessKey: string;
  readonly bearerToken: string;
}

async function tokenWith(name: string, statements: readonly object[]): Promise<Token> {
  await manage('POST', '/policies', { name, policyDocument: { version: 'v1', statements } });
  await manage('POST', '/roles', { name, description: name });
  await manage('POST', `/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
  const token = await manage<Token>('POST', '/service-tokens', { description: name });
  const subject = { subject: token.accessKey, subjectType: 'service-token' };
  await manage('POST', `/roles/srn2:role%23${name}/create-assignment`, subject);
  return token;
}

const tables = fc.uniqueArray(
  fc.constantFrom(...PATTERNS).map((pattern) => `srn2:table#${pattern}`),
  { minLength: 1, maxLength: 3 },
);
const on = (actions: readonly string[][], resources: fc.Arbitrary<string[]>) =>
  fc.record({ effect: fc.constantFrom('allow', 'allow', 'deny'), actions: fc.constantFrom(...actions), resources });
const one = (...resources: string[]) => fc.constantFrom(...resources).map((resource) => [resource]);
/** Actions of a kind, alone and as patterns. */
const each = (kind: string, verbs: readonly string[]) => [[`*${kind}`], ...verbs.map((verb) => [`${verb}${kind}`])];
const CRUD = ['Create', 'Get', 'Update', 'Delete'];
const statement = fc.oneof(
  {
    weight: 4,
    arbitrary: on([['Query'], ['Query', 'GetSchema'], ['*'], ['GetSchema', 'GetMetadata'], ['Get*']], tables),
  },
  {
    weight: 3,
    arbitrary: on(
      [['GetTenant'], ['Get*'], ['*'], ['SimulateAccess'], ['*Health', 'ExecuteTask'], ['*ResponseStore']],
      one('srn2:cluster#*', 'srn2:cluster#pinot', 'srn2:cluster#other'),
    ),
  },
  {
    weight: 2,
    arbitrary: on(
      [...each('Role', CRUD), ...each('Assignment', ['Create', 'Get', 'Delete']), ['AttachPolicy'], ['DetachPolicy']],
      one('srn2:role#role-*', 'srn2:role#*', 'srn2:role#role-1'),
    ),
  },
  { weight: 2, arbitrary: on(each('Policy', CRUD), one('srn2:policy#*')) },
  {
    weight: 2,
    arbitrary: on(
      [...each('ServiceToken', CRUD).slice(0, 1), ['Get*', 'UpdateServiceToken']],
      one('srn2:service-token#*', 'srn2:service-token#team-*'),
    ),
  },
  { weight: 1, arbitrary: on([['*'], ['Get*'], ['Query']], one('*', 'srn2:environment#*:*#*', 'srn2:cluster#*:*#*')) },
);
const allows = (action: string, resource: string) => ({ effect: 'allow', actions: [action], resources: [resource] });
/** Beside the random ones, so that each operation is allowed at least once. */
const FIXED = [
  [allows('*', '*')],
  [allows('*', 'srn2:environment#*:*#*'), allows('*', 'srn2:cluster#*:*#*')],
  [allows('*ServiceToken', 'srn2:service-token#team-*'), allows('*Policy', 'srn2:policy#*')],
];

const query = (written: string, name = written): Row => ({
  asks: [['Query', `srn2:table#${name}`]],
  call: () => ['POST', '/query/sql', { sql: `SELECT a FROM ${written}` }],
});
const ofTable = (action: string, suffix: string): Row[] =>
  [...NAMES, 'default.orders'].map((name) => ({
    asks: [[action, `srn2:table#${name}`]],
    call: () => ['GET', `/tables/${name}/${suffix}`],
  }));

/** Forms of names. */
const FORMS: readonly Row[] = [
  ...NAMES.map((name) => query(name)),
  query('"default".ORDERS', 'default.ORDERS'),
  query('"default".Mixed_OFFLINE', 'default.Mixed_OFFLINE'),
  query('"customers"', 'customers'),
  { ...query('orders'), asks: [['Query', 'srn2:cluster#pinot:table#ORDERS']] },
  ...ofTable('GetSchema', 'schema'),
  ...ofTable('GetMetadata', 'metadata'),
  { asks: [['GetTenant', CLUSTER]], call: () => ['GET', '/tenants'] },
  { asks: [['gethealth', CLUSTER]], call: () => ['GET', '/clusterHealth'] },
  ...['role-12', 'nobody'].map((name): Row => {
    return { asks: [['GetRole', `srn2:role#${name}`]], call: () => ['GET', `${RBAC}/roles/srn2:role%23${name}`] };
  }),
];
const ROWS: readonly (readonly [name: string, row: Row])[] = [
  ...Object.entries(OPERATIONS),
  ...FORMS.map((row) => [row.asks.join(), row] as const),
];

/** What the gateway says where a caller lacks the right that the call needs; a change that exceeds the caller has another text. */
const LACKS_RIGHT = /`srn2:[^`]*` may not `/;
type Answer = 'ALLOW' | 'DENY';

async function ask(token: Token, { call, done, shows }: Row, names: Names): Promise<Answer> {
  const [method, url, body, headers] = call(names);
  const response = await service.call(method, url, body, { authorization: `Bearer ${token.bearerToken}`, ...headers });
  const text = await response.text();
  const where = `${method} ${url}: ${response.status} ${text}`;
  if (shows !== undefined) {
    expect(response.status, where).toBe(200);
    return text.includes(shows(names)) ? 'ALLOW' : 'DENY';
  }
  if (response.status === 403 && LACKS_RIGHT.test(text)) return 'DENY';
  if (done === undefined) expect([400, 401, 403, 429, 500], where).not.toContain(response.status);
  else expect(done, where).toContain(response.status);
  return 'ALLOW';
}

async function storedResult(): Promise<string> {
  const { requestId } = await manage<{ requestId: string }>(
    'POST',
    '/query/sql?doPaginate=true&numRows=1',
    { sql: 'SELECT a FROM orders' },
    '',
  );
  return requestId;
}

interface Simulated {
  readonly decision: Answer;
  readonly reason: string;
}

async function simulated(token: Token, asks: readonly Ask[]): Promise<Simulated[]> {
  const requests = asks.map(([action, resource]) => ({ action, resourceSrn2String: resource }));
  const subjectTypeToSubject = { 'service-token': token.accessKey };
  return (await manage<{ results: Simulated[] }>('POST', '/simulate-access', { subjectTypeToSubject, requests }))
    .results;
}

async function whoCan([action, resource]: Ask): Promise<Set<string>> {
  const asked = `/who-can?action=${action}&limit=10000&resource=${encodeURIComponent(resource)}`;
  const { subjects } = await manage<{ subjects: { subject: string }[] }>('GET', asked);
  return new Set(subjects.map(({ subject }) => subject));
}

describe('a question about access, for each operation and in each form of a name,', () => {
  it('is in the table', () => {
    const { paths } = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8')) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const known = new Set(Object.keys(OPERATIONS).map((name) => name.split(' ', 1)[0]));
    expect([...known, ...ELSEWHERE].sort()).toEqual(operations.sort());
  });

  it('gets the answer that the call gets, and the review shows what decided', { timeout: 400_000 }, async () => {
    expect(ROLES * ROWS.length).toBeGreaterThan(1000);
    const random = fc.sample(fc.array(statement, { minLength: 1, maxLength: 5 }), { numRuns: ROLES, seed: SEED });
    const policies = [...FIXED, ...random];
    const tokens: Token[] = [];
    for (const [at, statements] of policies.entries()) tokens.push(await tokenWith(`role-${at}`, statements));
    const names = {
      role: 'role-1',
      token: tokens[1]!.accessKey,
      result: await storedResult(),
      spare: await storedResult(),
    };
    const asked = (row: Row): Ask[] => row.asks.map(([action, on]) => [action, on.replace('TOKEN', names.token)]);
    const asks = ROWS.flatMap(([, row]) => asked(row));
    const able = new Map<string, ReadonlySet<string>>();
    for (const one of asks) if (!able.has(one.join())) able.set(one.join(), await whoCan(one));
    const seen = new Map<string, number>();
    for (const [at, token] of tokens.entries()) {
      const answers = await simulated(token, asks);
      let next = 0;
      for (const [name, row] of ROWS) {
        const allowed = asked(row).filter((one) => {
          const answer = answers[next++]!.decision;
          expect(able.get(one.join())!.has(token.accessKey), one.join(' on ')).toBe(answer === 'ALLOW');
          return answer === 'ALLOW';
        });
        const enough = row.oneOf === true ? 1 : row.asks.length;
        const expected = allowed.length >= enough ? 'ALLOW' : 'DENY';
        const real = await ask(token, row, names);
        expect(real, `${name} with ${JSON.stringify(policies[at])}`).toBe(expected);
        if (real === 'ALLOW' && row.call(names)[1].endsWith(names.spare)) names.spare = await storedResult();
        seen.set(`${name} ${real}`, (seen.get(`${name} ${real}`) ?? 0) + 1);
      }
      const decided = answers.some(({ reason }) => reason !== 'implicitDeny');
      const { lastUsedAt } = await manage<{ lastUsedAt: string | null }>('GET', `/roles/srn2:role%23role-${at}`);
      if (decided) expect(lastUsedAt, JSON.stringify(policies[at])).not.toBeNull();
    }
    const constant = Object.entries(OPERATIONS).filter(
      ([name, { open }]) => open !== true && !(seen.has(`${name} ALLOW`) && seen.has(`${name} DENY`)),
    );
    expect(constant.map(([name]) => name)).toEqual([]);
  });
});
