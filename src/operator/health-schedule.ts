import { scheduleJob, type Job } from 'node-schedule';
import { DEFAULT_INTERVAL_MS, parseInterval } from '../health/settings.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';

export interface HealthScheduleOptions {
  readonly now: () => Date;
  readonly firstRunDelayMs: number;
  /** Called when a cron expression is due. */
  readonly wake: () => void;
}

/** When the periodic runs are due: at a fixed interval or by a cron expression in UTC, and once soon after the start. */
export interface HealthSchedule {
  start(): void;
  stop(): void;
  /** Milliseconds until the next periodic run, 0 or less where it is due, Infinity where only an event can make it due. */
  waitMs(report: ClusterHealthReport): number;
  /** A run begins now. */
  ran(): void;
  /** What is wrong with the spec's times, for people. */
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
    this.#startedAt = this.#options.now().getTime();
  }

  stop(): void {
    this.#follow(undefined);
  }

  waitMs({ spec }: ClusterHealthReport): number {
    this.#follow(spec.suspend === true ? undefined : spec.schedule);
    if (spec.suspend === true) return Number.POSITIVE_INFINITY;
    const now = this.#options.now().getTime();
    // Soon after each start, whatever the last report says: the process that wrote it may have been gone for long.
    if (this.#lastRunAt === undefined) return this.#startedAt + this.#options.firstRunDelayMs - now;
    if (this.#job !== undefined) return this.#cronDue ? 0 : Number.POSITIVE_INFINITY;
    return this.#lastRunAt + intervalMs(spec.interval) - now;
  }

  ran(): void {
    this.#lastRunAt = this.#options.now().getTime();
    this.#cronDue = false;
  }

  problems({ spec }: ClusterHealthReport): readonly string[] {
    const problems: string[] = [];
    if (spec.interval !== undefined && parseInterval(spec.interval) === undefined) {
      problems.push(`spec.interval: \`${spec.interval}\` is no time between 1s and 24d, such as \`20m\` or \`1h30m\``);
    }
    if (spec.schedule !== undefined && this.#job === undefined && spec.suspend !== true) {
      problems.push(
        `spec.schedule: \`${spec.schedule}\` is no cron expression of five or six fields, such as \`*/20 * * * *\``,
      );
    }
    return problems;
  }

  #follow(expression: string | undefined): void {
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

/** @returns undefined where the expression can never be due or is none */
function cronJob(expression: string, callback: () => void): Job | undefined {
  // The library also takes dates; here only cron expressions are meant.
  if (expression.trim().split(/\s+/u).length < 5) return undefined;
  const job = scheduleJob({ rule: expression, tz: 'Etc/UTC' }, callback) as Job | null;
  return job ?? undefined;
}
