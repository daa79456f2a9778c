import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { healthMetrics } from '../../../src/health/metrics.ts';
import { buildStatus } from '../../../src/health/report.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/cluster-health-report.ts';
import { checkResult, runResult } from '../../builders/health-run.ts';

const now = Date.parse('2026-11-21T10:00:05Z');
const statusOf = (result = runResult()) =>
  buildStatus({ result, previous: undefined, generation: 1, runAt: undefined, maxFindings: 20, problems: [], now });

async function series(report: ClusterHealthReportStatus | undefined): Promise<string[]> {
  const registry = new Registry();
  healthMetrics(registry, () => report);
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('metrics of the health checks', () => {
  it('have one stable series for each check', async () => {
    const lines = await series(statusOf(runResult({ REPLICATION_CHECK: 7 })));
    expect(lines.filter((line) => line.startsWith('olap_warden_health_check_status'))).toHaveLength(CATALOGUE.length);
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK"} 0');
    expect(lines).toContain('olap_warden_health_check_status{check="SEGMENT_COUNT_CHECK"} 1');
    expect(lines).toContain('olap_warden_health_check_findings{check="REPLICATION_CHECK"} 7');
    expect(lines).toContain('olap_warden_health_check_evaluated{check="REPLICATION_CHECK"} 1');
    expect(lines).toContain('olap_warden_health_check_since_timestamp_seconds{check="REPLICATION_CHECK"} 1795255200');
    expect(lines).toContain('olap_warden_health_last_run_timestamp_seconds 1795255200');
    expect(lines).toContain('olap_warden_health_last_run_duration_seconds 1.234');
  });

  it('mark a check that could not be evaluated', async () => {
    const results = CATALOGUE.map(({ name }) =>
      checkResult(name, name === 'REPLICATION_CHECK' ? 1 : 0, { unread: name === 'REPLICATION_CHECK' }),
    );
    const lines = await series(statusOf(runResult({}, { results })));
    expect(lines).toContain('olap_warden_health_check_evaluated{check="REPLICATION_CHECK"} 0');
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK"} 0');
  });

  it('have no status for a check that is disabled or was never evaluated', async () => {
    const lines = await series(statusOf(runResult({}, { results: [checkResult('REPLICATION_CHECK')] })));
    expect(lines.filter((line) => line.startsWith('olap_warden_health_check_status'))).toHaveLength(1);
    expect(lines).toContain('olap_warden_health_check_evaluated{check="SEGMENT_COUNT_CHECK"} 0');
    expect((await series({})).filter((line) => line.startsWith('olap_warden_health_check_status'))).toEqual([]);
  });

  it('are absent without a report', async () => {
    const lines = await series(undefined);
    expect(lines.filter((line) => !line.startsWith('olap_warden_health_runs_total'))).toEqual([]);
  });

  it('count runs and calls', async () => {
    const registry = new Registry();
    const metrics = healthMetrics(registry, () => undefined);
    metrics.run('success');
    metrics.engineCall('idealstate', 'timeout');
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_health_runs_total{result="success"} 1');
    expect(text).toContain('olap_warden_health_runs_total{result="deadline"} 0');
    expect(text).toContain('olap_warden_health_engine_calls_total{endpoint="idealstate",outcome="timeout"} 1');
  });
});
