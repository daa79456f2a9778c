import type { Logger } from 'pino';
import type { HealthMetrics, RunOutcome } from '../health/metrics.ts';
import { changedChecks, type StatusChange } from '../health/history.ts';
import { NO_RECHECK, recheckAfter, RECHECK_MS, type Recheck } from '../health/recheck.ts';
import { buildStatus, newRunId, runningId, unreadRuns, withoutRunning, withRunning } from '../health/report.ts';
import { runChecks, type Gather, type RunResult } from '../health/run.ts';
import { nextRunAt, unreadRetryAt } from '../health/schedule.ts';
import { resolveSettings, type ConfiguredSettings } from '../health/settings.ts';
import { Backoff, type BackoffOptions } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import { REPORT_NAME, type ClusterHealthReportSpec, type Mute } from '../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION } from '../resources/meta.ts';
import { StoreError, type ResourceStore } from '../store/resource-store.ts';
import { ProgressWriter } from './health-progress.ts';
import { ReportWriter } from './report-writer.ts';

export interface ReportLoopOptions {
  /** Name of the report. */
  readonly name: string;
  readonly store: ResourceStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HealthMetrics;
  readonly isLeader: () => boolean;
  readonly configured: () => ConfiguredSettings;
  readonly onStatusChange: (report: ClusterHealthReport, change: StatusChange) => void;
  /** Called when a mute has expired. @param findingCount number of findings to which it applied */
  readonly onMuteExpired: (report: ClusterHealthReport, mute: Mute, findingCount: number) => void;
  readonly firstRunDelayMs: number;
  /** Replaces that of the report's spec. */
  readonly deadlineMs: number | undefined;
  readonly gather: Gather;
  /** Calls its argument when no other report runs, and resolves or rejects as that does. */
  readonly oneAtATime: (run: () => Promise<void>) => Promise<void>;
}

/** Timers measure durations, schedules are dates: a step of the clock is noticed within this time. */
const MAX_WAIT_MS = 300_000;
const BACKOFF: BackoffOptions = { baseMs: 1_000, maxMs: 60_000, jitter: 'half' };
/** Time until the report is read again after another process has created it. */
const CREATED_ELSEWHERE_MS = 1_000;
/** A run that is due: its id, and the value of the run-at annotation that requested it. */
interface RunRequest {
  readonly id: string;
  readonly runAt: string | undefined;
  /** True for a run on demand: it reads everything, so that its report does not depend on earlier runs. */
  readonly fresh: boolean;
}

/**
 * Runs the checks of one report when they are due.
 *
 * Level-triggered: each step decides from the current report whether a run is due, so a lost event has no effect. Runs do not overlap,
 * because the loop waits for its run.
 */
export class ReportLoop {
  readonly #options: ReportLoopOptions;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> | undefined;
  readonly #backoff: Backoff;
  readonly #writer: ReportWriter;
  #again = false;
  /** Milliseconds since the epoch. */
  #startedAt: number;
  /** Start of the last run of this process; milliseconds since the epoch. */
  #lastRunAt: number | undefined;
  /** Runs in a row that could not read the cluster or write the report. */
  #unreadRuns = 0;
  /** End of the last of them; milliseconds since the epoch. */
  #unreadAt = 0;
  /** The critical checks that fail, and when they are repeated. */
  #recheck: Recheck = NO_RECHECK;

  constructor(options: ReportLoopOptions) {
    this.#options = options;
    this.#writer = new ReportWriter({ ...options, signal: this.#stopping.signal });
    this.#backoff = new Backoff(options.clock, BACKOFF);
    this.#startedAt = options.clock.now();
  }

  start(): void {
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the health task is stopping'));
    this.#cancelTimer();
    await this.#working;
  }

  /** Starts a step, or has one follow the current step. */
  wake(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    this.#cancelTimer();
    // In a microtask: the store may call its subscribers before its own write has resolved.
    this.#working = Promise.resolve()
      .then(() => this.#step())
      .then(
        (waitMs) => this.#stepEnded(waitMs, false),
        (error: unknown) => {
          if (!this.#stopping.signal.aborted) {
            this.#options.log.error({ err: error, report: this.#options.name }, 'health task failed; retrying');
          }
          this.#stepEnded(this.#backoff.next(), true);
        },
      );
  }

  #stepEnded(waitMs: number, failed: boolean): void {
    if (!failed) this.#backoff.reset();
    this.#working = undefined;
    if (this.#stopping.signal.aborted) return;
    const again = this.#again && !failed;
    this.#again = false;
    if (again) this.wake();
    else if (Number.isFinite(waitMs)) {
      const { clock } = this.#options;
      this.#cancelTimer = clock.schedule(() => this.wake(), Math.min(waitMs, MAX_WAIT_MS));
    }
  }

  /** @returns milliseconds until the next step; Infinity if only an event can make a run due */
  async #step(): Promise<number> {
    if (!this.#options.isLeader()) return Number.POSITIVE_INFINITY;
    const report = this.#writer.current() ?? (await this.#createReport());
    if (report === undefined) return CREATED_ELSEWHERE_MS;
    if (this.#isDue(report)) {
      await this.#options.oneAtATime(() => this.#runIfDue());
      return 0;
    }
    // The run of a process that has ended.
    if (runningId(report.status) !== undefined) await this.#writer.write(withoutRunning);
    else await this.#writer.updateMutes(report);
    return Math.min(this.#waitMs(report), this.#writer.untilMuteChange(report));
  }

  #isDue(report: ClusterHealthReport): boolean {
    return requestedRun(report) !== undefined || this.#waitMs(report) <= 0;
  }

  /** Milliseconds until the next periodic run; 0 or less if it is due, Infinity while suspended. */
  #waitMs({ spec, status }: ClusterHealthReport): number {
    if (spec.suspend === true) return Number.POSITIVE_INFINITY;
    const now = this.#options.clock.now();
    this.#adoptEarlierTime(now);
    if (this.#lastRunAt !== undefined) return Math.min(this.#fullRunAt(spec, this.#lastRunAt), this.#recheck.at) - now;
    const soon = this.#startedAt + this.#options.firstRunDelayMs - now;
    // Soon after each start, because the last report may be old; at the times of a schedule only when one was missed.
    const last = Date.parse(status?.lastRunTime ?? '');
    if (spec.schedule === undefined || Number.isNaN(last)) return soon;
    return Math.max(soon, nextRunAt(spec, Math.min(last, this.#startedAt)) - now);
  }

  /** After the clock was set back, the times of this process are in the future, and nothing would run until then. */
  #adoptEarlierTime(now: number): void {
    this.#startedAt = Math.min(this.#startedAt, now);
    if (this.#lastRunAt !== undefined) this.#lastRunAt = Math.min(this.#lastRunAt, now);
    this.#unreadAt = Math.min(this.#unreadAt, now);
    if (this.#recheck.checks.size > 0 && this.#lastRunAt === now)
      this.#recheck = { ...this.#recheck, at: Math.min(this.#recheck.at, now + RECHECK_MS) };
  }

  /** When all checks are due after a run of this process, milliseconds since the epoch. */
  #fullRunAt(spec: ClusterHealthReportSpec, lastRunAt: number): number {
    return Math.min(nextRunAt(spec, lastRunAt), unreadRetryAt(this.#unreadRuns, this.#unreadAt));
  }

  /** The report may have changed while other reports ran. */
  async #runIfDue(): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const report = this.#writer.current();
    if (report === undefined || !this.#options.isLeader() || !this.#isDue(report)) return;
    const requested = requestedRun(report);
    const { clock } = this.#options;
    const periodic = { id: newRunId('run', clock), runAt: observedRunAt(report), fresh: false };
    const early = this.#lastRunAt !== undefined && this.#fullRunAt(report.spec, this.#lastRunAt) > clock.now();
    if (requested === undefined && early) await this.#repeat(report, periodic);
    else await this.#run(report, requested ?? periodic);
  }

  async #createReport(): Promise<ClusterHealthReport | undefined> {
    if (this.#options.name !== REPORT_NAME) return undefined;
    try {
      return await this.#options.store.create(
        'ClusterHealthReport',
        { apiVersion: API_VERSION, kind: 'ClusterHealthReport', metadata: { name: REPORT_NAME }, spec: {} },
        { signal: this.#stopping.signal },
      );
    } catch (error) {
      if (error instanceof StoreError && error.code === 'already-exists') return undefined;
      throw error;
    }
  }

  async #run(report: ClusterHealthReport, request: RunRequest): Promise<void> {
    const { name, log, clock, metrics, gather } = this.#options;
    const settings = resolveSettings(report.spec, this.#options.configured());
    const startedAt = clock.now();
    const started = { id: request.id, checks: [], checksTotal: settings.checks.length };
    await this.#writer.write((status) => withRunning(status, started));
    // Only now: a run whose start could not be written is still due.
    this.#lastRunAt = startedAt;
    const progress = this.#progressWriter(request.id);
    const deadline = new Deadline(clock, this.#options.deadlineMs ?? settings.deadlineMs, this.#stopping.signal);
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
    this.#stopping.signal.throwIfAborted();
    if (!this.#options.isLeader()) return;
    const { maxFindings } = settings;
    const { generation } = report.metadata;
    const before = report.status;
    let written: ClusterHealthReport;
    try {
      const { id: runId, runAt } = request;
      written = await this.#writer.write((previous, { mutes }) =>
        buildStatus({ result, previous, generation, runAt, runId, maxFindings, mutes, now: clock.now() }),
      );
      this.#unreadRuns = unreadRuns(written.status ?? {});
      this.#recheck = recheckAfter(written.status, result, clock.now());
    } catch (error) {
      // The result is lost, so the run is repeated soon.
      this.#unreadRuns += 1;
      if (!this.#stopping.signal.aborted) metrics.run('error', name);
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
  async #repeat(report: ClusterHealthReport, { id: runId, runAt, fresh }: RunRequest): Promise<void> {
    const { name, log, clock, gather, configured } = this.#options;
    const settings = resolveSettings(report.spec, configured());
    const checks = settings.checks.filter((check) => this.#recheck.checks.has(check.name));
    const { generation } = report.metadata;
    const deadline = new Deadline(clock, this.#options.deadlineMs ?? settings.deadlineMs, this.#stopping.signal);
    try {
      const { signal } = deadline;
      const result = await runChecks({ gather, settings: { ...settings, checks }, signal, clock, fresh });
      this.#stopping.signal.throwIfAborted();
      // A cluster that cannot be read is reported by the next run of all checks.
      if (!this.#options.isLeader() || result.unreachable !== undefined) return;
      const { maxFindings } = settings;
      const input = { result, generation, runAt, runId, maxFindings, recheck: true };
      const written = await this.#writer.write((previous, { mutes }) =>
        buildStatus({ ...input, previous, mutes, now: clock.now() }),
      );
      this.#recheck = recheckAfter(written.status, result, clock.now());
      log.info({ report: name, runId, durationMs: result.durationMs }, 'failed critical checks repeated');
      for (const change of changedChecks(report.status, written.status ?? {}))
        this.#options.onStatusChange(written, change);
    } finally {
      deadline.clear();
      // After an error, too: it must not be repeated without a pause.
      if (this.#recheck.at <= clock.now()) this.#recheck = { ...this.#recheck, at: clock.now() + RECHECK_MS };
    }
  }

  #progressWriter(id: string): ProgressWriter {
    const { clock, isLeader, log } = this.#options;
    return new ProgressWriter({
      clock,
      write: async (progress) => {
        if (!isLeader()) return;
        await this.#writer.write((status) => withRunning(status, { id, ...progress }));
      },
      onError: (error) => log.warn({ err: error, runId: id }, 'failed to update health run progress'),
    });
  }
}

function runOutcome(result: RunResult, deadline: Deadline): RunOutcome {
  if (result.unreachable !== undefined) return 'unreachable';
  return deadline.expired ? 'deadline' : 'success';
}

function runAtOf(report: ClusterHealthReport): string | undefined {
  const value = report.metadata.annotations?.[ANNOTATIONS.runAt]?.slice(0, 128);
  return value === '' ? undefined : value;
}

function observedRunAt(report: ClusterHealthReport): string | undefined {
  return report.status?.observedRunAt;
}

/** The run that the run-at annotation requests, unless it was made already. */
function requestedRun(report: ClusterHealthReport): RunRequest | undefined {
  const runAt = runAtOf(report);
  return runAt === undefined || runAt === observedRunAt(report) ? undefined : { id: runAt, runAt, fresh: true };
}
