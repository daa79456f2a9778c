import type { StoreClock } from '../clock.ts';

export interface BackoffOptions {
  readonly minMs: number;
  readonly maxMs: number;
}

/** client-go's reflector: 0.8 s, doubled up to 30 s. */
export const REFLECTOR_BACKOFF: BackoffOptions = { minMs: 800, maxMs: 30_000 };

/** Even the luckiest throw of the dice leaves the server this long to breathe. */
const FLOOR_MS = 50;

/** Exponential backoff with full jitter: the wait is anywhere between nothing and the limit, so that many clients do not come back at once. */
export class Backoff {
  readonly #clock: StoreClock;
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(clock: StoreClock, options: BackoffOptions = REFLECTOR_BACKOFF) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Milliseconds to wait after one more failure. @param leastMs what the server asked for by `Retry-After`; the jitter comes on top */
  next(leastMs = 0, maxMs = this.#options.maxMs): number {
    // 2 ** 30 is above any limit; more would overflow for a server that is away for weeks.
    const limit = Math.min(maxMs, this.#options.minMs * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    return leastMs + Math.max(FLOOR_MS, this.#clock.random() * limit);
  }

  reset(): void {
    this.#failures = 0;
  }
}
