import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { healthMetrics, type ReportedHealth } from '../../../src/health/metrics.ts';
import { buildStatus } from '../../../src/health/report/report.ts';
import type { Finding } from '../../../src/resources/health-finding.ts';
import type { Mute } from '../../../src/resources/health-mute.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/health-status.ts';
import { checkResult, runResult } from '../../builders/health-run.ts';

const now = Date.parse('2026-11-21T10:00:05Z');
const statusOf = (result = runResult()) =>
  buildStatus({ result, previous: undefined, generation: 1, runAt: undefined, maxFindings: 20, now });

const cluster = (status: ClusterHealthReportStatus): ReportedHealth => ({ name: 'cluster', status });

async function series(...reports: ReportedHealth[]): Promise<string[]> {
  const registry = new Registry();
  healthMetrics(registry, () => reports);
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('metrics of the health checks', () => {
  it('have one stable series for each check', async () => {
    const lines = await series(cluster(statusOf(runResult({ REPLICATION_CHECK: 7 }))));
    expect(lines.filter((line) => line.startsWith('olap_warden_health_check_status'))).toHaveLength(CATALOGUE.length);
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK",report="cluster"} 0');
    expect(lines).toContain('olap_warden_health_check_status{check="SEGMENT_COUNT_CHECK",report="cluster"} 1');
    expect(lines).toContain('olap_warden_health_check_findings{check="REPLICATION_CHECK",report="cluster"} 7');
    expect(lines).toContain('olap_warden_health_check_evaluated{check="REPLICATION_CHECK",report="cluster"} 1');
    expect(lines).toContain(
      'olap_warden_health_check_since_timestamp_seconds{check="REPLICATION_CHECK",report="cluster"} 1795255200',
    );
    expect(lines).toContain('olap_warden_health_last_run_timestamp_seconds{report="cluster"} 1795255200');
    expect(lines).toContain('olap_warden_health_last_run_duration_seconds{report="cluster"} 1.234');
  });

  it('count muted findings apart', async () => {
    const until = new Date(now + 60_000).toISOString();
    const mutes = [{ id: 'm', check: 'REPLICATION_CHECK', entity: '*', reason: 'planned', until }];
    const result = runResult({ REPLICATION_CHECK: 7, QUERY_HEALTH_CHECK: 1 });
    const input = { result, previous: undefined, generation: 1, runAt: undefined, maxFindings: 20, now };
    const lines = await series(cluster(buildStatus({ ...input, mutes })));
    const of = (check: string) => `{check="${check}",report="cluster"}`;
    expect(lines).toContain(`olap_warden_health_check_failing${of('REPLICATION_CHECK')} 1`);
    expect(lines).toContain(`olap_warden_health_check_muted${of('REPLICATION_CHECK')} 1`);
    expect(lines).toContain(`olap_warden_health_check_muted_findings${of('REPLICATION_CHECK')} 7`);
    expect(lines).toContain(`olap_warden_health_check_muted${of('QUERY_HEALTH_CHECK')} 0`);
    expect(lines).toContain('olap_warden_health_checks_failed{report="cluster"} 2');
    expect(lines).toContain('olap_warden_health_checks_failed_muted{report="cluster"} 1');
    expect(lines).toContain('olap_warden_health_checks_failed_warning{report="cluster"} 0');
    expect(lines).toContain('olap_warden_health_mutes{report="cluster"} 1');
    expect(lines).toContain('olap_warden_health_last_complete_timestamp_seconds{report="cluster"} 1795255200');
    expect(lines.filter((line) => line.startsWith('olap_warden_health_check_entity_info'))).toHaveLength(1);
  });

  it('count failed checks by severity', async () => {
    const lines = await series(cluster(statusOf(runResult({ REPLICATION_CHECK: 7, QUERY_HEALTH_CHECK: 1 }))));
    for (const [severity, count] of Object.entries({ critical: 1, warning: 1, advice: 0 })) {
      expect(lines).toContain(`olap_warden_health_checks_failed_${severity}{report="cluster"} ${count}`);
    }
  });

  it('tell a critical fault of a check that is a warning, unless it is muted, also while the check cannot be evaluated', async () => {
    const name = 'SERVER_DISK_USAGE_CHECK';
    const { outcome } = checkResult(name, 2);
    const [full, almost] = outcome.findings as [Finding, Finding];
    const findings = [{ ...full, severity: 'critical' as const }, almost];
    const base = { generation: 1, runAt: undefined, maxFindings: 20, now };
    const after = (mutes: Mute[], previous?: ClusterHealthReportStatus) => {
      const result = previous
        ? checkResult(name, 1, { unread: true })
        : { name, durationMs: 1, outcome: { ...outcome, findings } };
      return buildStatus({ ...base, result: runResult({}, { results: [result] }), previous, mutes });
    };
    const mute = { id: 'm', check: name, entity: full.entity, reason: 'planned', until: '2026-11-22T00:00:00Z' };
    const of = (value: number) => `olap_warden_health_check_critical{check="${name}",report="cluster"} ${value}`;
    const failed = after([]);
    expect(await series(cluster(failed))).toContain(of(1));
    expect(await series(cluster(after([], failed)))).toContain(of(1));
    const muted = after([mute]);
    expect(await series(cluster(muted))).toContain(of(0));
    expect(await series(cluster(after([mute], muted)))).toContain(of(0));
    expect(await series(cluster(after([{ ...mute, entity: '*' }])))).toContain(of(0));
  });

  it('tell that the faults of a critical check are warnings, or were before a version that stored it', async () => {
    const name = 'IDEAL_STATE_EV_MISMATCH_CHECK';
    const of = (value: number) => `olap_warden_health_check_critical{check="${name}",report="cluster"} ${value}`;
    const found = (severity?: 'warning') => checkResult(name, 1, severity && { finding: { severity } });
    expect(await series(cluster(statusOf(runResult({}, { results: [found()] }))))).toContain(of(1));
    expect(await series(cluster(statusOf(runResult({}, { results: [found('warning')] }))))).toContain(of(0));
    expect(await series(cluster(statusOf(runResult({}, { results: [checkResult(name)] }))))).toContain(of(0));
    const unread = statusOf(runResult({}, { results: [checkResult(name, 1, { unread: true })] }));
    const checks = unread.checks!.map((check) => ({
      ...check,
      lastEvaluated: { status: 'FAIL' as const, findingCount: 1 },
    }));
    expect(await series(cluster({ ...unread, checks }))).toContain(of(1));
  });

  it('mark a check that could not be evaluated', async () => {
    const results = CATALOGUE.map(({ name }) =>
      checkResult(name, name === 'REPLICATION_CHECK' ? 1 : 0, { unread: name === 'REPLICATION_CHECK' }),
    );
    const lines = await series(cluster(statusOf(runResult({}, { results }))));
    expect(lines).toContain('olap_warden_health_check_evaluated{check="REPLICATION_CHECK",report="cluster"} 0');
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK",report="cluster"} 0');
  });

  it('keep apart faults and checks that could not be evaluated', async () => {
    const name = 'REPLICATION_CHECK';
    const labels = `{check="${name}",report="cluster"}`;
    const after = (previous: ClusterHealthReportStatus | undefined, fails: number, unread = false) =>
      buildStatus({
        result: runResult({}, { results: [checkResult(name, fails, { unread })] }),
        previous,
        generation: 1,
        runAt: undefined,
        maxFindings: 20,
        now,
      });
    const failed = after(undefined, 4);
    const blind = after(after(failed, 1, true), 1, true);
    const entity = (position: number) =>
      `olap_warden_health_check_entity_info{check="${name}",report="cluster",position="${position}",entity_type="table",entity="t${position - 1}_OFFLINE"} 1`;
    for (const status of [failed, blind]) {
      const lines = await series(cluster(status));
      expect(lines).toContain(`olap_warden_health_check_failing${labels} 1`);
      expect(lines.filter((line) => line.includes('entity_info'))).toEqual([entity(1), entity(2), entity(3)]);
    }
    expect(await series(cluster(failed))).toContain(`olap_warden_health_check_unevaluated_runs${labels} 0`);
    expect(await series(cluster(blind))).toContain(`olap_warden_health_check_unevaluated_runs${labels} 2`);

    // Nothing is known about a check that no run could evaluate.
    const never = await series(cluster(after(undefined, 1, true)));
    expect(never.filter((line) => /check_failing|entity_info/.test(line))).toEqual([]);
    const passed = await series(cluster(after(after(undefined, 0), 1, true)));
    expect(passed).toContain(`olap_warden_health_check_failing${labels} 0`);
    expect(passed.filter((line) => line.includes('entity_info'))).toEqual([]);
  });

  it('name entities in labels of limited length', async () => {
    const results = [checkResult('REPLICATION_CHECK', 1, { finding: { entity: `"\n${'x'.repeat(500)}` } })];
    const lines = await series(cluster(statusOf(runResult({}, { results }))));
    const line = lines.find((text) => text.includes('entity_info'));
    expect(line).toContain(String.raw`entity="\"\n${'x'.repeat(126)}"`);
  });

  it('have no status for a check that is disabled or was never evaluated', async () => {
    const lines = await series(cluster(statusOf(runResult({}, { results: [checkResult('REPLICATION_CHECK')] }))));
    expect(lines.filter((line) => line.startsWith('olap_warden_health_check_status'))).toHaveLength(1);
    expect(lines).toContain('olap_warden_health_check_evaluated{check="SEGMENT_COUNT_CHECK",report="cluster"} 0');
    expect((await series(cluster({}))).filter((line) => line.startsWith('olap_warden_health_check_status'))).toEqual(
      [],
    );
  });

  it('are absent without a report', async () => {
    const lines = await series();
    expect(lines.filter((line) => !line.startsWith('olap_warden_health_runs_total'))).toEqual([]);
  });

  it('are apart for each report, with the time of its next run', async () => {
    const hourly = {
      name: 'hourly',
      status: statusOf(runResult({ REPLICATION_CHECK: 1 })),
      timing: { interval: '1h' },
    };
    const nightly = { name: 'nightly', status: statusOf(), timing: { schedule: '0 3 * * *' } };
    const lines = await series(hourly, nightly, { name: 'new', status: undefined, timing: {} });
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK",report="hourly"} 0');
    expect(lines).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK",report="nightly"} 1');
    expect(lines).toContain(`olap_warden_health_next_run_timestamp_seconds{report="hourly"} ${1795255200 + 3600}`);
    expect(lines).toContain(
      `olap_warden_health_next_run_timestamp_seconds{report="nightly"} ${1795255200 + 17 * 3600}`,
    );
    expect(lines.filter((line) => line.includes('report="new"'))).toEqual([]);
    // A single run has none after it.
    expect((await series(cluster(statusOf()))).filter((line) => line.includes('next_run'))).toEqual([]);
  });

  it('have the time of the repetition as the next run after runs that could not read the cluster', async () => {
    const results = CATALOGUE.map(({ name }) => checkResult(name, 1, { unread: true }));
    let status: ClusterHealthReportStatus | undefined;
    const due: number[] = [];
    for (let run = 0; run < 6; run++) {
      const result = runResult({}, { results, unreachable: 'responded with 503' });
      status = buildStatus({ result, previous: status, generation: 1, runAt: undefined, maxFindings: 20, now });
      const lines = await series({ name: 'cluster', status, timing: { interval: '20m' } });
      const line = lines.find((text) => text.includes('next_run'));
      due.push(Math.round(Number(line?.split(' ')[1]) - 1795255200));
    }
    expect(due).toEqual([31, 61, 121, 301, 1200, 1200]);
  });

  it('count failed runs in a row, while this process leads', async () => {
    const registry = new Registry();
    let reports: ReportedHealth[] = [cluster(statusOf()), { name: 'nightly', status: undefined }];
    const metrics = healthMetrics(registry, () => reports);
    const failed = async () =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('olap_warden_health_failed_runs{'));
    const line = (report: string, runs: number) => `olap_warden_health_failed_runs{report="${report}"} ${runs}`;
    expect(await failed()).toEqual([]);
    for (const result of ['unreachable', 'deadline', 'error'] as const) metrics.run(result, 'cluster');
    metrics.run('success', 'nightly');
    expect(await failed()).toEqual([line('cluster', 3), line('nightly', 0)]);
    metrics.run('success', 'cluster');
    metrics.forget('nightly');
    expect(await failed()).toEqual([line('cluster', 0)]);
    metrics.run('error', 'cluster');
    reports = [];
    expect(await failed()).toEqual([]);
    reports = [cluster(statusOf())];
    expect(await failed()).toEqual([]);
  });

  it('count runs by report, and calls', async () => {
    const registry = new Registry();
    const metrics = healthMetrics(registry, () => []);
    metrics.run('success', 'cluster');
    metrics.run('error', 'nightly');
    metrics.engineCall('idealstate', 'timeout');
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_health_runs_total{result="success",report="cluster"} 1');
    expect(text).toContain('olap_warden_health_runs_total{result="deadline",report="cluster"} 0');
    expect(text).toContain('olap_warden_health_runs_total{result="error",report="nightly"} 1');
    expect(text).toContain('olap_warden_health_engine_calls_total{endpoint="idealstate",outcome="timeout"} 1');
    metrics.forget('nightly');
    expect(await registry.metrics()).not.toContain('nightly');
  });

  it('have the cluster of each report, and count by cluster', async () => {
    const registry = new Registry();
    const status = statusOf();
    const reports = [
      { name: 'cluster', cluster: 'pinot', status },
      { name: 'sales', cluster: 'sales', status },
    ];
    const metrics = healthMetrics(registry, () => reports, 'pinot');
    const sales = metrics.ofCluster('sales', 'sales');
    sales.run('error', 'sales');
    sales.engineCall('idealstate', 'ok');
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_health_runs_total{result="success",report="cluster",cluster="pinot"} 0');
    expect(text).toContain('olap_warden_health_runs_total{result="error",report="sales",cluster="sales"} 1');
    expect(text).toContain(
      'olap_warden_health_engine_calls_total{endpoint="idealstate",outcome="ok",cluster="sales"} 1',
    );
    for (const labels of ['report="cluster",cluster="pinot"', 'report="sales",cluster="sales"']) {
      expect(text).toContain(`olap_warden_health_check_status{check="SEGMENT_COUNT_CHECK",${labels}} 1`);
      expect(text).toMatch(new RegExp(`olap_warden_health_checks_failed\\{${labels}\\} \\d`, 'u'));
    }
    const series = text.split('\n').filter((line) => line.includes('report="'));
    expect(series.filter((line) => !line.includes('cluster="pinot"') && !line.includes('cluster="sales"'))).toEqual([]);
  });
});
