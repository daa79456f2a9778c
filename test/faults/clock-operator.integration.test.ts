import { randomUUID } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterHealthReport, ServiceToken } from '../../src/resources/kinds.ts';
import { installed } from '../../tools/pinot/jvm.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { applyManifests } from '../support/kubernetes/manifests.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type RunningProduct, startProduct } from '../support/product-process.ts';
import type { Program } from '../support/processes.ts';
import { eventually } from '../support/operator.ts';
import { FAULT_MS } from './support/figures.ts';

// Two operators and a gateway as processes, with a real API server. The wall clocks of the operators are set while they work (libfaketime); that of the
// gateway, which decides about access, and that of the API server stay right.

const NAMESPACE = 'olap';
const MANAGER = '/api/v1/rbac-manager';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const IS_LONG = FAULT_MS >= 10_000;
const STEPS_MS = IS_LONG ? [HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS] : [24 * HOUR_MS, -24 * HOUR_MS];
/** Of the tokens, roles and policies that are written after a step. */
const WRITES = IS_LONG ? 20 : 5;

interface Operator extends RunningProduct {
  readonly clockFile: string;
}
interface Token {
  readonly accessKey: string;
  readonly bearerToken: string;
}

const programs: Program[] = [];
let folder: string;
let api: ControlPlane;
let engine: FakeEngine;
let operators: readonly Operator[];
let gateway: RunningProduct;
let admin: string;
/** Ends in half an hour of the true time. */
let short: Token;
/** Has ended. */
let ended: Token;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-clock-'));
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE'], '{"resultTable":{"rows":[]}}');
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  admin = await api.serviceAccountToken(NAMESPACE, 'admin', { audience: 'olap-warden' });
  operators = [await operator('first'), await operator('second')];
  gateway = await start('gateway');
  await eventually(async () => (await call('GET', `${MANAGER}/roles`)).status, isOk);
  short = await newToken(30 * MINUTE_MS);
  ended = await newToken(2_000);
  await eventually(() => statusAs(short), isOk);
  await eventually(
    () => statusAs(ended),
    (status) => status === 401,
  );
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await engine?.close();
  await api?.stop();
  await rm(folder, { recursive: true, force: true });
});

const isOk = (status: number): boolean => status === 200;

const start = (command: 'operator' | 'gateway', env = {}): Promise<RunningProduct> =>
  startProduct(api, command, {
    namespace: NAMESPACE,
    settings: {
      controllers: engine.url,
      'max-requests-per-second': '0',
      ...(command === 'operator' && { 'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin` }),
    },
    env,
    anyCertificate: command === 'operator',
    onStart: (program) => programs.push(program),
  });

async function operator(name: string): Promise<Operator> {
  const clockFile = join(folder, name);
  await writeFile(clockFile, '+0');
  const running = await start('operator', {
    LD_PRELOAD: join(await installed('faketime'), 'libfaketime.so.1'),
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  });
  return { ...running, clockFile };
}

async function setClock({ clockFile }: Operator, ms: number): Promise<void> {
  // At once, so that the operator never reads a part of it.
  await writeFile(`${clockFile}.new`, `${ms < 0 ? '' : '+'}${ms / 1000}`);
  await rename(`${clockFile}.new`, clockFile);
}

async function leads({ metricsUrl }: Operator): Promise<boolean> {
  const metrics = await (await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })).text();
  return metrics.includes('leader_election_master_status{name="olap-warden-operator"} 1');
}

/** The only leader. Two lead at once where both lead before and after a moment at which the other one does. */
async function leader(): Promise<Operator> {
  const [first, second] = operators as [Operator, Operator];
  const lease = ['-n', NAMESPACE, 'get', 'lease', 'olap-warden-operator', '-o', 'jsonpath={.spec.leaseTransitions}'];
  const found = await eventually(
    async () => {
      const before = (await api.mustKubectl(lease)).stdout;
      const seen = [await leads(first), await leads(second), await leads(first), await leads(second)];
      const same = (await api.mustKubectl(lease)).stdout === before;
      if (same) expect(seen, 'two leaders').not.toEqual([true, true, true, true]);
      return seen.join(' ');
    },
    (seen) => seen === 'true false true false' || seen === 'false true false true',
  );
  return found.startsWith('true') ? first : second;
}

function call(method: string, path: string, body?: unknown, token = admin): Promise<Response> {
  return fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
}
const statusAs = async ({ bearerToken }: Token): Promise<number> =>
  (await call('POST', '/query/sql', { sql: 'SELECT city FROM orders' }, bearerToken)).status;

async function mustCall(method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await call(method, path, body);
  const text = await answer.text();
  expect(`${method} ${path}: ${answer.status} ${answer.status === 200 ? '' : text}`).toBe(`${method} ${path}: 200 `);
  return text === '' ? undefined : JSON.parse(text);
}

/** A token with the role of administrators. @param lifetimeMs of the token and of its role */
async function newToken(lifetimeMs: number): Promise<Token> {
  const expiresAt = new Date(Date.now() + lifetimeMs).toISOString();
  const token = (await mustCall('POST', `${MANAGER}/service-tokens`, { description: 'clock', expiresAt })) as Token;
  const subject = { subject: token.accessKey, subjectType: 'service-token', expiresAt };
  await mustCall('POST', `${MANAGER}/roles/srn2:role%23system-admin/create-assignment`, subject);
  return token;
}

async function resource<T>(kind: string, name: string): Promise<T> {
  return JSON.parse((await api.mustKubectl(['-n', NAMESPACE, 'get', kind, name, '-o', 'json'])).stdout) as T;
}
const report = () => resource<ClusterHealthReport>('clusterhealthreports.olapwarden.io', 'cluster');
const isNear = (time: string | undefined, offsetMs: number): boolean =>
  Math.abs(Date.parse(time ?? '') - Date.now() - offsetMs) < 5 * MINUTE_MS;

/** The number of runs that the operators made for a request. */
function runsOf(id: string): number {
  const logs = operators.map(({ program }) => program.output).join('\n');
  return logs.split('\n').filter((line) => line.includes('health run completed') && line.includes(`"${id}"`)).length;
}

/** Requests a run, and waits for its report and for its line in a log, which may come later. */
async function runOnDemand(id: string): Promise<void> {
  const named = ['clusterhealthreports.olapwarden.io', 'cluster', `olapwarden.io/run-at=${id}`];
  await api.mustKubectl(['-n', NAMESPACE, 'annotate', '--overwrite', ...named]);
  await eventually(
    async () => (await report()).status?.observedRunAt,
    (observed) => observed === id,
  );
  await eventually(
    () => Promise.resolve(runsOf(id)),
    (runs) => runs > 0,
  );
}

/** Creates and deletes roles, policies and tokens. Each step must succeed. */
async function write(): Promise<void> {
  for (let at = 0; at < WRITES; at++) {
    const name = `clock-${randomUUID().slice(0, 8)}`;
    const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }];
    await mustCall('POST', `${MANAGER}/policies`, { name, policyDocument: { version: 'v1', statements } });
    await mustCall('POST', `${MANAGER}/roles`, { name, description: name });
    const token = (await mustCall('POST', `${MANAGER}/service-tokens`, { description: name })) as Token;
    await mustCall('DELETE', `${MANAGER}/roles/srn2:role%23${name}`);
    await mustCall('DELETE', `${MANAGER}/policies/srn2:policy%23${name}`);
    await mustCall('DELETE', `${MANAGER}/service-tokens/srn2:service-token%23${token.accessKey}`);
  }
}

describe.each(STEPS_MS)('a step of the clocks of operators by %d ms', (step) => {
  it.each(['the leader', 'both'])(
    'of %s: one leads, nothing is lost or done twice, access stays as it is',
    async (which) => {
      const before = await leader();
      for (const one of which === 'both' ? operators : [before]) await setClock(one, step);
      const now = await leader();
      // A leader whose clock was set forward may have ended its term.
      if (step < 0) expect(now.program.pid).toBe(before.program.pid);
      const moved = now === before || which === 'both' ? step : 0;
      const runs = [`${which}/${step}`, `${which}/${step}/back`] as const;
      await runOnDemand(runs[0]);
      expect(isNear((await report()).status?.lastRunTime, moved)).toBe(true);
      await write();
      // Their time is that of the gateway, whatever the operator writes into a status.
      expect(await statusAs(short)).toBe(200);
      expect(await statusAs(ended)).toBe(401);

      for (const one of operators) await setClock(one, 0);
      await leader();
      await runOnDemand(runs[1]);
      expect(isNear((await report()).status?.lastRunTime, 0)).toBe(true);
      await write();
      const ready = async (token: Token): Promise<string | undefined> =>
        (await resource<ServiceToken>('servicetokens.olapwarden.io', token.accessKey)).status?.conditions?.find(
          ({ type }) => type === 'Ready',
        )?.reason;
      await api.mustKubectl([
        '-n',
        NAMESPACE,
        'annotate',
        '--overwrite',
        'servicetokens.olapwarden.io',
        '--all',
        `clock=${which}/${step}`,
      ]);
      await eventually(
        async () => [await ready(short), await ready(ended)].join(' '),
        (reasons) => reasons === 'Expiring Expired',
      );
      expect(await statusAs(short)).toBe(200);
      expect(await statusAs(ended)).toBe(401);
      // After all writes: none was made twice.
      expect(runs.map(runsOf)).toEqual([1, 1]);
    },
  );
});
