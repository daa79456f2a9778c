import type { Clock } from '../../../src/platform/clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that only moves when a test says so. The wall clock and the monotonic one have different origins. */
export class FakeClock implements Clock {
  chance = 0.5;
  readonly delays: number[] = [];
  readonly #timers = new Set<Timer>();
  #elapsed = 0;

  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return 1_800_000_000_000 + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return this.chance;
  }

  schedule(callback: () => void, ms: number): () => void {
    this.delays.push(ms);
    const timer = { at: this.#elapsed + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves both clocks, and calls what is due, in order. Lets promises settle before and after each call. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (;;) {
      await new Promise(setImmediate);
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#elapsed = next.at;
      this.#timers.delete(next);
      next.callback();
    }
    this.#elapsed = end;
  }
}
