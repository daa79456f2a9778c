import cronParser from 'cron-parser';
import { formatDuration } from '../../platform/duration.ts';
import { LruCache } from '../../platform/lru.ts';
import type { ClusterHealthReportSpec } from '../../resources/cluster-health-report.ts';
import { DEFAULT_INTERVAL_MS, parseInterval } from '../settings.ts';

type ScheduleTiming = Pick<ClusterHealthReportSpec, 'interval' | 'schedule'>;

/** February 29 is absent for up to eight years, as from 2096 to 2104. Without an end, an expression that is never due takes half a second. */
const LONGEST_GAP_MS = 9 * 366 * 24 * 3_600_000;
const evaluated = new LruCache<string, number>({ maxWeight: 64 });
/** Expressions that are never due, at whatever time this is asked: each reconciliation asks again. */
const neverDue = new LruCache<string, true>({ maxWeight: 64 });

/**
 * When the next periodic run after a time is due. An invalid interval or schedule counts as the default interval.
 * @param since milliseconds since the epoch
 * @returns milliseconds since the epoch
 */
export function nextRunAt(spec: ScheduleTiming, since: number): number {
  const byCron = spec.schedule === undefined ? undefined : nextCronTime(spec.schedule, since);
  return byCron ?? since + intervalMs(spec.interval);
}

/** Delays of the next runs after runs that could not read the cluster; then only the schedule applies. */
const UNREAD_RETRY_MS = [30_000, 60_000, 120_000, 300_000];

/**
 * When a run that could not read the cluster is repeated.
 * @param runs such runs in a row @param endedAt end of the last of them, milliseconds since the epoch
 * @returns milliseconds since the epoch; Infinity if only the schedule applies
 */
export function unreadRetryAt(runs: number, endedAt: number): number {
  return endedAt + (UNREAD_RETRY_MS[runs - 1] ?? Number.POSITIVE_INFINITY);
}

/** Messages about an invalid interval or schedule. @param now milliseconds since the epoch */
export function timingProblems({ interval, schedule }: ScheduleTiming, now: number): readonly string[] {
  const problems: string[] = [];
  if (interval !== undefined && parseInterval(interval) === undefined) {
    problems.push(`spec.interval: \`${interval}\` is not a duration between 1m and 24d, such as \`20m\` or \`1h30m\``);
  }
  if (schedule !== undefined && nextCronTime(schedule, now) === undefined) {
    problems.push(
      `spec.schedule: \`${schedule}\` is not a cron expression of five fields, such as \`*/20 * * * *\`, or of six with a number of seconds first, that is due at some time`,
    );
  }
  return problems;
}

/** The schedule in words, for a message: `every 20m`. */
export function describeTiming({ interval, schedule }: ScheduleTiming): string {
  return schedule === undefined ? `every ${formatDuration(intervalMs(interval))}` : `by the schedule \`${schedule}\``;
}

function intervalMs(interval: string | undefined): number {
  return (interval === undefined ? undefined : parseInterval(interval)) ?? DEFAULT_INTERVAL_MS;
}

/** @returns milliseconds since the epoch; undefined if the expression is invalid, never due, or due more than once a minute */
function nextCronTime(expression: string, since: number): number | undefined {
  if (neverDue.get(expression)) return undefined;
  const key = `${since} ${expression}`;
  const known = evaluated.get(key);
  if (known !== undefined) return known;
  const at = evaluate(expression, since);
  if (at === undefined) neverDue.set(expression, true);
  else evaluated.set(key, at);
  return at;
}

function evaluate(expression: string, since: number): number | undefined {
  const fields = expression.trim().split(/\s+/u);
  if (fields.length !== 5 && fields.length !== 6) return undefined;
  // Otherwise the first field would allow several runs in a minute.
  if (fields.length === 6 && !/^[0-9]+$/u.test(fields[0] ?? '')) return undefined;
  try {
    return cronParser
      .parseExpression(expression, {
        utc: true,
        currentDate: new Date(since),
        endDate: new Date(since + LONGEST_GAP_MS),
      })
      .next()
      .getTime();
  } catch {
    return undefined;
  }
}
