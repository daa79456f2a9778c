import type { Logger } from 'pino';
import { createGather, type HealthEngine } from '../health/gather.ts';
import { NO_METRICS, type HealthMetrics, type RunEnd } from '../health/metrics.ts';
import { buildStatus, runningId, turnedChecks, withoutRunning, withRunning, type Turn } from '../health/report.ts';
import { runChecks, type Gather, type RunResult } from '../health/run.ts';
import { resolveSettings, type ConfiguredSettings } from '../health/settings.ts';
import { REPORT_NAME, type ClusterHealthReportStatus } from '../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION } from '../resources/meta.ts';
import { StoreError, type ResourceStore } from '../store/resource-store.ts';
import { ProgressWriter } from './health-progress.ts';
import { healthSchedule, type HealthSchedule } from './health-schedule.ts';

export interface HealthLoopOptions {
  readonly store: ResourceStore;
  readonly engine: HealthEngine;
  readonly now: () => Date;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: HealthMetrics;
  /** Asked before a run begins and before its report is written. Always true where there is only one process. */
  readonly isLeader: () => boolean;
  /** What the process' own configuration says, asked at each run. */
  readonly configured?: () => ConfiguredSettings;
  /** Told of each check that turned. */
  readonly events?: (report: ClusterHealthReport, turn: Turn) => void;
  /** Milliseconds between the start of the loop and the first run. */
  readonly firstRunDelayMs?: number;
  /** Milliseconds after which a run reads no further and reports what it has. */
  readonly deadlineMs?: number;
  /** How a cluster is read; by its REST interface where this is absent. */
  readonly gather?: Gather;
}

/** Runs the checks when they are due; `stop` ends a run that is under way without a report. */
export interface HealthLoop {
  start(): void;
  stop(): Promise<void>;
}

const FIRST_RUN_DELAY_MS = 5_000;
const DEADLINE_MS = 10 * 60_000;
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** As many times a status is written again after somebody else changed the object meanwhile. */
const WRITE_ATTEMPTS = 5;

/**
 * The health task: one loop over the report in the store, on the leader of the operators or in the standalone process.
 *
 * Level-triggered: each wake-up looks at the report as it is now and decides from that whether a run is due, so a lost event
 * costs nothing. Runs never overlap, since there is one loop and it waits for its run.
 */
export function createHealthLoop(options: HealthLoopOptions): HealthLoop {
  const loop = new Loop(options);
  return { start: () => loop.start(), stop: () => loop.stop() };
}

/** Why a run is made: its id, and the annotation that it answers to. */
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
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #failures = 0;

  constructor(options: HealthLoopOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#gather =
      options.gather ?? createGather({ engine: options.engine, random: options.random, metrics: this.#metrics });
    this.#schedule = healthSchedule({
      now: options.now,
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
    this.#stopping.abort(new Error('the health task stops'));
    this.#unsubscribe();
    this.#schedule.stop();
    clearTimeout(this.#timer);
    await this.#working;
  }

  /** Looks at the report, now or, while it is being worked on, right afterwards. */
  #wake(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    // Begun in a microtask, so that a store that tells of a change before its write resolves is not called from within.
    this.#working = Promise.resolve()
      .then(() => this.#step())
      .then(
        (waitMs) => this.#rest(waitMs, false),
        (error: unknown) => {
          if (!this.#stopping.signal.aborted) {
            this.#options.log.error({ err: error }, 'the health task failed; it is tried again');
          }
          this.#rest(this.#backoff(), true);
        },
      );
  }

  #rest(waitMs: number, failed: boolean): void {
    this.#failures = failed ? this.#failures + 1 : 0;
    this.#working = undefined;
    if (this.#stopping.signal.aborted) return;
    const again = this.#again && !failed;
    this.#again = false;
    if (again) this.#wake();
    else if (Number.isFinite(waitMs)) this.#timer = setTimeout(() => this.#wake(), waitMs);
  }

  #backoff(): number {
    const ceiling = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#failures);
    return ceiling * (0.5 + this.#options.random() / 2);
  }

  /** @returns milliseconds until it must look again, Infinity where only a change matters */
  async #step(): Promise<number> {
    if (!this.#options.isLeader()) return Number.POSITIVE_INFINITY;
    const report = this.#options.store.get('ClusterHealthReport', REPORT_NAME) ?? (await this.#createReport());
    if (report === undefined) return RETRY_MIN_MS;
    const waitMs = this.#schedule.waitMs(report);
    const request = requestedRun(report);
    if (request !== undefined || waitMs <= 0) {
      await this.#run(report, request ?? { id: `run-${this.#hex()}`, runAt: observedRunAt(report) });
      return 0;
    }
    // A run of a process that is gone: nobody will ever end it.
    if (runningId(report.status) !== undefined) await this.#writeStatus(withoutRunning);
    return waitMs;
  }

  #hex(): string {
    return Math.floor(this.#options.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
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
    const { log, now } = this.#options;
    const settings = resolveSettings(report.spec, this.#options.configured?.());
    const problems = [...settings.problems, ...this.#schedule.problems(report)];
    this.#schedule.ran();
    await this.#writeStatus((status, generation) =>
      withRunning(status, { id: request.id, checks: [], checksTotal: settings.checks.length }, generation, now()),
    );
    const progress = this.#progressOf(request.id);
    const deadline = AbortSignal.timeout(this.#options.deadlineMs ?? DEADLINE_MS);
    let result: RunResult;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, deadline]);
      result = await runChecks({ gather: this.#gather, settings, signal, now, onProgress: progress.report });
    } catch (error) {
      this.#metrics.run('error');
      throw error;
    } finally {
      // The report is written after the last word on the progress, never before.
      await progress.end();
    }
    this.#stopping.signal.throwIfAborted();
    if (!this.#options.isLeader()) return;
    const { maxFindings } = settings;
    const before = report.status;
    const written = await this.#writeStatus((previous, generation) =>
      buildStatus({ result, previous, generation, runAt: request.runAt, maxFindings, problems, now: now() }),
    );
    const end = runEnd(result, deadline);
    this.#metrics.run(end);
    const { pass, fail } = written.status ?? {};
    log.info({ runId: request.id, result: end, durationMs: result.durationMs, pass, fail }, 'the health checks ran');
    for (const turn of turnedChecks(before, written.status ?? {})) this.#options.events?.(written, turn);
  }

  #progressOf(id: string): ProgressWriter {
    const { now, isLeader, log } = this.#options;
    return new ProgressWriter({
      now: () => now().getTime(),
      write: async (progress) => {
        if (!isLeader()) return;
        await this.#writeStatus((status, generation) => withRunning(status, { id, ...progress }, generation, now()));
      },
      onProblem: (error) => log.warn({ err: error, runId: id }, 'the progress of a health run could not be told'),
    });
  }

  /** Writes the whole status, computed from the object as it is; again where somebody changed it meanwhile. */
  async #writeStatus(
    compute: (
      status: ClusterHealthReportStatus | undefined,
      generation: number | undefined,
    ) => ClusterHealthReportStatus,
  ): Promise<ClusterHealthReport> {
    for (let attempt = 1; ; attempt += 1) {
      const current = this.#options.store.get('ClusterHealthReport', REPORT_NAME);
      if (current === undefined)
        throw new StoreError('not-found', `the ClusterHealthReport \`${REPORT_NAME}\` is gone`);
      const status = compute(current.status, current.metadata.generation);
      try {
        return await this.#options.store.updateStatus(
          'ClusterHealthReport',
          { ...current, status },
          { signal: this.#stopping.signal },
        );
      } catch (error) {
        if (!(error instanceof StoreError && error.code === 'conflict') || attempt === WRITE_ATTEMPTS) throw error;
        // The watch that brings the newer object may be a moment behind the refusal.
        await new Promise((resolve) => {
          setTimeout(resolve, error.retryAfterMs ?? 50 * attempt);
        });
      }
    }
  }
}

function runEnd(result: RunResult, deadline: AbortSignal): RunEnd {
  if (result.unreachable !== undefined) return 'unreachable';
  return deadline.aborted ? 'deadline' : 'success';
}

function runAtOf(report: ClusterHealthReport): string | undefined {
  const value = report.metadata.annotations?.[ANNOTATIONS.runAt]?.slice(0, 128);
  return value === '' ? undefined : value;
}

function observedRunAt(report: ClusterHealthReport): string | undefined {
  return report.status?.observedRunAt;
}

/** The run that the annotation asks for and that was not made yet. */
function requestedRun(report: ClusterHealthReport): RunRequest | undefined {
  const runAt = runAtOf(report);
  return runAt === undefined || runAt === observedRunAt(report) ? undefined : { id: runAt, runAt };
}
