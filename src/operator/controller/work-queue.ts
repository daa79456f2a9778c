import { backoffDelay, type BackoffOptions } from '../../platform/backoff.ts';
import type { Clock } from '../../platform/clock.ts';
import type { WorkQueueMetrics, WorkQueueState } from '../metrics.ts';

/** Failures in a row after which a key counts as failing; the backoff then is five seconds. Conflicts and short outages have fewer. */
const FAILING_AFTER = 10;

/** The delays of client-go's default controller rate limiter. */
const BACKOFF: BackoffOptions = { baseMs: 5, maxMs: 1_000_000, jitter: 'none' };

/**
 * A queue of keys, as client-go's workqueue: a key is in progress at most once; a key that is added while it is in progress is queued again when
 * its work is done; a key that is added several times is queued once.
 *
 * INVARIANT: a key in `#dirty` is either in `#waiting`, or in `#processing` and will be queued again by done().
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #metrics: WorkQueueMetrics;
  readonly #backoff: BackoffOptions;
  readonly #waiting: string[] = [];
  readonly #dirty = new Set<string>();
  /** Start of the work, monotonic, by key. */
  readonly #processing = new Map<string, number>();
  readonly #addedAt = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** Timer that adds the key, and its time, by key. */
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #waiters: ((key: string | undefined) => void)[] = [];
  readonly #drained: (() => void)[] = [];
  #shuttingDown = false;

  /** @param maxBackoffMs longest delay of addRateLimited() */
  constructor(clock: Clock, metrics: WorkQueueMetrics, maxBackoffMs = BACKOFF.maxMs) {
    this.#backoff = { ...BACKOFF, maxMs: maxBackoffMs };
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

  /** Adds the key after `ms` milliseconds, or earlier if it is delayed to an earlier time already. */
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
    this.#delayed.set(key, { at, cancel: this.#scheduleAdd(key, at) });
  }

  /**
   * Adds the key after 5 ms · 2ⁿ, at most `maxBackoffMs` (1000 s), where n counts the calls for this key since forget().
   * @param atLeastMs minimum delay, such as from `Retry-After`
   */
  addRateLimited(key: string, atLeastMs = 0): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    this.addAfter(key, Math.max(backoffDelay(failures, this.#backoff, this.#clock), atLeastMs));
  }

  /** Resets the backoff of the key, after a success. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Number of calls of addRateLimited() for the key since forget(). */
  requeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Waits for the next key; undefined after shutDown(). Call done() when the work on it has ended. */
  async get(): Promise<string | undefined> {
    const key = this.#waiting.shift();
    if (key !== undefined) return this.#take(key);
    if (this.#shuttingDown) return undefined;
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  done(key: string): void {
    const startedAt = this.#processing.get(key);
    if (startedAt === undefined) return;
    this.#processing.delete(key);
    this.#metrics.finished((this.#clock.monotonic() - startedAt) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
    this.#resolveDrained();
  }

  /** Drops all keys and accepts no further ones. Resolves when the work in progress is done. */
  async shutDown(): Promise<void> {
    this.#shuttingDown = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#waiting.length = 0;
    this.#dirty.clear();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
    if (this.#processing.size === 0) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  #enqueue(key: string): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter(this.#take(key));
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

  /** Schedules the key. Timers have at most 2³¹ − 1 ms (24.8 days), so longer delays, such as for the expiry of a token, take several. */
  #scheduleAdd(key: string, at: number): () => void {
    const ms = Math.min(at - this.#clock.monotonic(), 2 ** 31 - 1);
    return this.#clock.schedule(() => {
      if (this.#clock.monotonic() < at - 1) {
        this.#delayed.set(key, { at, cancel: this.#scheduleAdd(key, at) });
        return;
      }
      this.#delayed.delete(key);
      this.add(key);
    }, ms);
  }

  #resolveDrained(): void {
    if (this.#processing.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #state(): WorkQueueState {
    const now = this.#clock.monotonic();
    const seconds = [...this.#processing.values()].map((startedAt) => (now - startedAt) / 1000);
    return {
      depth: this.#waiting.length,
      failing: [...this.#failures.values()].filter((failures) => failures >= FAILING_AFTER).length,
      unfinishedSeconds: seconds.reduce((sum, value) => sum + value, 0),
      longestSeconds: seconds.reduce((longest, value) => Math.max(longest, value), 0),
    };
  }
}
