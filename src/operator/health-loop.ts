import type { Logger } from 'pino';
import { createGather, type HealthEngine } from '../health/gather/gather.ts';
import { NO_METRICS, type HealthMetrics, type RunOutcome } from '../health/metrics.ts';
import {
  buildStatus,
  changedChecks,
  newRunId,
  runningId,
  withoutRunning,
  withRunning,
  type StatusChange,
} from '../health/report.ts';
import { runChecks, type Gather, type RunResult } from '../health/run.ts';
import { resolveSettings, type ConfiguredSettings } from '../health/settings.ts';
import { Backoff, type BackoffOptions } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import { retry } from '../platform/retry.ts';
import { REPORT_NAME, type ClusterHealthReportStatus } from '../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION } from '../resources/meta.ts';
import { conflictRetryAfterMs, StoreError, type ResourceStore } from '../store/resource-store.ts';
import { ProgressWriter } from './health-progress.ts';
import { healthSchedule, type HealthSchedule } from './health-schedule.ts';

export interface HealthLoopOptions {
  readonly store: ResourceStore;
  readonly engine: HealthEngine;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: HealthMetrics;
  /** Called before a run starts and before its report is written. */
  readonly isLeader: () => boolean;
  /** Settings from the process's configuration; called at each run. */
  readonly configured?: () => ConfiguredSettings;
  /** Called for each check whose status changed. */
  readonly onStatusChange?: (report: ClusterHealthReport, change: StatusChange) => void;
  /** Milliseconds between the start of the loop and the first run. */
  readonly firstRunDelayMs?: number;
  /** Milliseconds after which a run stops reading and reports what it has. */
  readonly deadlineMs?: number;
  /** Reads the cluster; by default through the engine's REST interface. */
  readonly gather?: Gather;
}

/** Runs the checks when they are due. `stop` aborts a current run without a report. */
export interface HealthLoop {
  start(): void;
  stop(): Promise<void>;
}

const FIRST_RUN_DELAY_MS = 5_000;
const DEADLINE_MS = 10 * 60_000;
const BACKOFF: BackoffOptions = { baseMs: 1_000, maxMs: 60_000, jitter: 'half' };
/** Time until the report is read again after another process has created it. */
const CREATED_ELSEWHERE_MS = 1_000;
/** Attempts to write a status when the object is changed concurrently. */
const MAX_WRITE_ATTEMPTS = 5;
/** Gives the watch time to deliver the newer object. */
const WRITE_BACKOFF: BackoffOptions = { baseMs: 50, maxMs: 400, jitter: 'half' };

/**
 * The health task: a loop over the report in the store, on the leading operator or in the standalone process.
 *
 * Level-triggered: each step decides from the current report whether a run is due, so a lost event has no effect. Runs do not overlap,
 * because the loop waits for its run.
 */
export function createHealthLoop(options: HealthLoopOptions): HealthLoop {
  const loop = new Loop(options);
  return { start: () => loop.start(), stop: () => loop.stop() };
}

/** A run that is due: its id, and the value of the run-at annotation that requested it. */
interface RunRequest {
  readonly id: string;
  readonly runAt: string | undefined;
}

class Loop {
  readonly #options: HealthLoopOptions;
  readonly #gather: Gather;
  readonly #metrics: HealthMetrics;
  readonly #stopping = new AbortController();
  readonly #schedule: HealthSchedule;
  #unsubscribe: () => void = () => undefined;
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> | undefined;
  readonly #backoff: Backoff;
  #again = false;

  constructor(options: HealthLoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock, BACKOFF);
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#gather =
      options.gather ?? createGather({ engine: options.engine, clock: options.clock, metrics: this.#metrics });
    this.#schedule = healthSchedule({
      clock: options.clock,
      firstRunDelayMs: options.firstRunDelayMs ?? FIRST_RUN_DELAY_MS,
      wake: () => this.#wake(),
    });
  }

  start(): void {
    this.#schedule.start();
    this.#unsubscribe = this.#options.store.subscribe('ClusterHealthReport', ({ object }) => {
      if (object.metadata.name === REPORT_NAME) this.#wake();
    });
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the health task is stopping'));
    this.#unsubscribe();
    this.#schedule.stop();
    this.#cancelTimer();
    await this.#working;
  }

  /** Starts a step, or has one follow the current step. */
  #wake(): void {
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
            this.#options.log.error({ err: error }, 'health task failed; retrying');
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
    if (again) this.#wake();
    else if (Number.isFinite(waitMs)) this.#cancelTimer = this.#options.clock.schedule(() => this.#wake(), waitMs);
  }

  /** @returns milliseconds until the next step; Infinity if only an event can make a run due */
  async #step(): Promise<number> {
    if (!this.#options.isLeader()) return Number.POSITIVE_INFINITY;
    const report = this.#options.store.get('ClusterHealthReport', REPORT_NAME) ?? (await this.#createReport());
    if (report === undefined) return CREATED_ELSEWHERE_MS;
    const waitMs = this.#schedule.waitMs(report);
    const request = requestedRun(report);
    if (request !== undefined || waitMs <= 0) {
      await this.#run(report, request ?? { id: newRunId('run', this.#options.clock), runAt: observedRunAt(report) });
      return 0;
    }
    // The run of a process that has ended.
    if (runningId(report.status) !== undefined) await this.#writeStatus(withoutRunning);
    return waitMs;
  }

  async #createReport(): Promise<ClusterHealthReport | undefined> {
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
    const { log, clock } = this.#options;
    const settings = resolveSettings(report.spec, this.#options.configured?.());
    const problems = [...settings.problems, ...this.#schedule.problems(report)];
    this.#schedule.runStarted();
    await this.#writeStatus((status, generation) =>
      withRunning(status, { id: request.id, checks: [], checksTotal: settings.checks.length }, generation, this.#now()),
    );
    const progress = this.#progressWriter(request.id);
    const deadline = new Deadline(clock, this.#options.deadlineMs ?? DEADLINE_MS, this.#stopping.signal);
    let result: RunResult;
    try {
      const { signal } = deadline;
      result = await runChecks({ gather: this.#gather, settings, signal, clock, onProgress: progress.report });
    } catch (error) {
      this.#metrics.run('error');
      throw error;
    } finally {
      deadline.clear();
      // No progress may be written after the report.
      await progress.end();
    }
    this.#stopping.signal.throwIfAborted();
    if (!this.#options.isLeader()) return;
    const { maxFindings } = settings;
    const before = report.status;
    const written = await this.#writeStatus((previous, generation) =>
      buildStatus({ result, previous, generation, runAt: request.runAt, maxFindings, problems, now: this.#now() }),
    );
    const outcome = runOutcome(result, deadline);
    this.#metrics.run(outcome);
    const { pass, fail } = written.status ?? {};
    log.info({ runId: request.id, result: outcome, durationMs: result.durationMs, pass, fail }, 'health run completed');
    for (const change of changedChecks(before, written.status ?? {})) this.#options.onStatusChange?.(written, change);
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #progressWriter(id: string): ProgressWriter {
    const { clock, isLeader, log } = this.#options;
    return new ProgressWriter({
      clock,
      write: async (progress) => {
        if (!isLeader()) return;
        await this.#writeStatus((status, generation) =>
          withRunning(status, { id, ...progress }, generation, this.#now()),
        );
      },
      onError: (error) => log.warn({ err: error, runId: id }, 'failed to update health run progress'),
    });
  }

  /** Computes the status from the current object and writes it; again if the object was changed concurrently. */
  async #writeStatus(
    compute: (
      status: ClusterHealthReportStatus | undefined,
      generation: number | undefined,
    ) => ClusterHealthReportStatus,
  ): Promise<ClusterHealthReport> {
    const { store, clock } = this.#options;
    const { signal } = this.#stopping;
    const write = async (): Promise<ClusterHealthReport> => {
      const current = store.get('ClusterHealthReport', REPORT_NAME);
      if (current === undefined)
        throw new StoreError('not-found', `the ClusterHealthReport \`${REPORT_NAME}\` was deleted`);
      const status = compute(current.status, current.metadata.generation);
      return store.updateStatus('ClusterHealthReport', { ...current, status }, { signal });
    };
    return retry(write, {
      attempts: MAX_WRITE_ATTEMPTS,
      backoff: WRITE_BACKOFF,
      clock,
      signal,
      retryAfterMs: conflictRetryAfterMs,
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
  return runAt === undefined || runAt === observedRunAt(report) ? undefined : { id: runAt, runAt };
}
