import { Counter, Gauge, type Registry } from 'prom-client';
import type { ClusterHealthReportStatus } from '../resources/cluster-health-report.ts';
import { CATALOGUE } from './catalogue.ts';

/**
 * How a run ended: with a report on the whole cluster, with the engine out of reach, with reads cut off by the deadline of the run, or
 * without a report.
 */
export type RunEnd = 'success' | 'unreachable' | 'deadline' | 'error';
export type CallOutcome = 'ok' | 'http_error' | 'unreachable' | 'timeout' | 'aborted' | 'bad_answer';

/** Told of what happens while the checks run. */
export interface HealthMetrics {
  run(end: RunEnd): void;
  /** @param endpoint one of a fixed set of names, never a path */
  engineCall(endpoint: string, outcome: CallOutcome): void;
}

export const NO_METRICS: HealthMetrics = { run: () => undefined, engineCall: () => undefined };

/**
 * The series of the health task on a registry.
 *
 * What the report says is read from `getReport` at each scrape and not kept here, so that a new leader tells the same as the one before it,
 * from its first scrape on. Where `getReport` gives nothing (this process does not lead, or no check was ever evaluated) there are
 * no such series, so that of several processes exactly one tells them.
 *
 * Call it once for each registry.
 */
export function healthMetrics(
  registry: Registry,
  getReport: () => ClusterHealthReportStatus | undefined,
): HealthMetrics {
  const registers = [registry];
  checkGauges(registers, getReport);
  runGauges(registers, getReport);
  const runs = new Counter({
    name: 'olap_warden_health_runs_total',
    help: 'Runs of the health checks by result.',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['success', 'unreachable', 'deadline', 'error']) runs.inc({ result }, 0);
  const calls = new Counter({
    name: 'olap_warden_health_engine_calls_total',
    help: 'Calls that the health checks made to the engine, by endpoint and outcome.',
    labelNames: ['endpoint', 'outcome'],
    registers,
  });
  return {
    run: (result) => runs.inc({ result }),
    engineCall: (endpoint, outcome) => calls.inc({ endpoint, outcome }),
  };
}

type ReportSource = () => ClusterHealthReportStatus | undefined;

function checkGauges(registers: Registry[], getReport: ReportSource): void {
  const gauge = (name: string, help: string, set: (self: Gauge<'check'>, report: ClusterHealthReportStatus) => void) =>
    new Gauge({
      name: `olap_warden_health_check_${name}`,
      help,
      labelNames: ['check'],
      registers,
      collect() {
        this.reset();
        const report = getReport();
        if (report !== undefined) set(this, report);
      },
    });
  gauge('status', '1 where the check passed, 0 where it failed.', (self, report) => {
    for (const { name, status } of report.checks ?? []) self.set({ check: name }, status === 'PASS' ? 1 : 0);
  });
  gauge('findings', 'How many findings the check had.', (self, report) => {
    for (const { name, findingCount } of report.checks ?? []) self.set({ check: name }, findingCount);
  });
  gauge('evaluated', '1 where the check could be evaluated in the latest run, else 0.', (self, report) => {
    const evaluated = new Map((report.checks ?? []).map((check) => [check.name, check.couldNotEvaluate !== true]));
    for (const { name } of CATALOGUE) self.set({ check: name }, evaluated.get(name) === true ? 1 : 0);
  });
  gauge('since_timestamp_seconds', 'Since when the check has its status.', (self, report) => {
    for (const { name, since } of report.checks ?? []) {
      if (since !== undefined) self.set({ check: name }, Date.parse(since) / 1000);
    }
  });
}

function runGauges(registers: Registry[], getReport: ReportSource): void {
  const gauge = (name: string, help: string, value: (report: ClusterHealthReportStatus) => number | undefined) =>
    new Gauge({
      name: `olap_warden_health_${name}`,
      help,
      registers,
      collect() {
        this.remove();
        const report = getReport();
        const current = report === undefined ? undefined : value(report);
        if (current !== undefined) this.set(current);
      },
    });
  gauge('last_run_timestamp_seconds', 'When the latest run of the checks began.', ({ lastRunTime }) =>
    lastRunTime === undefined ? undefined : Date.parse(lastRunTime) / 1000,
  );
  gauge('last_run_duration_seconds', 'How long the latest run of the checks took.', ({ durationMs }) =>
    durationMs === undefined ? undefined : durationMs / 1000,
  );
  gauge('checks_passed', 'How many checks passed in the latest run.', ({ pass }) => pass);
  gauge('checks_failed', 'How many checks failed in the latest run.', ({ fail }) => fail);
}
