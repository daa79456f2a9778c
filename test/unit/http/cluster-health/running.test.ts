import { describe, expect, it } from 'vitest';
import { runningId, runningRun, withoutRunning, withRunning } from '../../../../src/health/report.ts';
import { clusterHealth } from '../../../../src/http/cluster-health/report.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/cluster-health-report.ts';

const NOW = new Date('2026-11-01T12:00:00Z');
const REPORT: ClusterHealthReportStatus = {
  lastRunTime: '2026-11-01T11:00:00.000Z',
  durationMs: 120,
  checks: [{ name: 'LIVENESS_CHECK', status: 'PASS', message: 'fine', findingCount: 0 }],
  conditions: [],
};

describe('a run that is under way', () => {
  it('is told beside the latest report, which stays as it was', () => {
    const begun = withRunning(REPORT, { id: 'api-1' }, 3, NOW);
    expect(clusterHealth(begun, {})).toEqual({
      ...clusterHealth(REPORT, {}),
      running: { taskId: 'api-1', step: 'begins' },
    });
    const further = withRunning(begun, { id: 'api-1', progress: { done: 12, total: 40 } }, 3, NOW);
    expect(clusterHealth(further, {})).toEqual({
      ...clusterHealth(REPORT, {}),
      running: { taskId: 'api-1', step: 'reads the cluster', done: 12, total: 40 },
    });
    expect(further.checks).toBe(REPORT.checks);
    expect(further.conditions).toHaveLength(1);
  });

  it('is told before the first report, too', () => {
    expect(clusterHealth(withRunning(undefined, { id: 'run-1' }, undefined, NOW), {})).toMatchObject({
      runTimestamp: null,
      checks: [],
      running: { taskId: 'run-1', step: 'begins' },
    });
    expect(clusterHealth(undefined, {}).running).toBeNull();
  });

  it('is known by its id, however far it is', () => {
    const run = { id: 'run-1', progress: { done: 1, total: 2 } };
    const status = withRunning(REPORT, run, 1, NOW);
    expect([runningId(status), runningRun(status)]).toEqual(['run-1', run]);
    expect(runningRun(withoutRunning(status))).toBeUndefined();
    expect(clusterHealth(withoutRunning(status), {}).running).toBeNull();
  });
});
