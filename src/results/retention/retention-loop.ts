import { repeat, type Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { Retention } from './retention.ts';

/** Interval between two runs, milliseconds. */
export const RETENTION_PERIOD_MS = 30_000;
const RUN_TIMEOUT_MS = 120_000;

/** Runs the retention periodically, which also updates the usage metrics. @returns a function that stops it */
export function startRetention(retention: Retention, clock: Clock, onProblem: (error: unknown) => void): () => void {
  const controller = new AbortController();
  const run = async (): Promise<void> => {
    const deadline = new Deadline(clock, RUN_TIMEOUT_MS, controller.signal);
    try {
      await retention.run(deadline.signal);
    } catch (error) {
      if (!controller.signal.aborted) onProblem(error);
    } finally {
      deadline.clear();
    }
  };
  const stop = repeat(clock, RETENTION_PERIOD_MS, () => void run());
  return () => {
    stop();
    controller.abort();
  };
}
