import { expect, it } from 'vitest';
import { lastCompleteTime } from '../../../../src/health/report/history.ts';
import { buildStatus } from '../../../../src/health/report/report.ts';
import type { CheckResult } from '../../../../src/health/run/evaluation.ts';
import { MAX_TRANSITIONS, type ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';

const NAME = 'REPLICATION_CHECK';
const OTHER = 'HIGH_UPSERT_PRIMARY_KEYS_CHECK';
const time = (minute: number) => new Date(Date.UTC(2026, 10, 21, 10, minute));
const run = (minute: number, results: CheckResult[], previous?: ClusterHealthReportStatus) =>
  buildStatus({
    result: runResult({}, { results, startedAt: time(minute) }),
    previous,
    generation: 1,
    runAt: undefined,
    runId: `run-${minute}`,
    maxFindings: 20,
    now: time(minute).getTime(),
  });
const unread = (name: string) => checkResult(name, 1, { unread: true });

it('the history has the last changes, newest first', () => {
  let status = run(0, [checkResult(NAME), checkResult(OTHER)]);
  expect(status.history).toEqual([]);
  status = run(1, [checkResult(NAME, 4), checkResult(OTHER)], status);
  status = run(2, [checkResult(NAME, 5), checkResult(OTHER)], status);
  status = run(3, [unread(NAME), checkResult(OTHER)], status);
  expect(status.history).toMatchObject([
    { check: NAME, from: 'FAIL', to: 'NOT_EVALUATED', run: 'run-3', time: time(3).toISOString() },
    { check: NAME, from: 'PASS', to: 'FAIL', run: 'run-1', findingCount: 4 },
  ]);
  for (let minute = 4; minute < 200; minute++) status = run(minute, [checkResult(NAME, minute % 2)], status);
  expect(status.history).toHaveLength(MAX_TRANSITIONS);
  expect(status.history?.[0]).toMatchObject({ run: 'run-199' });
});

it('the last complete report stays beside reports that could not be evaluated', () => {
  const complete = run(0, [checkResult(NAME, 2), unread(OTHER)]);
  // No run could evaluate OTHER, so it does not count.
  expect(complete).not.toHaveProperty('lastComplete');
  expect(lastCompleteTime(complete)).toBe(time(0).toISOString());
  const once = run(20, [unread(NAME), unread(OTHER)], complete);
  expect(once.lastComplete).toMatchObject({
    time: time(0).toISOString(),
    pass: 0,
    fail: 2,
    checks: [{ name: NAME, status: 'FAIL', severity: 'warning', findingCount: 2 }, { name: OTHER }],
  });
  const twice = run(40, [unread(NAME), unread(OTHER)], once);
  expect(twice.lastComplete).toEqual(once.lastComplete);
  expect(lastCompleteTime(twice)).toBe(time(0).toISOString());
  expect(run(60, [checkResult(NAME), unread(OTHER)], twice)).not.toHaveProperty('lastComplete');
  expect(lastCompleteTime(run(0, [unread(NAME), unread(OTHER)]))).toBeUndefined();
});
