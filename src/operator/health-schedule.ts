import { scheduleJob, type Job } from 'node-schedule';
import { DEFAULT_INTERVAL_MS, parseInterval } from '../health/settings.ts';
import type { WallClock } from '../platform/clock.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';

export interface HealthScheduleOptions {
  readonly clock: WallClock;
  readonly firstRunDelayMs: number;
  /** Called when a cron expression is due. */
  readonly wake: () => void;
}

/** Schedules the periodic runs: at a fixed interval or by a cron expression in UTC, and once soon after the start. */
export interface HealthSchedule {
  start(): void;
  stop(): void;
  /** Milliseconds until the next periodic run; 0 or less if it is due, Infinity if only an event can make it due. */
  waitMs(report: ClusterHealthReport): number;
  /** Call when a run starts. */
  runStarted(): void;
  /** Messages about an invalid interval or schedule. */
  problems(report: ClusterHealthReport): readonly string[];
}

export function healthSchedule(options: HealthScheduleOptions): HealthSchedule {
  return new Schedule(options);
}

class Schedule implements HealthSchedule {
  readonly #options: HealthScheduleOptions;
  #startedAt = 0;
  #lastRunAt: number | undefined;
  #expression: string | undefined;
  #job: Job | undefined;
  #cronDue = false;

  constructor(options: HealthScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#startedAt = this.#options.clock.now();
  }

  stop(): void {
    this.#setExpression(undefined);
  }

  waitMs({ spec }: ClusterHealthReport): number {
    this.#setExpression(spec.suspend === true ? undefined : spec.schedule);
    if (spec.suspend === true) return Number.POSITIVE_INFINITY;
    const now = this.#options.clock.now();
    // Soon after each start, because the last report may be old.
    if (this.#lastRunAt === undefined) return this.#startedAt + this.#options.firstRunDelayMs - now;
    if (this.#job !== undefined) return this.#cronDue ? 0 : Number.POSITIVE_INFINITY;
    return this.#lastRunAt + intervalMs(spec.interval) - now;
  }

  runStarted(): void {
    this.#lastRunAt = this.#options.clock.now();
    this.#cronDue = false;
  }

  problems({ spec }: ClusterHealthReport): readonly string[] {
    const problems: string[] = [];
    if (spec.interval !== undefined && parseInterval(spec.interval) === undefined) {
      problems.push(
        `spec.interval: \`${spec.interval}\` is not a duration between 1s and 24d, such as \`20m\` or \`1h30m\``,
      );
    }
    if (spec.schedule !== undefined && this.#job === undefined && spec.suspend !== true) {
      problems.push(
        `spec.schedule: \`${spec.schedule}\` is not a cron expression of five or six fields, such as \`*/20 * * * *\``,
      );
    }
    return problems;
  }

  #setExpression(expression: string | undefined): void {
    if (expression === this.#expression) return;
    this.#job?.cancel();
    this.#expression = expression;
    this.#cronDue = false;
    this.#job = expression === undefined ? undefined : cronJob(expression, () => this.#due());
  }

  #due(): void {
    this.#cronDue = true;
    this.#options.wake();
  }
}

function intervalMs(interval: string | undefined): number {
  return (interval === undefined ? undefined : parseInterval(interval)) ?? DEFAULT_INTERVAL_MS;
}

/** @returns undefined if the expression is invalid or never due */
function cronJob(expression: string, callback: () => void): Job | undefined {
  // The library also accepts dates.
  if (expression.trim().split(/\s+/u).length < 5) return undefined;
  const job = scheduleJob({ rule: expression, tz: 'Etc/UTC' }, callback) as Job | null;
  return job ?? undefined;
}
