import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { SEED } from '../../support/seed.ts';

// What simulate-access and who-can say about a name is what a request with that name gets.

const RBAC = '/api/v1/rbac-manager';
const TABLES = ['orders_OFFLINE', 'customers_REALTIME', 'Mixed_OFFLINE'];
/** Names of tables, as they stand in queries and in questions. */
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

const statement = fc.record({
  effect: fc.constantFrom('allow', 'allow', 'deny'),
  actions: fc.constantFrom(['Query'], ['Query', 'GetTable'], ['*'], ['GetTable', 'GetSchema']),
  resources: fc.uniqueArray(
    fc.constantFrom(...PATTERNS).map((pattern) => `srn2:table#${pattern}`),
    { minLength: 1, maxLength: 3 },
  ),
});

async function ask(token: Token, name: string): Promise<number> {
  const authorization = `Bearer ${token.bearerToken}`;
  const response = await service.call('POST', '/query/sql', { sql: `SELECT a FROM ${name}` }, { authorization });
  await response.arrayBuffer();
  return response.status;
}

async function simulated(token: Token, names: readonly string[]): Promise<string[]> {
  const requests = names.map((name) => ({ action: 'Query', resourceSrn2String: `srn2:table#${name}` }));
  const subjectTypeToSubject = { 'service-token': token.accessKey };
  const { results } = await manage<{ results: { decision: string }[] }>('POST', '/simulate-access', {
    subjectTypeToSubject,
    requests,
  });
  return results.map(({ decision }) => decision);
}

async function whoCan(name: string): Promise<Set<string>> {
  const { subjects } = await manage<{ subjects: { subject: string }[] }>(
    'GET',
    `/who-can?action=Query&limit=10000&resource=srn2:table%23${name}`,
  );
  return new Set(subjects.map(({ subject }) => subject));
}

describe('a question about a table, in each form of its name,', () => {
  it('gets the answer that a query gets', { timeout: 120_000 }, async () => {
    const policies = fc.sample(fc.array(statement, { minLength: 1, maxLength: 4 }), { numRuns: ROLES, seed: SEED });
    const tokens: Token[] = [];
    for (const [at, statements] of policies.entries()) tokens.push(await tokenWith(`role-${at}`, statements));
    const able = new Map<string, ReadonlySet<string>>();
    for (const name of NAMES) able.set(name, await whoCan(name));
    const seen = { ALLOW: 0, DENY: 0 };
    for (const [at, token] of tokens.entries()) {
      const decisions = await simulated(token, NAMES);
      for (const [index, name] of NAMES.entries()) {
        const real = (await ask(token, name)) === 403 ? 'DENY' : 'ALLOW';
        const context = `${name} with ${JSON.stringify(policies[at])}`;
        expect(decisions[index], context).toBe(real);
        expect(able.get(name)?.has(token.accessKey), context).toBe(real === 'ALLOW');
        seen[real] += 1;
      }
    }
    expect(Math.min(seen.ALLOW, seen.DENY)).toBeGreaterThan(50);
  });
});
