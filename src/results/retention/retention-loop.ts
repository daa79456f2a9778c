import type { Retention } from './retention.ts';

/** Injected timers. */
export interface RetentionTimers {
  /** @returns a function that stops the timer */
  every(ms: number, call: () => void): () => void;
}

export const systemTimers: RetentionTimers = {
  every(ms, call) {
    const timer = setInterval(call, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

const PERIOD_MS = 30_000;
const RUN_TIMEOUT_MS = 120_000;

/** Runs the retention every 30 s, which also updates the usage metrics. @returns a function that stops it */
export function startRetention(
  retention: Retention,
  timers: RetentionTimers,
  onProblem: (error: unknown) => void,
): () => void {
  const controller = new AbortController();
  const stop = timers.every(PERIOD_MS, () => {
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(RUN_TIMEOUT_MS)]);
    retention.run(signal).catch((error: unknown) => {
      if (!controller.signal.aborted) onProblem(error);
    });
  });
  return () => {
    stop();
    controller.abort();
  };
}
