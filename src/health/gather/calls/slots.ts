import type { Clock } from '../../../platform/clock.ts';

/** A call that takes longer gives its slot to others, so that slow calls delay only calls of their own kind. */
const SLOW_MS = 1_000;

interface WaitingCall {
  readonly priority: number;
  readonly start: () => void;
}

/**
 * Limits the calls that are started at once. A slow call does not keep its slot; the number of slow calls is limited by the lanes
 * of their callers.
 */
export class Slots {
  readonly #clock: Pick<Clock, 'schedule'>;
  readonly #waiting: WaitingCall[] = [];
  #free: number;

  constructor(count: number, clock: Pick<Clock, 'schedule'>) {
    this.#free = count;
    this.#clock = clock;
  }

  /** @param priority waiting calls with a lower number start first @returns frees the slot; may be called repeatedly */
  async acquire(priority: number): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(priority);
    let held = true;
    const release = (): void => {
      cancel();
      if (held) this.#release();
      held = false;
    };
    const cancel = this.#clock.schedule(() => release(), SLOW_MS);
    return release;
  }

  #turn(priority: number): Promise<void> {
    return new Promise((start) => {
      const after = this.#waiting.findIndex((other) => other.priority > priority);
      this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { priority, start });
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next.start();
  }
}
