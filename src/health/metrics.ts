import { Counter, Gauge, type Registry } from 'prom-client';
import { REPORT_NAME, type ClusterHealthReportSpec } from '../resources/cluster-health-report.ts';
import type { Cause } from '../resources/health-cause.ts';
import { SEVERITIES } from '../resources/health-finding.ts';
import type { ClusterHealthReportStatus } from '../resources/health-status.ts';
import { CATALOGUE } from './catalogue.ts';
import { isExplained, isMutedCause } from './report/causes.ts';
import { lastCompleteTime } from './report/history.ts';
import { isMuted } from './report/mutes.ts';
import { evaluatedResult, unevaluatedRuns, unreadRuns } from './report/report.ts';
import { nextRunAt, unreadRetryAt } from './run/schedule.ts';
import { severityOfEvaluated } from './report/severity.ts';

/** Prometheus stores label values in its index, so long names are cut. */
const MAX_LABEL_LENGTH = 128;

const OUTCOMES = ['success', 'unreachable', 'deadline', 'error'] as const;
/**
 * `success`: the report covers the whole cluster. `unreachable`: no controller responded. `deadline`: the deadline of the run aborted
 * reads. `error`: the run failed, or its report could not be written.
 */
export type RunOutcome = (typeof OUTCOMES)[number];
export type CallOutcome = 'ok' | 'http_error' | 'unreachable' | 'timeout' | 'aborted' | 'bad_answer';

/** Counts runs and calls to the engine. */
export interface HealthMetrics {
  /** @param report name of the report */
  run(outcome: RunOutcome, report: string): void;
  /** Removes the counters of a deleted report. */
  forget(report: string): void;
  /** @param endpoint one of a fixed set of names, not a path */
  engineCall(endpoint: string, outcome: CallOutcome): void;
  /** Counts attempts to deliver alerts to the webhook. */
  webhook(result: 'success' | 'error'): void;
}

export const NO_METRICS: HealthMetrics = {
  run: () => undefined,
  forget: () => undefined,
  engineCall: () => undefined,
  webhook: () => undefined,
};

/** The metrics of the runs of one cluster. */
export interface ClusterMetrics extends HealthMetrics {
  /** The same of a further cluster. @param report name of its own report */
  ofCluster(cluster: string, report: string): ClusterMetrics;
}

/**
 * Registers the metrics of the health task. Call it once for each registry.
 *
 * The values of the reports are read with `getReports` at each scrape. A new leader therefore exports the same values as the previous one
 * from its first scrape on. If `getReports` returns none (this process does not lead), these series are absent, so that exactly one of
 * several processes exports them. Each series has the name of its report as a label, and that of its cluster.
 *
 * @param cluster name of the cluster; undefined for a single run
 */
export function healthMetrics(registry: Registry, getReports: ReportSource, cluster?: string): ClusterMetrics {
  const registers = [registry];
  checkGauges(registers, getReports);
  entityGauge(registers, getReports);
  causeGauges(registers, getReports);
  runGauges(registers, getReports);
  const failed = failedRuns(registers, getReports);
  const runs = new Counter({
    name: 'olap_warden_health_runs_total',
    help: 'Runs of the health checks, by report, cluster and result.',
    labelNames: ['result', 'report', 'cluster'],
    registers,
  });
  const calls = new Counter({
    name: 'olap_warden_health_engine_calls_total',
    help: 'Calls of the health checks to the engine, by endpoint, cluster and outcome.',
    labelNames: ['endpoint', 'outcome', 'cluster'],
    registers,
  });
  const deliveries = new Counter({
    name: 'olap_warden_health_webhook_deliveries_total',
    help: 'Attempts to deliver alerts to the webhook, by result.',
    labelNames: ['result'],
    registers,
  });
  const ofCluster = (name: string | undefined, own: string): ClusterMetrics => {
    const label = labelOf(name);
    for (const result of OUTCOMES) runs.inc({ result, report: own, ...label }, 0);
    return {
      run: (result, report) => {
        runs.inc({ result, report, ...label });
        failed.set(report, result === 'success' ? 0 : (failed.get(report) ?? 0) + 1);
      },
      forget: (report) => {
        failed.delete(report);
        for (const result of OUTCOMES) runs.remove({ result, report, ...label });
      },
      engineCall: (endpoint, outcome) => calls.inc({ endpoint, outcome, ...label }),
      webhook: (result) => deliveries.inc({ result }),
      ofCluster,
    };
  };
  return ofCluster(cluster, REPORT_NAME);
}

const labelOf = (cluster: string | undefined): { cluster?: string } => (cluster === undefined ? {} : { cluster });

/** Exports the returned numbers, which are by report: an alert on them ends with the first complete run. */
function failedRuns(registers: Registry[], getReports: ReportSource): Map<string, number> {
  const failed = new Map<string, number>();
  void new Gauge({
    name: 'olap_warden_health_failed_runs',
    help: 'Runs in a row that ended without a complete report in this process; 0 after a complete one.',
    labelNames: ['report', 'cluster'],
    registers,
    collect() {
      this.reset();
      const current = new Map(getReports().map(({ name, cluster }) => [name, labelOf(cluster)]));
      for (const [report, runs] of failed) {
        const label = current.get(report);
        // The number of a former leader must not count when it leads again.
        if (label === undefined) failed.delete(report);
        else this.set({ report, ...label }, runs);
      }
    },
  });
  return failed;
}

/** What the metrics show of a report. */
export interface ReportedHealth {
  readonly name: string;
  /** Name of the cluster; absent for a single run. */
  readonly cluster?: string;
  readonly status: ClusterHealthReportStatus | undefined;
  /** When the checks run; absent for a single run. */
  readonly timing?: Pick<ClusterHealthReportSpec, 'interval' | 'schedule'>;
}

type ReportSource = () => readonly ReportedHealth[];

function checkGauges(registers: Registry[], getReports: ReportSource): void {
  type SetCheck = (check: string, value: number) => void;
  const gauge = (name: string, help: string, collect: (status: ClusterHealthReportStatus, set: SetCheck) => void) =>
    new Gauge({
      name: `olap_warden_health_check_${name}`,
      help,
      labelNames: ['check', 'report', 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const { name: report, cluster, status } of getReports()) {
          const labels = { report, ...labelOf(cluster) };
          if (status !== undefined) collect(status, (check, value) => this.set({ check, ...labels }, value));
        }
      },
    });
  gauge('status', '1 if the check passed, 0 if it failed.', ({ checks = [] }, set) => {
    for (const { name, status } of checks) set(name, status === 'PASS' ? 1 : 0);
  });
  gauge('findings', 'Number of findings of the check.', ({ checks = [] }, set) => {
    for (const { name, findingCount } of checks) set(name, findingCount);
  });
  gauge('evaluated', '1 if the latest run could evaluate the check, else 0.', ({ checks = [] }, set) => {
    const evaluated = new Map(checks.map((check) => [check.name, check.couldNotEvaluate !== true]));
    for (const { name } of CATALOGUE) set(name, evaluated.get(name) === true ? 1 : 0);
  });
  gauge(
    'failing',
    '1 if the latest run that could evaluate the check found a fault, else 0; absent if no run could.',
    ({ checks = [] }, set) => {
      for (const check of checks) {
        const evaluated = evaluatedResult(check, undefined);
        if (evaluated !== undefined) set(check.name, evaluated.status === 'FAIL' ? 1 : 0);
      }
    },
  );
  gauge('muted_findings', 'Number of muted findings of the check.', ({ checks = [] }, set) => {
    for (const { name, mutedCount = 0 } of checks) set(name, mutedCount);
  });
  gauge(
    'muted',
    '1 if all faults of the latest run that could evaluate the check are muted, else 0; absent if no run could.',
    ({ checks = [] }, set) => {
      for (const check of checks) {
        const evaluated = evaluatedResult(check, undefined);
        if (evaluated !== undefined) set(check.name, isMuted(evaluated) ? 1 : 0);
      }
    },
  );
  gauge(
    'explained',
    '1 if causes are behind all faults of the latest run that could evaluate the check and that are not muted, else 0; absent if no run could.',
    ({ checks = [] }, set) => {
      for (const check of checks) {
        const evaluated = evaluatedResult(check, undefined);
        if (evaluated !== undefined) set(check.name, isExplained(evaluated) ? 1 : 0);
      }
    },
  );
  gauge(
    'critical',
    '1 if a fault of the latest run that could evaluate the check is critical, not muted and without a known cause, else 0; absent if no run could.',
    ({ checks = [] }, set) => {
      for (const check of checks) {
        const evaluated = evaluatedResult(check, undefined);
        if (evaluated === undefined) continue;
        const isCritical = evaluated.status === 'FAIL' && severityOfEvaluated(check.name, evaluated) === 'critical';
        set(check.name, isCritical && !isMuted(evaluated) && !isExplained(evaluated) ? 1 : 0);
      }
    },
  );
  gauge(
    'unevaluated_runs',
    'Number of runs in a row that could not evaluate the check; 0 if the latest could.',
    ({ checks = [] }, set) => {
      for (const check of checks) set(check.name, unevaluatedRuns(check));
    },
  );
  gauge(
    'since_timestamp_seconds',
    'Time when the check last changed its status, seconds since the epoch.',
    ({ checks = [] }, set) => {
      for (const { name, since } of checks) if (since !== undefined) set(name, Date.parse(since) / 1000);
    },
  );
}

/** Each failing check of a report has at most three series. */
function entityGauge(registers: Registry[], getReports: ReportSource): Gauge {
  return new Gauge({
    name: 'olap_warden_health_check_entity_info',
    help: 'The first entities that a failing check names, always 1.',
    labelNames: ['check', 'report', 'position', 'entity_type', 'entity', 'cluster'],
    registers,
    collect() {
      this.reset();
      for (const { name: report, cluster, status } of getReports()) {
        for (const check of status?.checks ?? []) {
          const entities = evaluatedResult(check, undefined)?.entities ?? [];
          for (const [index, { entityType, entity }] of entities.entries()) {
            const labels = {
              entity_type: entityType,
              entity: entity.slice(0, MAX_LABEL_LENGTH),
              ...labelOf(cluster),
            };
            this.set({ check: check.name, report, position: String(index + 1), ...labels }, 1);
          }
        }
      }
    },
  });
}

/** Each report has at most `MAX_CAUSES` causes, each with five series. */
function causeGauges(registers: Registry[], getReports: ReportSource): void {
  const gauge = (name: string, help: string, labels: readonly string[], values: (cause: Cause) => CauseValues) =>
    new Gauge({
      name: `olap_warden_health_cause_${name}`,
      help,
      labelNames: ['report', 'kind', 'entity_type', 'entity', ...labels, 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const { name: report, cluster, status } of getReports()) {
          for (const cause of (status?.causes ?? []).filter((each) => !isMutedCause(each))) {
            const { kind, entityType: entity_type, entity } = cause;
            for (const [more, value] of values(cause)) {
              const labels = { report, kind, entity_type, entity: entity.slice(0, MAX_LABEL_LENGTH), ...more };
              this.set({ ...labels, ...labelOf(cluster) }, value);
            }
          }
        }
      },
    });
  gauge(
    'critical',
    '1 for a cause of findings that is critical, 0 for another one; absent for causes whose findings are all muted.',
    [],
    ({ severity }) => [[{}, severity === 'critical' ? 1 : 0]],
  );
  gauge(
    'effect',
    'Number of checks that fail by a cause, of tables that it affects, of segments that have lost a replica by it, and of their segments without any.',
    ['effect'],
    ({ checks, tables, segments, unserved }) => [
      [{ effect: 'checks' }, checks.length],
      [{ effect: 'tables' }, tables],
      [{ effect: 'segments' }, segments],
      [{ effect: 'unserved' }, unserved],
    ],
  );
}

/** Values of a gauge by its further labels. */
type CauseValues = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

function runGauges(registers: Registry[], getReports: ReportSource): void {
  const gauge = (
    name: string,
    help: string,
    value: (status: ClusterHealthReportStatus, report: ReportedHealth) => number | undefined,
  ) =>
    new Gauge({
      name: `olap_warden_health_${name}`,
      help,
      labelNames: ['report', 'cluster'],
      registers,
      collect() {
        this.reset();
        for (const report of getReports()) {
          const current = report.status === undefined ? undefined : value(report.status, report);
          if (current !== undefined) this.set({ report: report.name, ...labelOf(report.cluster) }, current);
        }
      },
    });
  gauge(
    'last_run_timestamp_seconds',
    'Start of the latest run of the health checks, seconds since the epoch.',
    ({ lastRunTime }) => (lastRunTime === undefined ? undefined : Date.parse(lastRunTime) / 1000),
  );
  gauge(
    'next_run_timestamp_seconds',
    'Time when the next run is due, seconds since the epoch; in the past when it is late or suspended.',
    (status, { timing }) => (timing === undefined ? undefined : nextRunSeconds(status, timing)),
  );
  gauge('last_run_duration_seconds', 'Duration of the latest run of the health checks.', ({ durationMs }) =>
    durationMs === undefined ? undefined : durationMs / 1000,
  );
  gauge('checks_passed', 'Number of checks that passed in the latest run.', ({ pass }) => pass);
  gauge('checks_failed', 'Number of checks that failed in the latest run.', ({ fail }) => fail);
  gauge(
    'checks_failed_muted',
    'Number of checks that failed in the latest run and whose faults are all muted.',
    ({ fail, failMuted = 0 }) => (fail === undefined ? undefined : failMuted),
  );
  gauge('mutes', 'Number of mutes in effect.', ({ mutes }) => mutes?.length ?? 0);
  gauge(
    'last_complete_timestamp_seconds',
    'Start of the last run that could be evaluated, seconds since the epoch.',
    (status) => {
      const time = lastCompleteTime(status);
      return time === undefined ? undefined : Date.parse(time) / 1000;
    },
  );
  for (const severity of SEVERITIES) {
    gauge(
      `checks_failed_${severity}`,
      `Number of checks of the severity ${severity} that failed in the latest run, except for muted ones.`,
      ({ failBySeverity }) => failBySeverity?.[severity],
    );
  }
}

/** When the next run is due, seconds since the epoch: by the schedule, or soon if the last run could not read the cluster. */
function nextRunSeconds(
  status: ClusterHealthReportStatus,
  timing: NonNullable<ReportedHealth['timing']>,
): number | undefined {
  const startedAt = Date.parse(status.lastRunTime ?? '');
  if (Number.isNaN(startedAt)) return undefined;
  const retryAt = unreadRetryAt(unreadRuns(status), startedAt + (status.durationMs ?? 0));
  return Math.min(nextRunAt(timing, startedAt), retryAt) / 1000;
}
