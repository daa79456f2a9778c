import type { Clock } from '../../src/platform/clock.ts';

interface Timer {
  readonly at: number;
  /** The delay that was scheduled, milliseconds. */
  readonly ms: number;
  readonly callback: () => void;
}

/** Runs all pending microtasks and immediates. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock that only a test advances. The wall clock and the monotonic one have different origins. */
export class FakeClock implements Clock {
  /** The next random numbers. */
  chance = 0.5;
  /** All delays that were scheduled, milliseconds. */
  readonly delays: number[] = [];
  readonly #timers = new Set<Timer>();
  readonly #startedAt: number;
  #elapsed = 0;
  #stepped = 0;

  constructor(startAt = '2026-01-01T00:00:00Z') {
    this.#startedAt = Date.parse(startAt);
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Whether a timer of this delay is pending. */
  isPending(ms: number): boolean {
    return [...this.#timers].some((timer) => timer.ms === ms);
  }

  now(): number {
    return this.#startedAt + this.#elapsed + this.#stepped;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return this.chance;
  }

  schedule(callback: () => void, ms: number): () => void {
    this.delays.push(ms);
    const timer = { at: this.#elapsed + ms, ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Sets the wall clock forward, or back. Neither the monotonic clock nor timers notice. */
  step(ms: number): void {
    this.#stepped += ms;
  }

  /** Advances both clocks without calling timers, as for a process that was stopped and continued. */
  jump(ms: number): void {
    this.#elapsed += ms;
  }

  /** Advances both clocks and calls each timer at its time. Lets promises settle before and after each call. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (;;) {
      await settle();
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.callback();
    }
    this.#elapsed = end;
    await settle();
  }
}
