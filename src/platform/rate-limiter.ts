import type { MonotonicClock } from './clock.ts';
import { LruCache } from './lru.ts';

export interface TokenRate {
  /** Calls of one key that are admitted at once. */
  readonly burst: number;
  /** Milliseconds after which one further call of the key is admitted. */
  readonly intervalMs: number;
}

interface Bucket {
  tokens: number;
  /** Monotonic time of `tokens`. */
  at: number;
}

/** A token bucket for each key. */
export class TokenBuckets {
  readonly #clock: MonotonicClock;
  readonly #buckets: LruCache<string, Bucket>;

  /** @param maxKeys keys with a bucket; beyond them the least recently used one starts again with a full burst */
  constructor(clock: MonotonicClock, maxKeys: number) {
    this.#clock = clock;
    this.#buckets = new LruCache({ maxWeight: maxKeys });
  }

  /** Takes tokens. @param rate of the key now @returns 0 if there were so many, otherwise the milliseconds until there are */
  take(key: string, rate: TokenRate, count = 1): number {
    const wait = this.wait(key, rate, count);
    if (wait === 0) this.charge(key, rate, count);
    return wait;
  }

  /** Milliseconds until the key has so many tokens; 0 if it has them now. */
  wait(key: string, rate: TokenRate, count: number): number {
    const { tokens } = this.#bucketOf(key, rate);
    return tokens < count ? (count - tokens) * rate.intervalMs : 0;
  }

  /** Takes tokens also where there are fewer: the key then waits for longer. */
  charge(key: string, rate: TokenRate, count: number): void {
    this.#bucketOf(key, rate).tokens -= count;
  }

  #bucketOf(key: string, { burst, intervalMs }: TokenRate): Bucket {
    const now = this.#clock.monotonic();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = { tokens: burst, at: now }));
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / intervalMs);
    bucket.at = now;
    return bucket;
  }
}

export interface RateLimiterOptions extends TokenRate {
  readonly maxKeys: number;
}

/** Limits what one cause repeats many times, such as log lines and Events, and counts what is left out. */
export class RateLimiter {
  readonly #rate: TokenRate;
  readonly #buckets: TokenBuckets;
  /** Refused calls since the last admitted one. */
  readonly #refused: LruCache<string, number>;

  constructor(clock: MonotonicClock, options: RateLimiterOptions) {
    this.#rate = options;
    this.#buckets = new TokenBuckets(clock, options.maxKeys);
    this.#refused = new LruCache({ maxWeight: options.maxKeys });
  }

  /** @returns undefined if the call is refused, otherwise the number of refused calls of the key since the last admitted one */
  admit(key: string): number | undefined {
    const refused = this.#refused.get(key) ?? 0;
    const isAdmitted = this.#buckets.take(key, this.#rate) === 0;
    this.#refused.set(key, isAdmitted ? 0 : refused + 1);
    return isAdmitted ? refused : undefined;
  }
}

/** For log lines about failures that many objects can have at once: three lines, then one a minute, with the number of those left out. */
export const LOG_LIMITS: RateLimiterOptions = { burst: 3, intervalMs: 60_000, maxKeys: 256 };
