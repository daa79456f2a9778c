import { describe, expect, it } from 'vitest';
import { runningId, withoutRunning, withRunning } from '../../../../src/health/report/report.ts';
import { clusterHealth } from '../../../../src/api/health/report.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';

const REPORT: ClusterHealthReportStatus = {
  lastRunTime: '2026-11-01T11:00:00.000Z',
  durationMs: 120,
  checks: [{ name: 'SEGMENT_COUNT_CHECK', status: 'PASS', message: 'fine', findingCount: 0 }],
  conditions: [],
};
const STARTED = { id: 'api-1', checks: [], checksTotal: 33 };
const NOW = 0;
const IN_PROGRESS = {
  ...STARTED,
  done: 12,
  total: 40,
  checks: [
    { name: 'REPLICATION_CHECK', status: 'FAIL' },
    { name: 'INSTANCE_POOLS_CHECK', status: 'PASS' },
  ] as const,
};

describe('a run in progress', () => {
  it('is in the response with the latest report, which does not change', () => {
    const started = withRunning(REPORT, STARTED);
    expect(clusterHealth(started, {}, NOW)).toEqual({
      ...clusterHealth(REPORT, {}, NOW),
      running: { taskId: 'api-1', step: 'begins', checks: [], checksTotal: 33 },
    });
    const inProgress = withRunning(started, { ...IN_PROGRESS, checks: [...IN_PROGRESS.checks] });
    expect(clusterHealth(inProgress, {}, NOW)).toEqual({
      ...clusterHealth(REPORT, {}, NOW),
      running: {
        taskId: 'api-1',
        step: 'reads the cluster',
        done: 12,
        total: 40,
        checks: [
          { name: 'REPLICATION_CHECK', status: 'FAIL' },
          { name: 'INSTANCE_POOLS_CHECK', status: 'PASS' },
        ],
        checksTotal: 33,
      },
    });
    expect(inProgress.checks).toBe(REPORT.checks);
    // kstatus, `helm --wait` and `kubectl wait` must not wait for the end of a run.
    expect(inProgress.conditions).toEqual(REPORT.conditions);
  });

  it('is in the response before the first report, too', () => {
    expect(clusterHealth(withRunning(undefined, STARTED), {}, NOW)).toMatchObject({
      runTimestamp: null,
      checks: [],
      running: { taskId: 'api-1', step: 'begins' },
    });
    expect(clusterHealth(undefined, {}, NOW).running).toBeNull();
  });

  it('is found by its id in every state', () => {
    const status = withRunning(REPORT, { ...IN_PROGRESS, checks: [...IN_PROGRESS.checks] });
    expect(runningId(status)).toBe('api-1');
    expect(withoutRunning(status)).toEqual(REPORT);
    expect(clusterHealth(withoutRunning(status), {}, NOW).running).toBeNull();
  });
});
