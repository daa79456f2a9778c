import { describe, expect, it } from 'vitest';
import {
  buildStatus,
  MAX_STATUS_BYTES,
  runningId,
  withoutRunning,
  withRunning,
} from '../../../../src/health/report/report.ts';
import { changedChecks } from '../../../../src/health/report/history.ts';
import { decodeIndex } from '../../../../src/health/report/finding-index.ts';
import type { CheckResult } from '../../../../src/health/run/evaluation.ts';
import type { RunResult } from '../../../../src/health/run/run.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';
import { validateResource } from '../../../../src/resources/validate.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';

const now = Date.parse('2026-11-21T10:00:05Z');

function status(result: RunResult, more: { previous?: ClusterHealthReportStatus; maxFindings?: number } = {}) {
  return buildStatus({
    result,
    previous: more.previous,
    generation: 3,
    runAt: 'api-00000001',
    maxFindings: more.maxFindings ?? 20,
    now,
  });
}

const condition = (of: ClusterHealthReportStatus, type: string) =>
  of.conditions?.find((candidate) => candidate.type === type);

describe('the status of a report', () => {
  it('has counts, names and conditions', () => {
    const built = status(runResult({ REPLICATION_CHECK: 2 }));
    expect(built).toMatchObject({
      pass: CATALOGUE.length - 1,
      fail: 1,
      observedRunAt: 'api-00000001',
      durationMs: 1_234,
      lastRunTime: '2026-11-21T10:00:00.000Z',
    });
    expect(condition(built, 'Healthy')).toMatchObject({
      status: 'False',
      reason: 'ChecksFailed',
      message: `1 of ${CATALOGUE.length} checks failed: 1 warning`,
    });
    expect(condition(built, 'Healthy')?.observedGeneration).toBe(3);
    expect(built.checks?.map(({ name }) => name)).toEqual(CATALOGUE.map(({ name }) => name));
  });

  it('has the severity of each check: the worst one of its findings', () => {
    const critical = checkResult('REPLICATION_CHECK', 1, { finding: { severity: 'critical' } });
    const advice = checkResult('QUERY_HEALTH_CHECK', 1, { finding: { severity: 'advice' } });
    const unread = checkResult('BROKER_RESOURCE_CHECK', 1, { unread: true, finding: { severity: 'advice' } });
    const results = [
      critical,
      advice,
      unread,
      checkResult('SEGMENT_COUNT_CHECK', 1),
      checkResult('INSTANCE_POOLS_CHECK'),
    ];
    const built = status(runResult({}, { results }));
    expect(built.checks?.map(({ severity }) => severity)).toEqual([
      'critical',
      'advice',
      'critical',
      'warning',
      'advice',
    ]);
    expect(built.failBySeverity).toEqual({ critical: 2, warning: 1, advice: 1 });
    expect(built.checks?.[0]?.findings?.[0]?.severity).toBe('critical');
    expect(condition(built, 'Healthy')?.message).toBe('4 of 5 checks failed: 2 critical, 1 warning, 1 advice');
  });

  it('has the time of the last change of each status', () => {
    const first = status(runResult({ REPLICATION_CHECK: 1 }));
    const later = status(
      runResult({ REPLICATION_CHECK: 3, SEGMENT_COUNT_CHECK: 1 }, { startedAt: new Date('2026-11-21T11:00:00Z') }),
      { previous: first },
    );
    const since = (name: string) => later.checks?.find((check) => check.name === name)?.since;
    expect(since('REPLICATION_CHECK')).toBe('2026-11-21T10:00:00.000Z');
    expect(since('SEGMENT_COUNT_CHECK')).toBe('2026-11-21T11:00:00.000Z');
    expect(condition(later, 'Healthy')?.lastTransitionTime).toBe(condition(first, 'Healthy')?.lastTransitionTime);
    expect(changedChecks(first, later)).toMatchObject([{ name: 'SEGMENT_COUNT_CHECK', state: 'FAIL' }]);
    expect(changedChecks(undefined, first)).toMatchObject([{ name: 'REPLICATION_CHECK', state: 'FAIL' }]);
  });

  it('carries the last evaluated result over runs that could not evaluate the check', () => {
    const name = 'REPLICATION_CHECK';
    const at = (time: string, result: CheckResult, previous?: ClusterHealthReportStatus) =>
      status(runResult({}, { results: [result], startedAt: new Date(`2026-11-21T${time}:00Z`) }), {
        ...(previous === undefined ? {} : { previous }),
      });
    const unread = checkResult(name, 1, { unread: true });
    const failed = at('10:00', checkResult(name, 4));
    const once = at('10:20', unread, failed);
    const twice = at('10:40', unread, once);
    const lastEvaluated = {
      status: 'FAIL',
      time: '2026-11-21T10:00:00.000Z',
      since: '2026-11-21T10:00:00.000Z',
      severity: 'warning',
      findingCount: 4,
      entities: ['t0_OFFLINE', 't1_OFFLINE', 't2_OFFLINE'].map((entity) => ({ entityType: 'table', entity })),
    };
    expect(once.checks?.[0]).toMatchObject({ couldNotEvaluate: true, unevaluatedRuns: 1, lastEvaluated });
    expect(twice.checks?.[0]).toMatchObject({ couldNotEvaluate: true, unevaluatedRuns: 2, lastEvaluated });
    const again = at('11:00', checkResult(name, 1), twice).checks?.[0];
    expect(again).toMatchObject({ status: 'FAIL', since: '2026-11-21T10:00:00.000Z' });
    expect(again).not.toHaveProperty('unevaluatedRuns');
    expect(again).not.toHaveProperty('lastEvaluated');
    expect(at('11:00', checkResult(name), twice).checks?.[0]?.since).toBe('2026-11-21T11:00:00.000Z');
    expect(changedChecks(failed, once)).toMatchObject([{ name, state: 'NOT_EVALUATED' }]);
    expect(changedChecks(once, twice)).toEqual([]);

    const passed = at('10:00', checkResult(name));
    const blind = at('10:20', unread, passed);
    expect(blind.checks?.[0]?.lastEvaluated).toMatchObject({ status: 'PASS', findingCount: 0 });
    expect(blind.checks?.[0]?.lastEvaluated).not.toHaveProperty('severity');
    expect(at('10:40', checkResult(name), blind).checks?.[0]?.since).toBe('2026-11-21T10:00:00.000Z');
    expect(at('10:00', unread).checks?.[0]).not.toHaveProperty('lastEvaluated');
  });

  it('has severity and time of each finding', () => {
    const name = 'REPLICATION_CHECK';
    const at = (time: string, result: CheckResult, previous?: ClusterHealthReportStatus) =>
      status(runResult({}, { results: [result], startedAt: new Date(`2026-11-21T${time}:00Z`) }), {
        ...(previous === undefined ? {} : { previous }),
      }).checks?.[0]?.findings?.map(({ entity, severity, since }) => [entity, severity, since?.slice(11, 16)]);
    const first = status(runResult({ [name]: 1 }, { startedAt: new Date('2026-11-21T10:00:00Z') }));
    expect(at('10:20', checkResult(name, 2), first)).toEqual([
      ['t0_OFFLINE', 'warning', '10:00'],
      ['t1_OFFLINE', 'warning', '10:20'],
    ]);
    // Data that could not be read is another problem than a fault.
    expect(at('10:20', checkResult(name, 1, { unread: true }), first)).toEqual([['t0_OFFLINE', 'warning', '10:20']]);
  });

  it('keeps the times of all findings, also over runs that could not evaluate the check', () => {
    const name = 'REPLICATION_CHECK';
    const at = (time: string, result: CheckResult, previous?: ClusterHealthReportStatus) =>
      status(runResult({}, { results: [result], startedAt: new Date(`2026-11-21T${time}:00Z`) }), {
        ...(previous === undefined ? {} : { previous }),
      });
    const indexed = (of: ClusterHealthReportStatus) => decodeIndex(of.findingIndex ?? '');
    const first = at('10:00', checkResult(name, 500));
    const unread = at(
      '10:40',
      checkResult(name, 1, { unread: true }),
      at('10:20', checkResult(name, 1, { unread: true }), first),
    );
    expect(indexed(unread)?.findings.get(name)).toMatchObject([
      { couldNotRead: true, since: '2026-11-21T10:20:00.000Z' },
    ]);
    const again = indexed(at('11:00', checkResult(name, 501), unread))?.findings.get(name) ?? [];
    expect(again).toHaveLength(501);
    expect(new Set(again.slice(0, 500).map(({ since }) => since))).toEqual(new Set(['2026-11-21T10:00:00.000Z']));
    expect(again[500]?.since).toBe('2026-11-21T11:00:00.000Z');
  });

  it('keeps the names of tables and instances that a run could not read', () => {
    const first = status(runResult());
    const blind = status(runResult({}, { tables: undefined, instances: undefined }), { previous: first });
    expect(decodeIndex(blind.findingIndex ?? '')).toMatchObject({
      tables: ['t0_OFFLINE', 't1_OFFLINE', 't1_REALTIME'],
      instances: ['Server_a_8098', 'Server_b_8098'],
    });
  });

  it('truncates findings and keeps exact counts', () => {
    const check = status(runResult({ REPLICATION_CHECK: 150 }), { maxFindings: 5 }).checks?.find(
      ({ name }) => name === 'REPLICATION_CHECK',
    );
    expect(check?.findingCount).toBe(150);
    expect(check?.findings).toHaveLength(5);
  });

  it('is valid and far below the size limit of a Kubernetes object for any cluster', { tags: 'slow' }, () => {
    const long = 'ä'.repeat(5_000);
    const finding = { entity: long, message: long, observed: long, threshold: long };
    const results = CATALOGUE.map(({ name }) => checkResult(name, 100_000, { finding }));
    const built = status(runResult({}, { results }), { maxFindings: 200 });
    expect(Buffer.byteLength(JSON.stringify(built))).toBeLessThanOrEqual(MAX_STATUS_BYTES);
    expect(
      built.checks?.every(({ findings, findingCount }) => (findings?.length ?? 0) >= 1 && findingCount === 100_000),
    ).toBe(true);
    const report = {
      apiVersion: 'olapwarden.io/v1beta1',
      kind: 'ClusterHealthReport',
      metadata: { name: 'cluster' },
      spec: {},
      status: built,
    } as const;
    expect(validateResource('ClusterHealthReport', report)).toMatchObject({ ok: true });
  });

  it('is not healthy if the cluster was unreachable', () => {
    expect(condition(status(runResult({}, { unreachable: 'ECONNREFUSED' })), 'Healthy')).toMatchObject({
      status: 'False',
      reason: 'EngineUnreachable',
      message: 'the cluster could not be read: ECONNREFUSED',
    });
  });

  it('keeps what the reconciler wrote about the settings', () => {
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Scheduled',
      message: 'the checks run every 20m',
      lastTransitionTime: '2026-11-21T09:00:00Z',
    } as const;
    const built = status(runResult(), { previous: { observedGeneration: 2, conditions: [ready] } });
    expect(built.observedGeneration).toBe(2);
    expect(condition(built, 'Ready')).toEqual(ready);
    expect(status(runResult()).observedGeneration).toBeUndefined();
  });

  it('has the current run next to the latest report', () => {
    const before = status(runResult());
    const during = withRunning(before, { id: 'api-0000000f', checks: [], checksTotal: 33 });
    expect(runningId(during)).toBe('api-0000000f');
    expect(during.checks).toEqual(before.checks);
    expect(runningId(withRunning(during, { id: 'run-2', checks: [], checksTotal: 33 }))).toBe('run-2');
    expect(withoutRunning(during)).toEqual(before);
    expect(runningId(status(runResult(), { previous: during }))).toBeUndefined();
    expect(runningId(undefined)).toBeUndefined();
    expect(status(runResult(), { previous: during })).not.toHaveProperty('running');
  });
});
