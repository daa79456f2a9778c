import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildStatus } from '../../../../src/health/report/report.ts';
import { clusterHealthRoutes } from '../../../../src/api/health/index.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { REPORT_NAME } from '../../../../src/resources/cluster-health-report.ts';
import { MAX_MUTES, type Mute } from '../../../../src/resources/health-mute.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';
import { clusterHealthReport } from '../../../builders/resources.ts';
import { authorizerBy, testApp } from '../../../support/app.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { ReplayEngine } from '../../../support/replay-engine.ts';
import { MemoryStore } from '../../access/memory-store.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString();
const MUTE = { check: 'REPLICATION_CHECK', entity: 't1_*', reason: 'planned', until: inDays(1) };

let store: MemoryStore;
let app: FastifyInstance;
let allowed: readonly string[];
let records: AuditRecord[];
let clock: FakeClock;

beforeEach(async () => {
  store = new MemoryStore();
  store.seed(clusterHealthReport(REPORT_NAME));
  allowed = ['GetHealth', 'UpdateHealth'];
  records = [];
  clock = new FakeClock('2026-11-21T10:00:00Z');
  app = await testApp({
    authorizer: authorizerBy((_, action) => allowed.includes(action)),
    parts: { audit: validAuditLog(records, clock) },
    register: (instance) =>
      clusterHealthRoutes(instance, {
        store,
        engine: new ReplayEngine('1.5.1'),
        clock: { ...systemClock, now: () => clock.now() },
        report: REPORT_NAME,
        maxWaitMs: 1_000,
      }),
  });
});

afterEach(() => app.close());

const mutes = () => store.get('ClusterHealthReport', REPORT_NAME)?.spec.mutes;
const post = async (payload: object) => {
  const answer = await app.inject({ method: 'POST', url: '/clusterHealth/mutes', payload });
  return { status: answer.statusCode, body: answer.json<{ id: string; message: string }>() };
};
const list = async () => (await app.inject({ method: 'GET', url: '/clusterHealth/mutes' })).json<object[]>();

describe('the mutes', () => {
  it('are created with the caller as the author, and listed with the number of their findings', async () => {
    const { status, body } = await post(MUTE);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { ...MUTE, id: expect.stringMatching(/^mute-[0-9a-f]{8}$/) as string, active: true, findingCount: 0 },
    });
    expect(mutes()).toEqual([{ id: body.id, ...MUTE, author: 'srn2:user#alice@example.com' }]);
    const report = store.get('ClusterHealthReport', REPORT_NAME)!;
    const result = runResult({}, { results: [checkResult('REPLICATION_CHECK', 3)] });
    const input = { previous: undefined, generation: 1, runAt: undefined, maxFindings: 20, now: NOW };
    await store.updateStatus('ClusterHealthReport', {
      ...report,
      status: buildStatus({ ...input, result, mutes: report.spec.mutes }),
    });
    expect(await list()).toMatchObject([{ id: body.id, findingCount: 1 }]);
    const health = (await app.inject({ method: 'GET', url: '/clusterHealth' })).json<object>();
    expect(health).toMatchObject({
      status: 'FAIL',
      summary: { fail: 1, failMuted: 0 },
      checks: [{ findingCount: 3, mutedCount: 1, findings: [{}, {}, { entity: 't1_OFFLINE', mutedBy: body.id }] }],
    });
  });

  it('have an audit record for each write, with what was muted', async () => {
    const { body } = await post(MUTE);
    expect((await app.inject({ method: 'DELETE', url: `/clusterHealth/mutes/${body.id}` })).statusCode).toBe(200);
    expect((await app.inject({ method: 'DELETE', url: `/clusterHealth/mutes/${body.id}` })).statusCode).toBe(404);
    expect(mutes()).toEqual([]);
    expect(records.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['UpdateHealth', 'succeeded'],
      ['UpdateHealth', 'succeeded'],
      ['UpdateHealth', 'rejected'],
    ]);
    expect(records[0]).toMatchObject({
      asked: MUTE,
      changes: [{ kind: 'ClusterHealthReport', name: REPORT_NAME, operation: 'update' }],
    });
    const stored = { id: body.id, ...MUTE, author: 'srn2:user#alice@example.com' };
    expect(records[0]?.changes?.[0]?.differences).toEqual([{ path: '/mutes', after: [stored] }]);
    expect(records[1]?.changes?.[0]?.differences).toEqual([{ path: '/mutes/0', before: stored }]);
    expect(JSON.stringify(records[1])).toContain(body.id);
  });

  it.each([
    ['POST', '/clusterHealth/mutes', MUTE],
    ['DELETE', '/clusterHealth/mutes/mute-1', undefined],
  ] as const)('have one audit record for a denied %s', async (method, url, payload) => {
    allowed = ['GetHealth'];
    const answer = await app.inject({ method, url, ...(payload && { payload }) });
    expect(answer.statusCode).toBe(403);
    expect(records).toMatchObject([{ type: 'denied', action: 'UpdateHealth', outcome: 'denied', status: 403 }]);
  });

  it.each([
    ['another author', { ...MUTE, author: 'srn2:user#bob' }, 'author'],
    ['an id', { ...MUTE, id: 'mine' }, 'id'],
    ['an unknown check', { ...MUTE, check: 'REPLICATIN_CHECK' }, 'did you mean `REPLICATION_CHECK`?'],
    ['a check in lower case', { ...MUTE, check: 'replication_check' }, 'check'],
    ['everything', { ...MUTE, check: '*', entity: '*' }, 'faults of the future'],
    ['every check without saying so', { entity: '*', reason: 'x', until: inDays(1) }, 'faults of the future'],
    ['every check by its last letters', { ...MUTE, check: '*_CHECK', entity: '*' }, 'faults of the future'],
    ['every check by a common letter', { ...MUTE, check: '*E*', entity: '*' }, 'faults of the future'],
    ['every entity by its underscore', { ...MUTE, check: '*', entity: '*_*' }, 'faults of the future'],
    ['no end', { ...MUTE, until: undefined }, 'until'],
    ['an end that is no time', { ...MUTE, until: 'tomorrow' }, 'until'],
    ['an end in the past', { ...MUTE, until: inDays(-1) }, 'is in the past'],
    ['an end too far ahead', { ...MUTE, until: inDays(91) }, 'more than 90 days ahead'],
    ['no reason', { ...MUTE, reason: '' }, 'reason'],
    ['two lines as entity', { ...MUTE, entity: 'a\nb' }, 'entity'],
    ['a long reason', { ...MUTE, reason: 'x'.repeat(1025) }, 'reason'],
  ])('are refused with %s', async (_, body, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(message);
    expect(mutes()).toBeUndefined();
  });

  it('are limited; those that expired a day ago make room', async () => {
    const many = (until: string): Mute[] =>
      Array.from({ length: MAX_MUTES }, (_, i) => ({ id: `m-${i}`, entity: `t${i}`, reason: 'x', until }));
    store.seed(clusterHealthReport(REPORT_NAME, { mutes: many(inDays(-0.5)) }));
    expect(await post(MUTE)).toMatchObject({ status: 409 });
    await clock.advance(86_400_000 / 2);
    expect(await post(MUTE)).toMatchObject({ status: 200 });
    expect(mutes()).toHaveLength(1);
  });

  it('require UpdateHealth to change and GetHealth to read', async () => {
    allowed = ['GetHealth'];
    expect((await post(MUTE)).status).toBe(403);
    expect((await app.inject({ method: 'DELETE', url: '/clusterHealth/mutes/x' })).statusCode).toBe(403);
    allowed = ['UpdateHealth'];
    expect((await app.inject({ method: 'GET', url: '/clusterHealth/mutes' })).statusCode).toBe(403);
    expect((await app.inject({ method: 'GET', url: '/clusterHealth/history' })).statusCode).toBe(403);
  });

  it('are written again after a conflict with another change of the report', async () => {
    let conflicts = 1;
    store.beforeWrite = async () => {
      const report = store.get('ClusterHealthReport', REPORT_NAME)!;
      if (conflicts-- > 0) await store.update('ClusterHealthReport', { ...report, spec: { suspend: true } });
    };
    expect((await post(MUTE)).status).toBe(200);
    expect(store.get('ClusterHealthReport', REPORT_NAME)?.spec).toMatchObject({ suspend: true, mutes: [{}] });
  });
});

it('GET /clusterHealth/history has the changes, and GET /clusterHealth the last complete report', async () => {
  const report = store.get('ClusterHealthReport', REPORT_NAME)!;
  const input = { generation: 1, runAt: undefined, maxFindings: 20, now: NOW };
  const failed = buildStatus({
    ...input,
    previous: undefined,
    runId: 'run-1',
    result: runResult({ REPLICATION_CHECK: 2 }),
  });
  const results = failed.checks!.map(({ name }) => checkResult(name, 1, { unread: true }));
  const result = runResult({}, { results, unreachable: 'no answer', startedAt: new Date(NOW + 60_000) });
  const status = buildStatus({ ...input, previous: failed, runId: 'run-2', result });
  await store.updateStatus('ClusterHealthReport', { ...report, status });
  await clock.advance(90_000);
  const history = (await app.inject({ method: 'GET', url: '/clusterHealth/history' })).json<object[]>();
  expect(history).toHaveLength(results.length + 1);
  expect(history[0]).toMatchObject({ to: 'NOT_EVALUATED', run: 'run-2', time: '2026-11-21T10:01:00.000Z' });
  expect(history.at(-1)).toEqual({
    check: 'REPLICATION_CHECK',
    from: 'PASS',
    to: 'FAIL',
    run: 'run-1',
    time: '2026-11-21T10:00:00.000Z',
    findingCount: 2,
  });
  const health = (await app.inject({ method: 'GET', url: '/clusterHealth' })).json<{ lastComplete: object }>();
  expect(health.lastComplete).toMatchObject({ runTimestamp: NOW, ageMs: 90_000, pass: results.length - 1, fail: 1 });
});
