import type { MonotonicClock } from './clock.ts';
import { LruCache } from './lru.ts';

export interface RateLimiterOptions {
  /** Calls of one key that are admitted at once. */
  readonly burst: number;
  /** Milliseconds after which one further call of the key is admitted. */
  readonly intervalMs: number;
  /** Keys with a counter; beyond them the least recently used one starts again with a full burst. */
  readonly maxKeys: number;
}

interface Bucket {
  tokens: number;
  /** Monotonic time of `tokens`. */
  at: number;
  refused: number;
}

/** A token bucket for each key, such as for log lines and Events that one cause repeats many times. */
export class RateLimiter {
  readonly #clock: MonotonicClock;
  readonly #options: RateLimiterOptions;
  readonly #buckets: LruCache<string, Bucket>;

  constructor(clock: MonotonicClock, options: RateLimiterOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#buckets = new LruCache({ maxWeight: options.maxKeys });
  }

  /** @returns undefined if the call is refused, otherwise the number of refused calls of the key since the last admitted one */
  admit(key: string): number | undefined {
    const { burst, intervalMs } = this.#options;
    const now = this.#clock.monotonic();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = { tokens: burst, at: now, refused: 0 }));
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / intervalMs);
    bucket.at = now;
    if (bucket.tokens < 1) {
      bucket.refused++;
      return undefined;
    }
    bucket.tokens--;
    const { refused } = bucket;
    bucket.refused = 0;
    return refused;
  }
}

/** For log lines about failures that many objects can have at once: three lines, then one a minute, with the number of those left out. */
export const LOG_LIMITS: RateLimiterOptions = { burst: 3, intervalMs: 60_000, maxKeys: 256 };
