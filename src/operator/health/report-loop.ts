import { newRunId, runningId, withoutRunning } from '../../health/report/report.ts';
import { nextRunAt } from '../../health/run/schedule.ts';
import { Backoff, type BackoffOptions } from '../../platform/backoff.ts';
import type { ClusterHealthReportSpec } from '../../resources/cluster-health-report.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import { ReportRuns, type ReportRunsOptions } from './report-runs.ts';
import { ReportWriter } from './report-writer.ts';
import { callBy } from './run-timer.ts';
import { observedRunAt, requestedRun } from './run-request.ts';

export interface ReportLoopOptions extends Omit<ReportRunsOptions, 'writer' | 'signal'> {
  readonly store: ResourceStore;
  /** With it the report is created where it is missing. */
  readonly specIfMissing: ClusterHealthReportSpec | undefined;
  /** Called when a mute has expired. @param findingCount number of findings to which it applied */
  readonly onMuteExpired: (report: ClusterHealthReport, mute: Mute, findingCount: number) => void;
  readonly firstRunDelayMs: number;
  /** Calls its argument when no other report runs, and resolves or rejects as that does. */
  readonly oneAtATime: (run: () => Promise<void>) => Promise<void>;
}

const BACKOFF: BackoffOptions = { baseMs: 1_000, maxMs: 10_000, jitter: 'half' };
/** Time until the report is read again after another process has created it. */
const CREATED_ELSEWHERE_MS = 1_000;
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
  readonly #runs: ReportRuns;
  /** Milliseconds since the epoch. */
  #startedAt: number;

  constructor(options: ReportLoopOptions) {
    this.#options = options;
    this.#writer = new ReportWriter({ ...options, signal: this.#stopping.signal });
    this.#runs = new ReportRuns({ ...options, writer: this.#writer, signal: this.#stopping.signal });
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
    // A microtask is needed because the store may call its subscribers before its own write has resolved.
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
      this.#cancelTimer = callBy(clock, clock.now() + waitMs, () => this.wake());
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
    // After the clock was set back, the times of this process are in the future, and nothing would run until then.
    this.#startedAt = Math.min(this.#startedAt, now);
    this.#runs.adoptEarlierTime(now);
    const dueAt = this.#runs.dueAt(spec);
    if (dueAt !== undefined) return dueAt - now;
    const soon = this.#startedAt + this.#options.firstRunDelayMs - now;
    // Soon after each start, because the last report may be old; at the times of a schedule only when one was missed.
    const last = Date.parse(status?.lastRunTime ?? '');
    if (spec.schedule === undefined || Number.isNaN(last)) return soon;
    return Math.max(soon, nextRunAt(spec, Math.min(last, this.#startedAt)) - now);
  }

  /** The report may have changed while other reports ran. */
  async #runIfDue(): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const report = this.#writer.current();
    if (report === undefined || !this.#options.isLeader() || !this.#isDue(report)) return;
    const requested = requestedRun(report);
    const { clock } = this.#options;
    const periodic = { id: newRunId('run', clock), runAt: observedRunAt(report), fresh: false };
    if (requested === undefined && this.#runs.isEarly(report.spec)) await this.#runs.repeat(report, periodic);
    else await this.#runs.run(report, requested ?? periodic);
  }

  async #createReport(): Promise<ClusterHealthReport | undefined> {
    const { name, specIfMissing: spec } = this.#options;
    if (spec === undefined) return undefined;
    try {
      return await this.#options.store.create(
        'ClusterHealthReport',
        { apiVersion: API_VERSION, kind: 'ClusterHealthReport', metadata: { name }, spec },
        { signal: this.#stopping.signal },
      );
    } catch (error) {
      if (error instanceof StoreError && error.code === 'already-exists') return undefined;
      throw error;
    }
  }
}
