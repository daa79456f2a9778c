import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import { buildStatus, withoutRunning, withRunning } from '../../../../src/health/report/report.ts';
import type { RunResult } from '../../../../src/health/run/run.ts';
import { clusterHealthRoutes } from '../../../../src/api/health/index.ts';
import { REPORT_NAME } from '../../../../src/resources/cluster-health-report.ts';
import type { ClusterHealthReport, ResourceByKind, ResourceKind } from '../../../../src/resources/kinds.ts';
import type { WriteOptions } from '../../../../src/store/resource-store.ts';
import { ANNOTATIONS } from '../../../../src/resources/meta.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';
import { clusterHealthReport } from '../../../builders/resources.ts';
import { authorizerBy, TEST_HEADERS, testApp } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { ReplayEngine } from '../../../support/replay-engine.ts';
import { MemoryStore } from '../../access/memory-store.ts';

let records: AuditRecord[];
const now = Date.parse('2026-11-21T10:00:05Z');

/** Keeps the signal of the last update. */
class SignalStore extends MemoryStore {
  signal: AbortSignal | undefined;

  override update<K extends ResourceKind>(kind: K, object: ResourceByKind[K], options?: WriteOptions) {
    this.signal = options?.signal;
    return super.update(kind, object);
  }
}

let store: SignalStore;
let engine: ReplayEngine;
let app: FastifyInstance;
let allowed: readonly string[];

beforeEach(async () => {
  store = new SignalStore();
  store.seed(clusterHealthReport(REPORT_NAME));
  engine = new ReplayEngine('1.5.1');
  engine.json('/periodictask/names', ['SegmentStatusChecker', 'RetentionManager']);
  allowed = ['GetHealth', 'ExecuteTask'];
  records = [];
  app = await testApp({
    authorizer: authorizerBy((_, action) => allowed.includes(action)),
    parts: { audit: validAuditLog(records, new FakeClock()) },
    register: (instance) =>
      clusterHealthRoutes(instance, {
        store,
        engine,
        clock: { ...systemClock, random: () => 0.5 },
        report: REPORT_NAME,
        maxWaitMs: 1_000,
      }),
  });
});

afterEach(() => app.close());

function report(): ClusterHealthReport {
  const found = store.get('ClusterHealthReport', REPORT_NAME);
  if (found === undefined) throw new Error('there is no report');
  return found;
}

const runAt = () => report().metadata.annotations?.[ANNOTATIONS.runAt];

async function finish(result: RunResult, observed: string | undefined = runAt()): Promise<void> {
  const current = report();
  const status = buildStatus({
    result,
    previous: current.status,
    generation: 1,
    runAt: observed,
    maxFindings: 20,
    now,
  });
  await store.updateStatus('ClusterHealthReport', { ...current, status });
}

/** The response fields that the tests check. */
interface Body {
  readonly checks: readonly { readonly name: string }[];
  readonly healthCheckResult: object;
  readonly summary: object;
  readonly [index: number]: unknown;
}

const get = async (url: string) => {
  const answer = await app.inject({ method: 'GET', url });
  return { status: answer.statusCode, body: answer.json<Body>() };
};

it('is about the report of the cluster of the gateway', async () => {
  const further = await testApp({
    authorizer: authorizerBy((_, action) => allowed.includes(action)),
    parts: { audit: validAuditLog(records, new FakeClock()) },
    register: (instance) =>
      clusterHealthRoutes(instance, { store, engine, clock: systemClock, report: 'sales', maxWaitMs: 1_000 }),
  });
  const call = async (method: 'GET' | 'PUT', url: string) => {
    const answer = await further.inject({ method, url, headers: TEST_HEADERS });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  try {
    await finish(runResult({ REPLICATION_CHECK: 2 }));
    expect((await call('GET', '/clusterHealth')).body).toMatchObject({ status: null, checks: [] });
    expect((await call('PUT', '/clusterHealth?state=DISABLE')).body['message']).toContain('`sales`');
    store.seed(clusterHealthReport('sales', { cluster: 'sales' }));
    expect((await call('PUT', '/clusterHealth?state=DISABLE')).status).toBe(200);
    await call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask');
    allowed = [...allowed, 'UpdateHealth'];
    const mute = {
      check: 'REPLICATION_CHECK',
      entity: '*',
      reason: 'planned',
      until: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const muted = await further.inject({
      method: 'POST',
      url: '/clusterHealth/mutes',
      headers: TEST_HEADERS,
      payload: mute,
    });
    expect(muted.statusCode).toBe(200);
    expect(store.get('ClusterHealthReport', 'sales')).toMatchObject({
      spec: { cluster: 'sales', suspend: true, mutes: [{ reason: 'planned' }] },
      metadata: { annotations: { [ANNOTATIONS.runAt]: expect.any(String) as string } },
    });
    expect(report().spec).toEqual({});
    expect(runAt()).toBeUndefined();
  } finally {
    await further.close();
  }
});

describe('GET /clusterHealth', () => {
  it('has no report before the first run', async () => {
    expect(await get('/clusterHealth')).toMatchObject({
      status: 200,
      body: { runTimestamp: null, status: null, summary: { pass: 0, fail: 0 }, checks: [] },
    });
  });

  it('returns the latest report in full', async () => {
    await finish(runResult({ REPLICATION_CHECK: 2 }));
    const { body } = await get('/clusterHealth');
    expect(body).toMatchObject({
      runTimestamp: 1_795_255_200_000,
      durationMs: 1_234,
      status: 'FAIL',
      summary: { pass: CATALOGUE.length - 1, fail: 1 },
    });
    expect(body.checks).toHaveLength(CATALOGUE.length);
    expect(body.checks[5]).toMatchObject({
      name: 'REPLICATION_CHECK',
      title: 'Replication',
      severity: 'warning',
      category: 'tables',
      status: 'FAIL',
      findingCount: 2,
      findings: [{ entityType: 'table', entity: 't0_OFFLINE' }, { entity: 't1_OFFLINE' }],
      remediation: expect.stringContaining('replication') as unknown,
    });
    expect(body.healthCheckResult).toMatchObject({
      cluster: { cluster: { SEGMENT_COUNT_CHECK: { pass: true } } },
      table: { t0_OFFLINE: { REPLICATION_CHECK: { pass: false } } },
    });
  });

  it('finds a table and an instance among all findings, not among the first ones only', async () => {
    const tables = Array.from({ length: 3_000 }, (_, i) => `t${i}_OFFLINE`);
    const results = [checkResult('REPLICATION_CHECK', 3_000), checkResult('SEGMENT_COUNT_CHECK', 30)];
    await finish(runResult({}, { results, tables }));
    const { body } = await get('/clusterHealth?table=t2999');
    expect(body.checks).toMatchObject([
      { name: 'REPLICATION_CHECK', findings: [{ entity: 't2999_OFFLINE', message: 'it is not well' }] },
    ]);
    const all = (await get('/clusterHealth')).body.checks as readonly { findings?: unknown[] }[];
    expect(all[0]?.findings).toHaveLength(20);
    expect((await get('/clusterHealth?table=t25_OFFLINE')).body.checks).toHaveLength(2);
  });

  it('responds with 404 to an unknown table or instance, and before the first run', async () => {
    const before = await get('/clusterHealth?table=t0');
    expect(before).toMatchObject({ status: 404, body: { message: expect.stringContaining('have not run') } });
    await finish(runResult({ REPLICATION_CHECK: 1 }));
    expect((await get('/clusterHealth?table=t1_OFFLINE')).status).toBe(200);
    const table = await get('/clusterHealth?table=nosuch');
    expect(table).toMatchObject({ status: 404, body: { message: expect.stringContaining('unknown table `nosuch`') } });
    const instance = await get('/clusterHealth?instance=Server_c_8098');
    expect(instance).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('unknown instance `Server_c_8098`') },
    });
  });

  it('marks a check that could not be evaluated', async () => {
    await finish(runResult({}, { results: [checkResult('REPLICATION_CHECK', 1, { unread: true })] }));
    const { body } = await get('/clusterHealth');
    expect(body.checks).toMatchObject([{ status: 'FAIL', couldNotEvaluate: true }]);
  });

  it.each([
    ['check=REPLICATION_CHECK', ['REPLICATION_CHECK']],
    ['check=replication_check', ['REPLICATION_CHECK']],
    ['status=FAIL', ['SEGMENT_COUNT_CHECK', 'REPLICATION_CHECK', 'INSTANCE_HEALTH_API_CHECK']],
    ['severity=critical', ['INSTANCE_HEALTH_API_CHECK', 'QUERY_HEALTH_CHECK']],
    ['severity=critical&status=FAIL', ['INSTANCE_HEALTH_API_CHECK']],
    ['table=t1', ['REPLICATION_CHECK']],
    ['table=t1_OFFLINE', ['REPLICATION_CHECK']],
    ['table=t1_REALTIME', []],
    ['instance=Server_a_8098', ['INSTANCE_HEALTH_API_CHECK']],
    ['instance=Server_b_8098', []],
    ['status=PASS&check=REPLICATION_CHECK', []],
  ])('by ?%s', async (query, names) => {
    const results = [
      checkResult('SEGMENT_COUNT_CHECK', 1),
      checkResult('REPLICATION_CHECK', 2),
      checkResult('INSTANCE_HEALTH_API_CHECK', 1, { finding: { entityType: 'server', entity: 'Server_a_8098' } }),
      checkResult('QUERY_HEALTH_CHECK'),
    ];
    await finish(runResult({}, { results }));
    const { body } = await get(`/clusterHealth?${query}`);
    expect(body.checks.map(({ name }) => name)).toEqual(names);
    // The filter applies to the list, not to the summary.
    expect(body.summary).toEqual({
      pass: 1,
      fail: 3,
      failMuted: 0,
      failBySeverity: { critical: 1, warning: 2, advice: 0 },
    });
  });

  it('rejects an unknown check', async () => {
    expect(await get('/clusterHealth?check=REPLICATION')).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('`REPLICATION_CHECK`') as unknown },
    });
    expect(await get('/clusterHealth?status=MAYBE')).toMatchObject({ status: 400 });
  });

  it('requires GetHealth', async () => {
    allowed = ['ExecuteTask'];
    expect(await get('/clusterHealth')).toMatchObject({ status: 403, body: { error: 'Forbidden' } });
    expect(await get('/clusterHealth/list')).toMatchObject({ status: 403 });
    expect(await get('/periodictask/names')).toMatchObject({ status: 403 });
  });
});

it('GET /clusterHealth/list has all checks in order, with their thresholds', async () => {
  const { body } = await get('/clusterHealth/list');
  expect(body).toHaveLength(CATALOGUE.length);
  expect(body[5]).toEqual({
    name: 'REPLICATION_CHECK',
    origin: 'specification',
    title: 'Replication',
    severity: 'warning',
    description: 'The replication factor of a table is below the threshold of the controller, 3 if unspecified.',
    category: 'tables',
    defaultThresholds: { minReplication: 3 },
  });
});

describe('PUT /clusterHealth', () => {
  const put = (url: string) => app.inject({ method: 'PUT', url });

  it('disables and enables the periodic runs', async () => {
    expect((await put('/clusterHealth?state=DISABLE')).json()).toMatchObject({ state: 'DISABLED' });
    expect(report().spec.suspend).toBe(true);
    expect((await put('/clusterHealth?state=ENABLE')).json()).toMatchObject({ state: 'ENABLED' });
    expect(report().spec.suspend).toBe(false);
    expect(records.map(({ action, outcome, parameters }) => [action, outcome, parameters])).toEqual([
      ['ExecuteTask', 'succeeded', { state: 'DISABLE' }],
      ['ExecuteTask', 'succeeded', { state: 'ENABLE' }],
    ]);
  });

  it('is not aborted by the end of a body', async () => {
    store.beforeWrite = settle;
    await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/clusterHealth?state=DISABLE`;
    const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'PUT', headers, body: '{}' })).status).toBe(200);
    expect(store.signal?.aborted).toBe(false);
  });

  it('accepts two states, and requires ExecuteTask', async () => {
    expect((await put('/clusterHealth?state=off')).statusCode).toBe(400);
    expect((await put('/clusterHealth')).statusCode).toBe(400);
    allowed = ['GetHealth'];
    expect((await put('/clusterHealth?state=DISABLE')).statusCode).toBe(403);
    expect(report().spec.suspend).toBeUndefined();
  });
});

describe('GET /periodictask/run', () => {
  const TASK = 'ClusterHealthCheckTask';

  it.each(['taskName', 'taskname'])('queues a run by %s', async (name) => {
    const { status, body } = await get(`/periodictask/run?${name}=${TASK}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ taskId: 'api-80000000', isSuccessful: true });
    expect(runAt()).toBe('api-80000000');
  });

  it('joins a queued run', async () => {
    store.seed({
      ...report(),
      metadata: { ...report().metadata, annotations: { [ANNOTATIONS.runAt]: 'api-0000000a' } },
    });
    expect((await get(`/periodictask/run?taskName=${TASK}`)).body).toMatchObject({ taskId: 'api-0000000a' });
    expect(runAt()).toBe('api-0000000a');
  });

  it('joins a run in progress', async () => {
    const running = withRunning(undefined, { id: 'run-0000000b', checks: [], checksTotal: 33 });
    await store.updateStatus('ClusterHealthReport', { ...report(), status: running });
    expect((await get(`/periodictask/run?taskName=${TASK}`)).body).toMatchObject({ taskId: 'run-0000000b' });
    expect(runAt()).toBeUndefined();
  });

  it('waits for the end of the run', async () => {
    const answer = get(`/periodictask/run?taskName=${TASK}&wait=true`);
    await expect.poll(runAt).toBe('api-80000000');
    await store.updateStatus('ClusterHealthReport', {
      ...report(),
      status: withRunning(report().status, { id: 'api-80000000', checks: [], checksTotal: 33 }),
    });
    await finish(runResult({ REPLICATION_CHECK: 1 }));
    expect((await answer).body).toMatchObject({
      taskId: 'api-80000000',
      message: expect.stringContaining(`${CATALOGUE.length - 1} checks passed, 1 failed`) as unknown,
    });
  });

  it('waits for the end of a run that it joined', async () => {
    await store.updateStatus('ClusterHealthReport', {
      ...report(),
      status: withRunning(undefined, { id: 'run-1', checks: [], checksTotal: 33 }),
    });
    const subscribe = vi.spyOn(store, 'subscribe');
    const answer = get(`/periodictask/run?taskName=${TASK}&wait=true`);
    await expect.poll(() => subscribe.mock.calls.length).toBe(1);
    await finish(runResult(), undefined);
    expect((await answer).body).toMatchObject({
      taskId: 'run-1',
      message: expect.stringContaining(`${CATALOGUE.length} checks passed`) as unknown,
    });
  });

  it('waits for a limited time', async () => {
    expect(await get(`/periodictask/run?taskName=${TASK}&wait=true`)).toMatchObject({
      status: 504,
      body: { message: expect.stringContaining('api-80000000') as unknown },
    });
  });

  it('retries after a conflict with another change of the report', async () => {
    let conflicts = 1;
    store.beforeWrite = async () => {
      if (conflicts-- > 0)
        await store.updateStatus('ClusterHealthReport', { ...report(), status: withoutRunning(report().status) });
    };
    expect((await get(`/periodictask/run?taskName=${TASK}`)).status).toBe(200);
    expect(runAt()).toBe('api-80000000');
  });

  it('returns an error before the operator has started', async () => {
    await store.delete('ClusterHealthReport', REPORT_NAME);
    expect(await get(`/periodictask/run?taskName=${TASK}`)).toMatchObject({ status: 503 });
  });

  it('forwards the tasks of the engine, and their responses unchanged', async () => {
    const payload = '{"taskId":"api-8e6b79a5","isSuccessful":true}';
    engine.on('GET', 'controller', '/periodictask/run?taskname=RetentionManager&tableName=orders&type=OFFLINE', {
      status: 200,
      body: payload,
    });
    const answer = await app.inject({
      method: 'GET',
      url: '/periodictask/run?taskName=RetentionManager&tableName=orders&type=OFFLINE',
    });
    expect(answer.payload).toBe(payload);
  });

  it('returns 502, not 401, if the engine rejects the credential of the gateway', async () => {
    engine.on('GET', 'controller', '/periodictask/run?taskname=RetentionManager', { status: 401, body: '{}' });
    expect((await get('/periodictask/run?taskName=RetentionManager')).status).toBe(502);
  });

  it('lists the tasks and rejects unknown ones', async () => {
    engine.on('GET', 'controller', '/periodictask/run?taskname=Nonsense', { status: 404, body: '{}' });
    const { status, body } = await get('/periodictask/run?taskName=Nonsense');
    expect(status).toBe(404);
    expect(body).toMatchObject({
      message:
        'unknown periodic task `Nonsense`; known tasks are `ClusterHealthCheckTask`, `SegmentStatusChecker`, `RetentionManager`',
    });
    expect((await get('/periodictask/names')).body).toEqual([TASK, 'SegmentStatusChecker', 'RetentionManager']);
    engine.stop('127.0.0.1:19000');
    expect((await get('/periodictask/names')).body).toEqual([TASK]);
    expect((await get('/periodictask/run')).status).toBe(400);
  });

  it('requires ExecuteTask, also for the tasks of the engine', async () => {
    allowed = ['GetHealth'];
    expect((await get(`/periodictask/run?taskName=${TASK}`)).status).toBe(403);
    expect((await get('/periodictask/run?taskName=RetentionManager')).status).toBe(403);
    expect(engine.requests).toEqual([]);
    expect(runAt()).toBeUndefined();
  });
});
