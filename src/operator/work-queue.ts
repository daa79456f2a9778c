import type { OperatorClock } from './clock.ts';
import type { QueueMetrics } from './metrics.ts';

/** Delays of client-go's default controller rate limiter. */
export const BASE_DELAY_MS = 5;
export const MAX_DELAY_MS = 1_000_000;

/**
 * Keys to work on, with the manners of client-go's workqueue: a key is in work at most once at a time; one that is added meanwhile is handed out
 * again afterwards; however often it is added, it waits once.
 *
 * INVARIANT: a key of `#dirty` is either in `#waiting` (to be handed out) or in `#processing` (to be handed out again when done).
 */
export class WorkQueue {
  readonly #clock: OperatorClock;
  readonly #metrics: QueueMetrics;
  readonly #waiting: string[] = [];
  readonly #dirty = new Set<string>();
  /** Key → when its work began. */
  readonly #processing = new Map<string, number>();
  readonly #addedAt = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** Key → the timer that adds it, and when. */
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #drained: (() => void)[] = [];
  #shuttingDown = false;

  constructor(clock: OperatorClock, metrics: QueueMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
    metrics.watch(() => this.#state());
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(key: string): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#metrics.added();
    this.#dirty.add(key);
    this.#addedAt.set(key, this.#clock.monotonic());
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /** Adds the key after `ms` milliseconds, or earlier if it is already due earlier. */
  addAfter(key: string, ms: number): void {
    if (this.#shuttingDown) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.monotonic() + ms;
    const pending = this.#delayed.get(key);
    if (pending && pending.at <= at) return;
    pending?.cancel();
    this.#delayed.set(key, { at, cancel: this.#wake(key, at) });
  }

  /**
   * Adds the key after 5 ms · 2ⁿ, at most 1000 s, where n counts the calls for this key since forget().
   * @param atLeastMs a longer wait that somebody asked for, as by `Retry-After`
   */
  addRateLimited(key: string, atLeastMs = 0): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    // 2 ** 18 × 5 ms is above the limit already; a larger exponent would only risk Infinity.
    const backoffMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** Math.min(failures, 18));
    this.addAfter(key, Math.max(backoffMs, atLeastMs));
  }

  /** The key did well: its next failure waits the shortest time again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key was added by addRateLimited() since forget(). */
  requeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, as soon as there is one; undefined when the queue has been shut down. Call done() when its work has ended. */
  async get(): Promise<string | undefined> {
    const key = this.#waiting.shift();
    if (key !== undefined) return this.#take(key);
    if (this.#shuttingDown) return undefined;
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    const began = this.#processing.get(key);
    if (began === undefined) return;
    this.#processing.delete(key);
    this.#metrics.finished((this.#clock.monotonic() - began) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
    this.#tellDrained();
  }

  /** Hands out no key any more and takes none. Resolves when all work under way is done. */
  async shutDown(): Promise<void> {
    this.#shuttingDown = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#waiting.length = 0;
    this.#dirty.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
    if (this.#processing.size === 0) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  #enqueue(key: string): void {
    const taker = this.#takers.shift();
    if (taker) taker(this.#take(key));
    else this.#waiting.push(key);
  }

  #take(key: string): string {
    const now = this.#clock.monotonic();
    this.#dirty.delete(key);
    this.#processing.set(key, now);
    this.#metrics.taken((now - (this.#addedAt.get(key) ?? now)) / 1000);
    this.#addedAt.delete(key);
    return key;
  }

  /** Node's timers hold 2³¹ ms at most (24.8 days); a longer wait, such as for a token's expiry, is walked in steps. */
  #wake(key: string, at: number): () => void {
    const ms = Math.min(at - this.#clock.monotonic(), 2 ** 31 - 1);
    return this.#clock.schedule(() => {
      if (this.#clock.monotonic() < at - 1) {
        this.#delayed.set(key, { at, cancel: this.#wake(key, at) });
        return;
      }
      this.#delayed.delete(key);
      this.add(key);
    }, ms);
  }

  #tellDrained(): void {
    if (this.#processing.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #state(): { depth: number; unfinishedSeconds: number; longestSeconds: number } {
    const now = this.#clock.monotonic();
    const seconds = [...this.#processing.values()].map((began) => (now - began) / 1000);
    return {
      depth: this.#waiting.length,
      unfinishedSeconds: seconds.reduce((sum, value) => sum + value, 0),
      longestSeconds: seconds.reduce((longest, value) => Math.max(longest, value), 0),
    };
  }
}
