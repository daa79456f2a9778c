import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import type { Retention } from './retention.ts';

/** Interval between two runs, milliseconds. */
export const RETENTION_PERIOD_MS = 30_000;
const RUN_TIMEOUT_MS = 120_000;

/**
 * Runs the retention periodically, which also updates the usage metrics.
 * @returns a function that stops it and waits for the current run
 */
export function startRetention(
  retention: Retention,
  clock: Clock,
  onProblem: (error: unknown) => void,
): () => Promise<void> {
  const run = async (signal: AbortSignal): Promise<void> => {
    const deadline = new Deadline(clock, RUN_TIMEOUT_MS, signal);
    try {
      await retention.run(deadline.signal);
    } finally {
      deadline.clear();
    }
  };
  return runPeriodically(run, { clock, intervalMs: RETENTION_PERIOD_MS, onError: onProblem });
}
