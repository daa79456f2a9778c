import { Counter, Gauge, type Registry } from 'prom-client';
import type { ClusterHealthReportStatus } from '../resources/cluster-health-report.ts';
import { CATALOGUE } from './catalogue.ts';

/**
 * `success`: the report covers the whole cluster. `unreachable`: no controller responded. `deadline`: the deadline of the run aborted
 * reads. `error`: the run failed without a report.
 */
export type RunOutcome = 'success' | 'unreachable' | 'deadline' | 'error';
export type CallOutcome = 'ok' | 'http_error' | 'unreachable' | 'timeout' | 'aborted' | 'bad_answer';

/** Counts runs and calls to the engine. */
export interface HealthMetrics {
  run(outcome: RunOutcome): void;
  /** @param endpoint one of a fixed set of names, not a path */
  engineCall(endpoint: string, outcome: CallOutcome): void;
}

export const NO_METRICS: HealthMetrics = { run: () => undefined, engineCall: () => undefined };

/**
 * Registers the metrics of the health task. Call it once for each registry.
 *
 * The values of the report are read with `getReport` at each scrape. A new leader therefore exports the same values as the previous one
 * from its first scrape on. If `getReport` returns undefined (this process does not lead, or no run has ended yet), these series are
 * absent, so that exactly one of several processes exports them.
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
    help: 'Runs of the health checks, by result.',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['success', 'unreachable', 'deadline', 'error']) runs.inc({ result }, 0);
  const calls = new Counter({
    name: 'olap_warden_health_engine_calls_total',
    help: 'Calls of the health checks to the engine, by endpoint and outcome.',
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
  gauge('status', '1 if the check passed, 0 if it failed.', (self, report) => {
    for (const { name, status } of report.checks ?? []) self.set({ check: name }, status === 'PASS' ? 1 : 0);
  });
  gauge('findings', 'Number of findings of the check.', (self, report) => {
    for (const { name, findingCount } of report.checks ?? []) self.set({ check: name }, findingCount);
  });
  gauge('evaluated', '1 if the latest run could evaluate the check, else 0.', (self, report) => {
    const evaluated = new Map((report.checks ?? []).map((check) => [check.name, check.couldNotEvaluate !== true]));
    for (const { name } of CATALOGUE) self.set({ check: name }, evaluated.get(name) === true ? 1 : 0);
  });
  gauge(
    'since_timestamp_seconds',
    'Time when the check last changed its status, seconds since the epoch.',
    (self, report) => {
      for (const { name, since } of report.checks ?? []) {
        if (since !== undefined) self.set({ check: name }, Date.parse(since) / 1000);
      }
    },
  );
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
  gauge(
    'last_run_timestamp_seconds',
    'Start of the latest run of the health checks, seconds since the epoch.',
    ({ lastRunTime }) => (lastRunTime === undefined ? undefined : Date.parse(lastRunTime) / 1000),
  );
  gauge('last_run_duration_seconds', 'Duration of the latest run of the health checks.', ({ durationMs }) =>
    durationMs === undefined ? undefined : durationMs / 1000,
  );
  gauge('checks_passed', 'Number of checks that passed in the latest run.', ({ pass }) => pass);
  gauge('checks_failed', 'Number of checks that failed in the latest run.', ({ fail }) => fail);
}
