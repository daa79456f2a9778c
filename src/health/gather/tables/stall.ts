import { sleep, type Clock } from '../../../platform/clock.ts';

/** Detects that work has made no progress for some time. */
export class Stall {
  /** Resolves when there was no progress for `ms` milliseconds; never after `signal` aborts. */
  readonly stalled: Promise<void>;
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  #progressAt: number;

  constructor(clock: Pick<Clock, 'monotonic' | 'schedule'>, ms: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#progressAt = clock.monotonic();
    const never = new Promise<void>(() => undefined);
    this.stalled = this.#wait(ms, signal).catch(() => never);
  }

  progress(): void {
    this.#progressAt = this.#clock.monotonic();
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const restMs = this.#progressAt + ms - this.#clock.monotonic();
      if (restMs <= 0) return;
      await sleep(this.#clock, restMs, signal);
    }
  }
}
