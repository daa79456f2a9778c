import type { Clock } from './clock.ts';

export interface BackoffOptions {
  /** Upper limit of the first delay, milliseconds. It doubles with every failure. */
  readonly baseMs: number;
  /** Upper limit of every delay, milliseconds. */
  readonly maxMs: number;
  /** Lower limit of every delay, milliseconds; 0 by default. */
  readonly minMs?: number;
  /**
   * How much of the delay is random: `full` (0 to the limit, the default), `half` (half the limit to the limit) or `none`.
   * Jitter keeps many clients from retrying at the same time.
   */
  readonly jitter?: 'full' | 'half' | 'none';
}

const RANDOM_SHARE = { full: 1, half: 0.5, none: 0 } as const;

/** 2 ** 30 exceeds every limit; a larger exponent would overflow for a server that is down for weeks. */
const MAX_EXPONENT = 30;

/**
 * The delay after a number of failures.
 * @param failures consecutive failures before this one, 0 for the first
 * @returns milliseconds
 */
export function backoffDelay(failures: number, options: BackoffOptions, clock: Pick<Clock, 'random'>): number {
  const { baseMs, maxMs, minMs = 0, jitter = 'full' } = options;
  const limit = Math.min(maxMs, baseMs * 2 ** Math.min(failures, MAX_EXPONENT));
  const random = RANDOM_SHARE[jitter];
  return Math.max(minMs, limit * (1 - random + random * clock.random()));
}

/** Exponential backoff with a failure count. */
export class Backoff {
  readonly #clock: Pick<Clock, 'random'>;
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(clock: Pick<Clock, 'random'>, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * Counts a failure.
   * @param leastMs delay that the server requested by `Retry-After`; the backoff is added to it
   * @param maxMs upper limit of this delay, in place of the configured one
   * @returns milliseconds to wait
   */
  next(leastMs = 0, maxMs = this.#options.maxMs): number {
    const delay = backoffDelay(this.#failures, { ...this.#options, maxMs }, this.#clock);
    this.#failures++;
    return leastMs + delay;
  }

  reset(): void {
    this.#failures = 0;
  }
}
