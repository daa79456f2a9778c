import { Backoff, type BackoffOptions } from './backoff.ts';
import { sleep, type Clock } from './clock.ts';

export interface RetryOptions {
  /** Number of attempts in total, at least 1; `Infinity` retries until `signal` aborts. */
  readonly attempts: number;
  readonly backoff: BackoffOptions;
  readonly clock: Pick<Clock, 'random' | 'schedule'>;
  /**
   * Whether another attempt may succeed.
   * @returns the least delay in milliseconds (0, or that of `Retry-After`); undefined for an error that is final
   */
  readonly retryAfterMs: (error: unknown) => number | undefined;
  /** Time left, milliseconds. The error is thrown without a delay when the delay would not end in this time. */
  readonly remainingMs?: () => number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls `work` until it succeeds.
 * @param work gets the number of the attempt, from 1
 * @throws the error of the last attempt; the reason of `signal` when it aborts during a delay
 */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, clock, signal, remainingMs } = options;
  const backoff = new Backoff(clock, options.backoff);
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      const leastMs = attempt < attempts && signal?.aborted !== true ? options.retryAfterMs(error) : undefined;
      if (leastMs === undefined) throw error;
      const delayMs = backoff.next(leastMs);
      if (remainingMs !== undefined && delayMs >= remainingMs()) throw error;
      await sleep(clock, delayMs, signal);
    }
  }
}
