import { backoffDelay } from '../platform/backoff.ts';
import { ExpiringLruCache } from '../platform/lru.ts';

/** Delay of a caller's next forced read after one that did not find the name. */
const BASE_MS = 2_000;
/** Maximum callers with a counter; the least recent one is removed first. */
const MAX_CALLERS = 1_000;

interface Misses {
  readonly count: number;
  readonly nextAt: number;
}

/**
 * Limits how often one caller can cause a read of the table lists by names that do not exist. The delay doubles with each read that does not find the
 * name of the caller. So a caller with many such names does not delay the new tables of others.
 */
export class ForcedReads {
  readonly #now: () => number;
  readonly #maxMs: number;
  readonly #misses: ExpiringLruCache<string, Misses>;

  /**
   * @param now monotonic clock in milliseconds
   * @param maxMs maximum delay. After it the lists are read anyway
   */
  constructor(now: () => number, maxMs: number) {
    this.#now = now;
    this.#maxMs = maxMs;
    this.#misses = new ExpiringLruCache({ monotonic: now }, MAX_CALLERS);
  }

  /** Whether the caller may force a read now. */
  allows(caller: string): boolean {
    const { nextAt = -Infinity } = this.#misses.get(caller) ?? {};
    return this.#now() >= nextAt;
  }

  /** Counts a read that the caller forced. @param found whether it found the names */
  note(caller: string, found: boolean): void {
    if (found) {
      this.#misses.delete(caller);
      return;
    }
    const count = this.#misses.get(caller)?.count ?? 0;
    const delay = backoffDelay(count, { baseMs: BASE_MS, maxMs: this.#maxMs, jitter: 'none' }, { random: () => 0 });
    this.#misses.set(caller, { count: count + 1, nextAt: this.#now() + delay }, delay + this.#maxMs);
  }
}
