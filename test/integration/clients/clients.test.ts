import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { named } from '../../support/documents/obstacle.ts';
import { sharedPinot, type PinotClient } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { goClient, javaClients, NO_GO, pythonWithPinotdb, run } from './install.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

// Each client queries a real Pinot through the gateway, with a service token that may only query `orders`.
const HERE = import.meta.dirname;
const COUNT = 'SELECT count(*) FROM orders';
const FORBIDDEN = 'SELECT count(*) FROM customers';

let pinot: PinotClient;
let gateway: Standalone;
let host: string;
let port: string;
let token: { accessKey: string; secretKey: string; bearerToken: string };
let orders: number;

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

beforeAll(async () => {
  pinot = await sharedPinot();
  const answer = JSON.parse(await pinot.query(COUNT)) as { resultTable: { rows: number[][] } };
  orders = answer.resultTable.rows[0]?.[0] ?? -1;
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
  ({ hostname: host, port } = new URL(gateway.url));
  const table = {
    actions: ['Query', 'GetSchema', 'GetTableConfig'],
    effect: 'allow',
    resources: ['srn2:table#orders'],
  };
  // JDBC requests the brokers of its tenant from the controller.
  const cluster = { actions: ['GetBroker'], effect: 'allow', resources: ['srn2:cluster#*'] };
  const policyDocument = { version: 'v1', statements: [table, cluster] };
  await post('/policies', { name: 'orders-only', policyDocument });
  await post('/roles', { name: 'orders-reader', description: 'reads orders' });
  await post('/roles/srn2:role%23orders-reader/attach-policy', { policySrn: 'srn2:policy#orders-only' });
  token = await post('/service-tokens', { description: 'a client under test' });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await post('/roles/srn2:role%23orders-reader/create-assignment', assignment);
});

afterAll(() => gateway.stop());

describe('pinotdb', () => {
  it('connects, lists, reflects and queries by DB-API and SQLAlchemy; a forbidden table raises', async () => {
    const packages = await pythonWithPinotdb();
    const keys = [token.accessKey, token.secretKey, 'orders', 'customers'];
    const { stdout } = await run('python3', [join(HERE, 'python/ask.py'), host, port, ...keys], {
      env: { ...process.env, PYTHONPATH: packages },
      timeout: WAIT_LIMIT_MS,
    });
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({ count: [[orders]], alchemyCount: [[orders]], tables: ['orders'] });
    expect(report['columns']).toContain('orderId');
    // With the reason of the gateway: pinotdb reads Pinot's statistics in the response before its message.
    const reason = expect.stringMatching(/403[^]*`Query`[^]*`srn2:table#customers`/) as string;
    expect(report['forbidden']).toEqual({ error: 'ProgrammingError', message: reason });
    expect(report['alchemyForbidden']).toEqual({ error: 'ProgrammingError', message: reason });
    // The dialect reads the 403 as if it were a schema, and finds no fields.
    expect(report['forbiddenColumns']).toEqual([]);
  });
});

describe('the Java clients', () => {
  it('query through the broker address and by JDBC; a forbidden table throws', async () => {
    const classpath = await javaClients();
    const keys = [token.accessKey, token.secretKey];
    const { stdout } = await run(
      'java',
      ['-Dfile.encoding=UTF-8', '-cp', classpath, 'Ask', host, port, ...keys, COUNT, FORBIDDEN],
      {
        timeout: WAIT_LIMIT_MS,
      },
    );
    const lines = stdout.split('\n').filter((line) => /^(?:broker|jdbc)\t/.test(line));
    const [direct, jdbc, directForbidden, jdbcForbidden] = lines.map((line) => line.split('\t')[1]);
    expect([direct, jdbc]).toEqual([String(orders), String(orders)]);
    expect(directForbidden).toMatch(/^! .*403/);
    expect(jdbcForbidden).toMatch(/^! /);
  });
});

describe('the Go client', () => {
  const title = 'queries through the broker address and through the controller address; a forbidden table is an error';
  it.skipIf(NO_GO)(named(title, NO_GO), async () => {
    const args = [gateway.url, token.bearerToken, 'orders', COUNT, 'customers', FORBIDDEN];
    const { stdout } = await run(await goClient(), args, { timeout: WAIT_LIMIT_MS });
    const [direct, directForbidden, routed, routedForbidden] = stdout.split('\n').map((line) => line.split('\t'));
    expect([direct, routed]).toEqual([
      ['broker', String(orders)],
      ['controller', String(orders)],
    ]);
    expect(directForbidden).toEqual(['broker', expect.stringMatching(/^! .*403/)]);
    // The lists of brokers name only tables that the caller may see.
    expect(routedForbidden).toEqual(['controller', expect.stringMatching(/^! /)]);
  });
});
