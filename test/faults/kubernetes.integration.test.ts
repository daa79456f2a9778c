import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type RunningProduct, startProduct } from '../support/product-process.ts';
import type { Program } from '../support/processes.ts';
import { FaultyProxy } from './support/faulty-proxy.ts';
import { FAULT_MS, Figures } from './support/figures.ts';
import { Client, longest, type Outcome, send, statuses } from './support/load.ts';

// Operator and gateway as processes with their own rights, behind an API server with faults, while clients query and write roles.

const NAMESPACE = 'olap';
const RBAC = '/api/v1/rbac-manager';
const ANSWER = JSON.stringify({
  resultTable: { dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] }, rows: [['Oslo']] },
  exceptions: [],
  numDocsScanned: 1,
});
/** What a client may get while the Kubernetes API has a fault. Never 401 or 403: access did not change. */
const ALLOWED_IN_FAULT: ReadonlySet<number> = new Set([200, 409, 429, 503, 504]);

const figures = new Figures('kubernetes');
const programs: Program[] = [];
let api: ControlPlane;
let proxy: FaultyProxy;
let engine: FakeEngine;
let gateway: RunningProduct;
let authorization: string;
let written = 0;

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE'], ANSWER);
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await api.mustKubectl(['apply', '-k', join(import.meta.dirname, '../../manifests')]);
  proxy = await FaultyProxy.ofApi(api);
  await startOne('operator', { 'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin` });
  gateway = await startOne('gateway');
  const admin = await api.serviceAccountToken(NAMESPACE, 'admin', { audience: 'olap-warden' });
  const issued = await untilServed(() => call('POST', `${RBAC}/service-tokens`, { description: 'load' }, admin));
  const { accessKey, bearerToken } = JSON.parse(issued.text) as { accessKey: string; bearerToken: string };
  const assignment = { subject: accessKey, subjectType: 'service-token' };
  await untilServed(() => call('POST', `${RBAC}/roles/srn2:role%23system-admin/create-assignment`, assignment, admin));
  authorization = bearerToken;
  await untilServed(query);
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await proxy?.close();
  await engine?.close();
  await api?.stop();
  await figures.write();
});

const startOne = (command: 'operator' | 'gateway', settings = {}): Promise<RunningProduct> =>
  startProduct(api, command, {
    namespace: NAMESPACE,
    settings: { controllers: engine.url, 'max-requests-per-second': '0', ...settings },
    onStart: (program) => programs.push(program),
    server: proxy.url,
  });

function call(method: string, path: string, body?: unknown, token = authorization): Promise<Outcome> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return send(gateway.url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

const query = (): Promise<Outcome> => call('POST', '/query/sql', { sql: 'SELECT city FROM orders' });

async function untilServed(ask: () => Promise<Outcome>): Promise<Outcome> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const outcome = await ask();
    if (outcome.status === 200) return outcome;
    if (Date.now() > deadline) throw new Error(`not served: ${outcome.status} ${outcome.text}`);
    await delay(50);
  }
}

/** Names of the roles in the API server. */
async function stored(): Promise<ReadonlySet<string>> {
  const { stdout } = await api.mustKubectl(['-n', NAMESPACE, 'get', 'roles.olapwarden.io', '-o', 'name']);
  return new Set(
    stdout
      .trim()
      .split('\n')
      .map((name) => name.replace(/^.*\//, '')),
  );
}

interface Observed {
  readonly queries: readonly Outcome[];
  readonly writes: readonly Outcome[];
  readonly recoveredMs: number;
}

/** Clients query and write for the time of a fault, until both are served again. Nothing acknowledged may be lost, nothing rejected stored. */
async function observe(begin: () => unknown, end: () => unknown): Promise<Observed> {
  const acknowledged: string[] = [];
  const rejected: string[] = [];
  const write = async (): Promise<Outcome> => {
    const name = `load-${written++}`;
    const outcome = await call('POST', `${RBAC}/roles`, { name, description: 'Written under load.' });
    if (outcome.status === 200) acknowledged.push(name);
    // The outcome of a 5xx and of a lost connection is unknown.
    else if (typeof outcome.status === 'number' && outcome.status < 500 && outcome.status !== 409) rejected.push(name);
    return outcome;
  };
  const clients: Readonly<Record<'queries' | 'writes', Client>> = {
    queries: new Client(query),
    writes: new Client(write),
  };
  await begin();
  await delay(FAULT_MS);
  await end();
  const endedAt = performance.now();
  const isGood = (): boolean => Object.values(clients).every(({ lastGoodAt }) => lastGoodAt >= endedAt);
  await expect.poll(isGood, { timeout: WAIT_LIMIT_MS, interval: 20 }).toBe(true);
  const recoveredMs = performance.now() - endedAt;
  const [queries, writes] = [await clients.queries.stop(), await clients.writes.stop()];
  const roles = await stored();
  expect(
    acknowledged.filter((name) => !roles.has(name)),
    'acknowledged roles that are lost',
  ).toEqual([]);
  expect(
    rejected.filter((name) => roles.has(name)),
    'rejected roles that are stored',
  ).toEqual([]);
  for (const { status, text } of [...queries, ...writes]) if (status !== 'closed') JSON.parse(text);
  return { queries, writes, recoveredMs };
}

function record(fault: string, { queries, writes, recoveredMs }: Observed): void {
  const seen = `queries ${statuses(queries)}; writes of roles ${statuses(writes)}`;
  figures.add({ fault, seen, longest: longest([...queries, ...writes]), recoveredMs });
}

describe('clients of a gateway', () => {
  const faults: readonly (readonly [fault: string, begin: () => unknown, end: () => unknown])[] = [
    ['Kubernetes API answers 500', () => proxy.set(500), () => proxy.set('none')],
    ['Kubernetes API answers 429', () => proxy.set(429), () => proxy.set('none')],
    ['Kubernetes API takes 2 s for each response', () => proxy.set('slow'), () => proxy.set('none')],
    ['Kubernetes API does not respond', () => proxy.set('silent'), () => proxy.set('none')],
    ['Kubernetes API resets all connections', () => proxy.set('reset'), () => proxy.set('none')],
    ['responses of the Kubernetes API are lost', () => proxy.set('lost-answer'), () => proxy.set('none')],
    ['kube-apiserver is frozen', () => api.pause(), () => api.resume()],
    ['kube-apiserver is killed and restarted', () => api.stopApiserver(), () => api.startApiserver()],
    ['etcd is frozen', () => api.pauseEtcd(), () => api.resumeEtcd()],
    ['etcd is killed and restarted', () => api.restartEtcd(), () => undefined],
  ];
  it.each(faults)('are served by its copy, and lose no write, while %s', async (fault, begin, end) => {
    const observed = await observe(begin, end);
    record(fault, observed);
    expect(statuses(observed.queries)).toBe(`200 ×${observed.queries.length}`);
    const wrong = observed.writes.filter(({ status }) => status === 'closed' || !ALLOWED_IN_FAULT.has(status));
    expect(wrong.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  });

  it('lose no write when it is killed and started again', async () => {
    const restart = async (): Promise<void> => {
      gateway = await startOne('gateway');
    };
    const observed = await observe(() => {
      gateway.program.signalGroup('SIGKILL');
      return gateway.program.exited;
    }, restart);
    record('the only gateway is killed and started again', observed);
    const wrong = [...observed.queries, ...observed.writes].filter(
      ({ status }) => status !== 'closed' && ![200, 503].includes(status),
    );
    expect(wrong.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  });

  it('do not notice that the operator is killed', async () => {
    const operator = programs[0] as Program;
    const observed = await observe(
      () => operator.signalGroup('SIGKILL'),
      () => startOne('operator', { 'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin` }),
    );
    record('the operator is killed and started again', observed);
    expect(statuses([...observed.queries, ...observed.writes])).toMatch(/^200 ×\d+$/);
  });
});
