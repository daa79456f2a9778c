import { readdir, readFile, readlink } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { CuttableProxy } from '../support/kubernetes/cuttable-proxy.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type RunningProduct, startProduct } from '../support/product-process.ts';
import type { Program } from '../support/processes.ts';
import { Strangers } from '../support/strangers.ts';
import { until } from '../support/until.ts';

// Mixed load on operator and gateway for a time; then memory, descriptors, sockets, timers, watches and stored results are where they began.

/** `make soak` sets MINUTES; the short form is for every run of the tests. */
const SOAK_MS = Number(process.env['MINUTES'] || 0.25) * 60_000;
const CLIENTS = 6;
const RBAC = '/api/v1/rbac-manager';
const ROWS = Array.from({ length: 1_000 }, (_, i) => [`city ${i}`]);
const ANSWER = JSON.stringify({
  resultTable: { dataSchema: { columnNames: ['city'], columnDataTypes: ['STRING'] }, rows: ROWS },
  exceptions: [],
  tablesQueried: ['orders'],
  numDocsScanned: ROWS.length,
});
const SQL = { sql: 'SELECT city FROM orders LIMIT 1000' };
/** Callers without any right, whose uploads are idle. */
const IDLE_CALLERS = 4;
/** Growth of the heap between two parts of a long run that garbage collection explains. */
const HEAP_GROWTH_BYTES = 24 * 1024 * 1024;

const strangers = new Strangers();
let api: ControlPlane;
let proxy: CuttableProxy;
let engine: FakeEngine;
let folder: string;
let token: string;
let operator: RunningProduct;
let gateway: RunningProduct;
const programs: Program[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-soak-'));
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE'], ANSWER);
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', 'olap']);
  await api.mustKubectl(['apply', '-k', join(import.meta.dirname, '../../manifests')]);
  proxy = await CuttableProxy.start(api.url);
  token = await api.serviceAccountToken('olap', 'admin', { audience: 'olap-warden', durationSeconds: 86_400 });
  operator = await start('operator', { 'admin-subject': 'user-email:system:serviceaccount:olap:admin' });
  gateway = await start('gateway', { 'max-requests-per-second': '0', 'max-failed-attempts': '1000000' });
});
afterAll(async () => {
  strangers.leave();
  for (const program of programs) program.signalGroup('SIGKILL');
  await proxy?.close();
  await engine?.close();
  await api?.stop();
  await rm(folder, { recursive: true, force: true });
});

const start = (command: 'operator' | 'gateway', settings: Readonly<Record<string, string>>): Promise<RunningProduct> =>
  startProduct(api, command, {
    namespace: 'olap',
    settings: { controllers: engine.url, ...settings },
    properties: [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=${join(folder, 'results')}`,
      `olap.broker.pagination.temp.dir=${join(folder, 'temp')}`,
    ],
    onStart: (program) => programs.push(program),
    server: `https://127.0.0.1:${proxy.port}`,
  });

type Call = (
  method: string,
  path: string,
  body?: unknown,
  credential?: string,
) => Promise<{ status: number; text: string }>;

function caller(agent: Agent): Call {
  return async (method, path, body, credential = token) => {
    const answer = await request(gateway.url + path, {
      method: method as 'GET',
      dispatcher: agent,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
}

/** One turn of a client: each kind of request, also rejected and abandoned ones. @returns the statuses */
async function turn(call: Call, name: string): Promise<number[]> {
  const statuses: number[] = [];
  const add = async (...args: Parameters<Call>): Promise<string> => {
    const { status, text } = await call(...args);
    statuses.push(status);
    return text;
  };
  await add('POST', '/query/sql', SQL);
  const { requestId } = JSON.parse(await add('POST', '/query/sql?doPaginate=true&numRows=10', SQL)) as {
    requestId?: string;
  };
  if (requestId !== undefined) {
    await add('GET', `/query/${requestId}/results?offset=500&numRows=100`);
    await add('GET', `/query/${requestId}/results?format=csv`);
    await abandon(`/query/${requestId}/results?offset=0&numRows=1000`);
    await add('DELETE', `/query/resultStore/${requestId}`);
  }
  await add('POST', `${RBAC}/roles`, { name, description: 'For one turn.' });
  const role = `${RBAC}/roles/srn2:role%23${name}`;
  await add('PUT', role, { description: 'Changed.' });
  await add('POST', `${role}/create-assignment`, { subject: 'ada@example.com', subjectType: 'user-email' });
  await add('POST', `${role}/delete-assignment`, { subject: 'ada@example.com', subjectType: 'user-email' });
  await add('DELETE', role);
  await add('GET', '/tables');
  await add('GET', '/tables/orders/schema');
  await add('GET', `${RBAC}/whoami`, undefined, 'no-such-token');
  await add('POST', '/query/sql', { sql: 'SELECT FROM' });
  return statuses;
}

/** A client that disconnects while it waits. */
async function abandon(path: string): Promise<void> {
  const leaving = AbortSignal.timeout(2);
  const headers = { authorization: `Bearer ${token}` };
  await fetch(gateway.url + path, { headers, signal: leaving }).then(
    async (answer) => answer.body?.cancel(),
    () => undefined,
  );
}

interface Use {
  readonly descriptors: number;
  readonly sockets: number;
  readonly timers: number;
  readonly heapBytes: number;
}

async function useOf({ program, metricsUrl }: RunningProduct): Promise<Use> {
  const links = await Promise.all(
    (await readdir(`/proc/${program.pid}/fd`)).map((fd) => readlink(`/proc/${program.pid}/fd/${fd}`).catch(() => '')),
  );
  const metrics = await (await fetch(`${metricsUrl}/metrics`, { headers: { connection: 'close' } })).text();
  const metric = (pattern: RegExp): number => Number(pattern.exec(metrics)?.[1] ?? Number.NaN);
  return {
    descriptors: links.filter((link) => link !== '').length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    timers: metric(/^nodejs_active_resources\{[^}]*type="Timeout"[^}]*\} (\S+)$/m),
    heapBytes: metric(/^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m),
  };
}

/** What is left when nothing is in progress: waits until it is at most `limit`, which makes a leak a failure with the numbers. */
async function settles(product: RunningProduct, limit: Use): Promise<Use> {
  let use = await useOf(product);
  const isIn = (): boolean =>
    use.descriptors <= limit.descriptors && use.sockets <= limit.sockets && !(use.timers > limit.timers);
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!isIn() && Date.now() < deadline) {
    await delay(500);
    use = await useOf(product);
  }
  return use;
}

async function load(ms: number, onCycle: () => Promise<void>): Promise<Map<number, number>> {
  const agent = new Agent({ connections: CLIENTS });
  const counts = new Map<number, number>();
  const endsAt = Date.now() + ms;
  const client = async (id: number): Promise<void> => {
    for (let n = 0; Date.now() < endsAt; n++) {
      for (const status of await turn(caller(agent), `soak-${id}-${n}`))
        counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  };
  const cycles = async (): Promise<void> => {
    while (Date.now() < endsAt) {
      await delay(Math.min(10_000, ms / 4));
      await onCycle();
    }
  };
  await Promise.all([...Array.from({ length: CLIENTS }, (_, id) => client(id)), cycles()]);
  await agent.destroy();
  return counts;
}

/** What comes instead of what came last: silent connections, pipelined requests, a log that nobody reads, idle uploads. */
async function attack(cycle: number, tokens: readonly string[]): Promise<void> {
  endAttack();
  const port = Number(new URL(gateway.url).port);
  if (cycle % 4 === 0) return strangers.beSilent(port, 1_100);
  if (cycle % 4 === 1) return strangers.pipeline(port, 100, 17, '/', true);
  if (cycle % 4 === 2) return gateway.program.readOutput(false);
  for (const idle of tokens) await strangers.uploadIdly(port, idle, 33, 'content-length: 1048576');
}

function endAttack(): void {
  strangers.leave();
  gateway.program.readOutput(true);
}

async function idleTokens(call: Call): Promise<string[]> {
  const tokens: string[] = [];
  for (let i = 0; i < IDLE_CALLERS; i++) {
    const { text } = await call('POST', `${RBAC}/service-tokens`, { description: `idle-${i}` });
    tokens.push((JSON.parse(text) as { bearerToken: string }).bearerToken);
  }
  return tokens;
}

const SLACK: Use = { descriptors: 8, sockets: 6, timers: 8, heapBytes: Number.POSITIVE_INFINITY };
const plus = (use: Use): Use => ({
  descriptors: use.descriptors + SLACK.descriptors,
  sockets: use.sockets + SLACK.sockets,
  timers: use.timers + SLACK.timers,
  heapBytes: SLACK.heapBytes,
});

it(
  `uses after ${SOAK_MS / 60_000} minutes of load what it used before`,
  async () => {
    const products = [operator, gateway];
    const once = new Agent();
    const call = caller(once);
    await until('the administrator has its role', async () => (await call('GET', `${RBAC}/roles`)).status === 200);
    const idle = await idleTokens(call);
    // What is opened once, such as pools and caches, is not a leak.
    await load(Math.min(5_000, SOAK_MS / 2), async () => undefined);
    await delay(1_000);
    const before = await Promise.all(products.map(useOf));
    const watchesBefore = proxy.connections;

    const heaps: number[][] = [[], []];
    let cycle = 0;
    const counts = await load(SOAK_MS, async () => {
      await attack(cycle++, idle);
      // A network that is cut ends all watches; they must be opened again, and no second time.
      proxy.cut();
      proxy.mend();
      for (const [at, product] of products.entries()) heaps[at]?.push((await useOf(product)).heapBytes);
    });
    endAttack();
    const after = await Promise.all(products.map((product, at) => settles(product, plus(before[at]!))));
    process.stdout.write(
      `${JSON.stringify({ statuses: Object.fromEntries(counts), before, after, watches: [watchesBefore, proxy.connections] })}\n`,
    );
    for (const [at, use] of after.entries()) {
      const limit = plus(before[at]!);
      expect(use.descriptors, JSON.stringify(use)).toBeLessThanOrEqual(limit.descriptors);
      expect(use.sockets, JSON.stringify(use)).toBeLessThanOrEqual(limit.sockets);
      expect(use.timers, JSON.stringify(use)).toBeLessThanOrEqual(limit.timers);
    }
    await until('no more watches than before', () => proxy.connections <= watchesBefore + 2);

    // The lowest values are those after a garbage collection. A short run has too few.
    for (const series of heaps.filter(({ length }) => length >= 16)) {
      const quarter = Math.floor(series.length / 4);
      const early = Math.min(...series.slice(quarter, 2 * quarter));
      const late = Math.min(...series.slice(-quarter));
      expect(late - early, `heap ${early} → ${late}`).toBeLessThan(HEAP_GROWTH_BYTES);
    }

    // The statuses of a cut are 503; everything else is what the requests are for.
    const expected = new Set([200, 400, 401, 404, 409, 503]);
    expect([...counts.keys()].filter((status) => !expected.has(status))).toEqual([]);
    const { usedBytes } = JSON.parse((await call('GET', '/query/resultStore/usage')).text) as { usedBytes: number };
    expect(usedBytes).toBe(0);
    const left = await readdir(join(folder, 'results'), { recursive: true, withFileTypes: true });
    const files = left.filter((entry) => entry.isFile() && /\.(?:json|data|rows)/.test(entry.name));
    expect(
      await Promise.all(
        files.map(
          async ({ parentPath, name }) =>
            `${name}: ${(await readFile(join(parentPath, name), 'latin1')).slice(0, 200)}`,
        ),
      ),
    ).toEqual([]);
    await once.destroy();
  },
  SOAK_MS + 5 * WAIT_LIMIT_MS,
);
