/** Time and randomness. Passed in everywhere, so that tests need not wait. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. For times that are stored, shown or compared with such times; it may jump. */
  now(): number;
  /** Monotonic clock, milliseconds. For durations, time-outs and ages within one process. */
  monotonic(): number;
  /** A random number, 0 ≤ x < 1. Not for secrets. */
  random(): number;
  /** Calls `callback` once after `ms` milliseconds. Returns a function that cancels the call. */
  schedule(callback: () => void, ms: number): () => void;
}

/** For code that only compares times with stored ones. */
export type WallClock = Pick<Clock, 'now'>;
/** For code that only measures durations. */
export type MonotonicClock = Pick<Clock, 'monotonic'>;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  schedule: (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves after `ms` milliseconds. Rejects with the signal's reason as soon as the signal aborts. Removes its timer and its listener
 * in both cases.
 */
export async function sleep(
  clock: Pick<Clock, 'schedule'>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.schedule(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
