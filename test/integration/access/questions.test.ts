import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { SEED } from '../../support/seed.ts';

// What simulate-access and who-can say about a name is what a request with that name gets.

const RBAC = '/api/v1/rbac-manager';
const TABLES = ['orders_OFFLINE', 'customers_REALTIME', 'Mixed_OFFLINE'];
/** Names of tables, as they stand in paths, in queries and in questions. */
const NAMES = ['orders', 'ORDERS', 'orders_OFFLINE', 'customers_REALTIME', 'mixed', 'Mixed', 'absent', 'Absent'];
const PATTERNS = ['*', 'o*', 'orders', 'ORDERS', 'customers', 'mixed', 'Mixed', 'absent', 'Absent', '*s'];
const ROLES = 40;

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

async function manage<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await service.call(method, RBAC + path, body);
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
const one = (...resources: string[]) => fc.constantFrom(...resources).map((resource) => [resource]);
const on = (actions: readonly string[][], resources: fc.Arbitrary<string[]>) =>
  fc.record({ effect: fc.constantFrom('allow', 'allow', 'deny'), actions: fc.constantFrom(...actions), resources });
const statement = fc.oneof(
  {
    weight: 4,
    arbitrary: on([['Query'], ['Query', 'GetSchema'], ['*'], ['GetSchema', 'GetMetadata'], ['Get*']], tables),
  },
  {
    weight: 1,
    arbitrary: on(
      [['GetTenant'], ['Get*'], ['*'], ['GetHealth']],
      one('srn2:cluster#*', 'srn2:cluster#pinot', 'srn2:cluster#other'),
    ),
  },
  {
    weight: 1,
    arbitrary: on([['GetRole'], ['*Role'], ['Get*']], one('srn2:role#role-*', 'srn2:role#*', 'srn2:role#role-1')),
  },
  { weight: 1, arbitrary: on([['*'], ['Get*'], ['Query']], one('*', 'srn2:environment#*:*#*', 'srn2:cluster#*:*#*')) },
);

interface Question {
  readonly action: string;
  readonly resource: string;
  /** The call that asks for it. */
  readonly call: readonly [method: string, path: string, body?: object];
}

const query = (written: string, name = written): Question => ({
  action: 'Query',
  resource: `srn2:table#${name}`,
  call: ['POST', '/query/sql', { sql: `SELECT a FROM ${written}` }],
});
const ofTable = (action: string, suffix: string): Question[] =>
  [...NAMES, 'default.orders'].map((name) => ({
    action,
    resource: `srn2:table#${name}`,
    call: ['GET', `/tables/${name}/${suffix}`],
  }));

const QUESTIONS: readonly Question[] = [
  ...NAMES.map((name) => query(name)),
  query('"default".ORDERS', 'default.ORDERS'),
  query('"default".Mixed_OFFLINE', 'default.Mixed_OFFLINE'),
  query('"customers"', 'customers'),
  { ...query('orders'), resource: 'srn2:cluster#pinot:table#ORDERS' },
  ...ofTable('GetSchema', 'schema'),
  ...ofTable('GetMetadata', 'metadata'),
  { action: 'GetTenant', resource: 'srn2:cluster#pinot', call: ['GET', '/tenants'] },
  { action: 'gethealth', resource: 'srn2:cluster#pinot', call: ['GET', '/clusterHealth'] },
  ...['role-1', 'role-12', 'nobody'].map((name): Question => {
    return { action: 'GetRole', resource: `srn2:role#${name}`, call: ['GET', `${RBAC}/roles/srn2:role%23${name}`] };
  }),
];

async function ask(token: Token, { call: [method, path, body] }: Question): Promise<'ALLOW' | 'DENY'> {
  const response = await service.call(method, path, body, { authorization: `Bearer ${token.bearerToken}` });
  const text = await response.text();
  expect([400, 401, 429, 500], `${method} ${path}: ${text}`).not.toContain(response.status);
  return response.status === 403 ? 'DENY' : 'ALLOW';
}

interface Simulated {
  readonly decision: string;
  readonly reason: string;
}

async function simulated(token: Token): Promise<Simulated[]> {
  const requests = QUESTIONS.map(({ action, resource }) => ({ action, resourceSrn2String: resource }));
  const subjectTypeToSubject = { 'service-token': token.accessKey };
  const asked = { subjectTypeToSubject, requests };
  return (await manage<{ results: Simulated[] }>('POST', '/simulate-access', asked)).results;
}

async function whoCan({ action, resource }: Question): Promise<Set<string>> {
  const asked = `/who-can?action=${action}&limit=10000&resource=${encodeURIComponent(resource)}`;
  const { subjects } = await manage<{ subjects: { subject: string }[] }>('GET', asked);
  return new Set(subjects.map(({ subject }) => subject));
}

describe('a question about access, in each form of a name,', () => {
  it('gets the answer that the call gets, and the review shows what decided', { timeout: 240_000 }, async () => {
    expect(ROLES * QUESTIONS.length).toBeGreaterThan(1000);
    const policies = fc.sample(fc.array(statement, { minLength: 1, maxLength: 4 }), { numRuns: ROLES, seed: SEED });
    const tokens: Token[] = [];
    for (const [at, statements] of policies.entries()) tokens.push(await tokenWith(`role-${at}`, statements));
    const able: ReadonlySet<string>[] = [];
    for (const question of QUESTIONS) able.push(await whoCan(question));
    const seen = { ALLOW: 0, DENY: 0 };
    for (const [at, token] of tokens.entries()) {
      const answers = await simulated(token);
      for (const [index, question] of QUESTIONS.entries()) {
        const real = await ask(token, question);
        const context = `${question.action} on ${question.resource} with ${JSON.stringify(policies[at])}`;
        expect(answers[index]?.decision, context).toBe(real);
        expect(able[index]?.has(token.accessKey), context).toBe(real === 'ALLOW');
        seen[real] += 1;
      }
      const decided = answers.some(({ reason }) => reason !== 'implicitDeny');
      const { lastUsedAt } = await manage<{ lastUsedAt: string | null }>('GET', `/roles/srn2:role%23role-${at}`);
      if (decided) expect(lastUsedAt, JSON.stringify(policies[at])).not.toBeNull();
    }
    expect(Math.min(seen.ALLOW, seen.DENY)).toBeGreaterThan(200);
  });
});
