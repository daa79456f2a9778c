import type { Clock } from './clock.ts';

export interface PeriodicOptions {
  readonly clock: Pick<Clock, 'schedule'>;
  /** Time between the end of a call and the start of the next one, milliseconds. */
  readonly intervalMs: number;
  /** Called with the error of a call that rejects. The calls continue. */
  readonly onError: (error: unknown) => void;
}

/**
 * Calls `work` periodically, first after `intervalMs`. Calls do not overlap.
 * @param work gets a signal that aborts when the calls are stopped
 * @returns a function that stops the calls and waits for the current one
 */
export function runPeriodically(
  work: (signal: AbortSignal) => Promise<void>,
  { clock, intervalMs, onError }: PeriodicOptions,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current: Promise<void> | undefined;
  const call = async (): Promise<void> => {
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) onError(error);
    } finally {
      // Also where `onError` throws.
      current = undefined;
      if (!signal.aborted) scheduleNext();
    }
  };
  let cancel = (): void => undefined;
  const scheduleNext = (): void => {
    cancel = clock.schedule(() => {
      current = call();
    }, intervalMs);
  };
  scheduleNext();
  return async () => {
    cancel();
    stopping.abort(new Error('stopped'));
    await current;
  };
}
