/** Time and chance as the stores see them; handed in, so that tests do not have to wait. */
export interface StoreClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** 0 ≤ x < 1. */
  random(): number;
  /** Calls `callback` once after `ms` milliseconds. Returns a function that calls it off. */
  schedule(callback: () => void, ms: number): () => void;
}

export const systemClock: StoreClock = {
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. Leaves neither timer nor listener behind. */
export async function sleep(clock: StoreClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
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
