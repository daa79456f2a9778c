import type { ClusterHealthReportStatus } from '../../resources/health-status.ts';
import { isMuted } from '../report/mutes.ts';
import type { RunResult } from './run.ts';

/** The checks to repeat before the next run of all checks. */
export interface Recheck {
  readonly checks: ReadonlySet<string>;
  /** Milliseconds since the epoch; Infinity without such checks. */
  readonly at: number;
}

export const NO_RECHECK: Recheck = { checks: new Set(), at: Number.POSITIVE_INFINITY };

/** A new fault is confirmed before its alert fires, which waits for one minute. */
const CONFIRM_MS = 10_000;
export const RECHECK_MS = 60_000;
/** The repetitions take at most a fifth of the time, also on a large cluster. */
const PAUSE_PER_DURATION = 4;

/**
 * The critical checks that fail after a run and are not muted: they are repeated after ten seconds if one of them is new, and each minute while
 * they fail.
 * @param now end of the run, milliseconds since the epoch
 */
export function recheckAfter(
  status: ClusterHealthReportStatus | undefined,
  { startedAt, durationMs }: Pick<RunResult, 'startedAt' | 'durationMs'>,
  now: number,
): Recheck {
  const failing = (status?.checks ?? []).filter(
    (check) =>
      check.status === 'FAIL' && check.severity === 'critical' && check.couldNotEvaluate !== true && !isMuted(check),
  );
  if (failing.length === 0) return NO_RECHECK;
  const isNew = failing.some(({ since }) => since === startedAt.toISOString());
  const pauseMs = Math.max(isNew ? CONFIRM_MS : RECHECK_MS, durationMs * PAUSE_PER_DURATION);
  return { checks: new Set(failing.map(({ name }) => name)), at: now + pauseMs };
}
