import type { MonotonicClock } from '../../../platform/clock.ts';

/** Milliseconds of a turn of the event loop after which it begins no further requests. Timers, probes and other connections wait that long. */
const TURN_MS = 6;
/** Requests that are prepared to begin in one turn: more than fit into its time. */
const MAX_BATCH = 64;

export interface TurnOptions {
  readonly clock: MonotonicClock;
  /**
   * Calls back after the reads of the current turn of the event loop, or in the next turn if these have ended; several callbacks in the same turn, each
   * with the microtasks that it queues. `setImmediate` by default.
   */
  readonly afterReads?: (call: () => void) => void;
}

interface Waiting {
  readonly begin: (waitedMs: number) => void;
  readonly since: number;
}

/**
 * Spreads requests that arrive together over several turns of the event loop. One turn reads from all connections that have data, so the requests of a
 * thousand clients would hold the event loop for a fraction of a second, and probes, time-outs and responses of the engine would wait for all of
 * them. Requests begin in the order of their arrival; without others they begin at once.
 *
 * The caller bounds the number of waiting requests: a connection has one request in service.
 */
export class Turns {
  readonly #clock: MonotonicClock;
  readonly #afterReads: (call: () => void) => void;
  #waiting: Waiting[] = [];
  /** Requests in `#waiting` before this one have begun. */
  #first = 0;
  /** When the current turn began; undefined if no request arrived in it. */
  #turnBegan: number | undefined;
  /** Callbacks that are still to come in this turn. */
  #scheduled = 0;
  /** True until the turn has begun a waiting request. */
  #mustBegin = true;

  constructor({ clock, afterReads = (call) => void setImmediate(call) }: TurnOptions) {
    this.#clock = clock;
    this.#afterReads = afterReads;
  }

  /** Number of requests that have not begun. */
  get waiting(): number {
    return this.#waiting.length - this.#first;
  }

  /** @param begin must not throw; gets the milliseconds that it waited */
  enter(begin: (waitedMs: number) => void): void {
    const now = this.#clock.monotonic();
    if (this.#turnBegan === undefined) this.#schedule(now, 1);
    if (this.waiting === 0 && this.#isTimeLeft(now)) begin(0);
    else this.#waiting.push({ begin, since: now });
  }

  #isTimeLeft(now: number): boolean {
    return now - (this.#turnBegan ?? now) < TURN_MS;
  }

  #schedule(now: number, count: number): void {
    this.#turnBegan = now;
    this.#mustBegin = true;
    this.#scheduled = count;
    for (let call = 0; call < count; call++) this.#afterReads(this.#next);
  }

  /** Begins one request if the turn has time left. The reads of the turn count, so what they took is not left for waiting requests. */
  readonly #next = (): void => {
    const now = this.#clock.monotonic();
    if (this.waiting > 0 && (this.#mustBegin || this.#isTimeLeft(now))) {
      this.#mustBegin = false;
      const { begin, since } = this.#take();
      begin(now - since);
    }
    this.#scheduled -= 1;
    if (this.#scheduled > 0) return;
    if (this.waiting === 0) this.#turnBegan = undefined;
    else this.#schedule(this.#clock.monotonic(), Math.min(this.waiting, MAX_BATCH));
  };

  /** The first waiting request. Frees the memory of those that have begun, each of them once. */
  #take(): Waiting {
    const taken = this.#waiting[this.#first] as Waiting;
    this.#first += 1;
    if (this.#first * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return taken;
  }
}
