import type { Logger } from 'pino';
import type { HealthMetrics, RunOutcome } from '../../health/metrics.ts';
import { changedChecks, type StatusChange } from '../../health/report/history.ts';
import { NO_RECHECK, recheckAfter, RECHECK_MS, type Recheck } from '../../health/run/recheck.ts';
import { buildStatus, unreadRuns, withRunning } from '../../health/report/report.ts';
import { runChecks, type Gather, type RunResult } from '../../health/run/run.ts';
import { nextRunAt, unreadRetryAt } from '../../health/run/schedule.ts';
import { resolveSettings, type ConfiguredSettings } from '../../health/settings.ts';
import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { ClusterHealthReportSpec } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { ProgressWriter } from './health-progress.ts';
import type { ReportWriter } from './report-writer.ts';
import type { RunRequest } from './run-request.ts';

export interface ReportRunsOptions {
  /** Name of the report. */
  readonly name: string;
  readonly writer: ReportWriter;
  /** Aborts when the health task stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HealthMetrics;
  readonly isLeader: () => boolean;
  readonly configured: () => ConfiguredSettings;
  readonly onStatusChange: (report: ClusterHealthReport, change: StatusChange) => void;
  /** Replaces that of the report's spec. */
  readonly deadlineMs: number | undefined;
  readonly gather: Gather;
}

/** Runs the checks of one report, writes what they found, and tells when they are due again. */
export class ReportRuns {
  readonly #options: ReportRunsOptions;
  /** Start of the last run of this process; milliseconds since the epoch. */
  #lastRunAt: number | undefined;
  /** Runs in a row that could not read the cluster or write the report. */
  #unreadRuns = 0;
  /** End of the last of them; milliseconds since the epoch. */
  #unreadAt = 0;
  /** The critical checks that fail, and when they are repeated. */
  #recheck: Recheck = NO_RECHECK;

  constructor(options: ReportRunsOptions) {
    this.#options = options;
  }

  /** When a run or a repetition is due, milliseconds since the epoch; undefined before the first run of this process. */
  dueAt(spec: ClusterHealthReportSpec): number | undefined {
    if (this.#lastRunAt === undefined) return undefined;
    return Math.min(this.#fullRunAt(spec, this.#lastRunAt), this.#recheck.at);
  }

  /** Whether a run of all checks is not due yet. */
  isEarly(spec: ClusterHealthReportSpec): boolean {
    return this.#lastRunAt !== undefined && this.#fullRunAt(spec, this.#lastRunAt) > this.#options.clock.now();
  }

  /** Call it after the clock was set back, so that no time of this process is in the future. @param now milliseconds since the epoch */
  adoptEarlierTime(now: number): void {
    if (this.#lastRunAt !== undefined) this.#lastRunAt = Math.min(this.#lastRunAt, now);
    this.#unreadAt = Math.min(this.#unreadAt, now);
    if (this.#recheck.checks.size > 0 && this.#lastRunAt === now)
      this.#recheck = { ...this.#recheck, at: Math.min(this.#recheck.at, now + RECHECK_MS) };
  }

  /** When all checks are due after a run of this process, milliseconds since the epoch. */
  #fullRunAt(spec: ClusterHealthReportSpec, lastRunAt: number): number {
    return Math.min(nextRunAt(spec, lastRunAt), unreadRetryAt(this.#unreadRuns, this.#unreadAt));
  }

  /** Runs all checks. */
  async run(report: ClusterHealthReport, request: RunRequest): Promise<void> {
    const { name, log, clock, metrics, gather } = this.#options;
    const settings = resolveSettings(report.spec, this.#options.configured());
    const startedAt = clock.now();
    const started = { id: request.id, checks: [], checksTotal: settings.checks.length };
    await this.#options.writer.write((status) => withRunning(status, started));
    // This comes after the write: a run whose start could not be written is still due.
    this.#lastRunAt = startedAt;
    const progress = this.#progressWriter(request.id);
    const deadline = new Deadline(clock, this.#options.deadlineMs ?? settings.deadlineMs, this.#options.signal);
    let result: RunResult;
    try {
      const { signal } = deadline;
      const { fresh } = request;
      result = await runChecks({ gather, settings, signal, clock, fresh, onProgress: progress.report });
    } catch (error) {
      metrics.run('error', name);
      throw error;
    } finally {
      deadline.clear();
      // No progress may be written after the report.
      await progress.end();
    }
    this.#options.signal.throwIfAborted();
    if (!this.#options.isLeader()) return;
    const { maxFindings, criticalAfterMs } = settings;
    const { generation } = report.metadata;
    const before = report.status;
    let written: ClusterHealthReport;
    try {
      const { id: runId, runAt } = request;
      const input = { result, generation, runAt, runId, maxFindings, criticalAfterMs };
      written = await this.#options.writer.write((previous, { mutes }) =>
        buildStatus({ ...input, previous, mutes, now: clock.now() }),
      );
      this.#unreadRuns = unreadRuns(written.status ?? {});
      this.#recheck = recheckAfter(written.status, result, clock.now());
    } catch (error) {
      // The result is lost, so the run is repeated soon.
      this.#unreadRuns += 1;
      if (!this.#options.signal.aborted) metrics.run('error', name);
      throw error;
    } finally {
      this.#unreadAt = clock.now();
    }
    const outcome = runOutcome(result, deadline);
    metrics.run(outcome, name);
    const { pass, fail } = written.status ?? {};
    const { durationMs } = result;
    log.info({ report: name, runId: request.id, result: outcome, durationMs, pass, fail }, 'health run completed');
    for (const change of changedChecks(before, written.status ?? {})) this.#options.onStatusChange(written, change);
  }

  /** Repeats the failed critical checks, so that the report and the alerts end soon after the faults. */
  async repeat(report: ClusterHealthReport, { id: runId, runAt, fresh }: RunRequest): Promise<void> {
    const { name, log, clock, gather, configured } = this.#options;
    const settings = resolveSettings(report.spec, configured());
    const checks = settings.checks.filter((check) => this.#recheck.checks.has(check.name));
    const { generation } = report.metadata;
    const deadline = new Deadline(clock, this.#options.deadlineMs ?? settings.deadlineMs, this.#options.signal);
    try {
      const { signal } = deadline;
      const result = await runChecks({ gather, settings: { ...settings, checks }, signal, clock, fresh });
      this.#options.signal.throwIfAborted();
      // A cluster that cannot be read is reported by the next run of all checks.
      if (!this.#options.isLeader() || result.unreachable !== undefined) return;
      const { maxFindings, criticalAfterMs } = settings;
      const input = { result, generation, runAt, runId, maxFindings, criticalAfterMs, recheck: true };
      const written = await this.#options.writer.write((previous, { mutes }) =>
        buildStatus({ ...input, previous, mutes, now: clock.now() }),
      );
      this.#recheck = recheckAfter(written.status, result, clock.now());
      log.info({ report: name, runId, durationMs: result.durationMs }, 'failed critical checks repeated');
      for (const change of changedChecks(report.status, written.status ?? {}))
        this.#options.onStatusChange(written, change);
    } finally {
      deadline.clear();
      // This is done after an error, too, which must not be repeated without a pause.
      if (this.#recheck.at <= clock.now()) this.#recheck = { ...this.#recheck, at: clock.now() + RECHECK_MS };
    }
  }

  #progressWriter(id: string): ProgressWriter {
    const { clock, isLeader, log } = this.#options;
    return new ProgressWriter({
      clock,
      write: async (progress) => {
        if (!isLeader()) return;
        await this.#options.writer.write((status) => withRunning(status, { id, ...progress }));
      },
      onError: (error) => log.warn({ err: error, runId: id }, 'failed to update health run progress'),
    });
  }
}

function runOutcome(result: RunResult, deadline: Deadline): RunOutcome {
  if (result.unreachable !== undefined) return 'unreachable';
  return deadline.expired ? 'deadline' : 'success';
}
