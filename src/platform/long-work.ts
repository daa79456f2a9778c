import { systemClock, type Clock } from './clock.ts';
import { FairQueue, type Place } from './fair-queue.ts';

/** Work in small parts, of a millisecond at most where that is possible: at each `yield`, other work may come in between. */
export type Slices<T> = Generator<undefined, T, undefined>;

/** Settles when the next part of a work may begin; undefined if it may at once. */
export type Turn = () => Promise<void> | undefined;

/** Parts are done together for this long. With the longest part, a slice holds the event loop for about 5 ms. */
const SLICE_MS = 4;
/** After a shorter slice one turn of the event loop is enough for others. A timer could not measure so short a rest. */
const SHORT_MS = 2;
const MAX_REST_MS = 100;

export interface LongWorkOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Calls back in the next turn of the event loop, after the microtasks of this one. `setImmediate` by default. */
  readonly afterSlice?: (call: () => void) => void;
}

/** Parts of a stream are done together for this long: its reader waits for each piece. */
const STREAM_SLICE_MS = 1;

/** One work, such as the parsing of one body or the response to one request for a list. */
interface Work {
  readonly key: string;
  readonly sliceMs: number;
  /** Whether the event loop is left to others for as long as a slice took. */
  readonly rests: boolean;
  isWaiting: boolean;
  readonly onPause: () => void;
}

/**
 * Spreads long work on the event loop. One slice of one work runs at a time, works of different keys take turns, and after each slice the event loop
 * is left to other requests for as long as the slice took. So a short request waits for one slice in a turn of the event loop, however many works there are.
 */
export class LongWork {
  readonly #clock: LongWorkOptions['clock'];
  readonly #afterSlice: (call: () => void) => void;
  readonly #slices: FairQueue;
  /** The work whose slice runs now. */
  #running: Work | undefined;
  /** Monotonic time at which its slice is used up. */
  #until = 0;
  #streams = 0;

  constructor({ clock, afterSlice = (call) => void setImmediate(call) }: LongWorkOptions) {
    this.#clock = clock;
    this.#afterSlice = afterSlice;
    // The number of waiting works is bounded elsewhere: each belongs to a request or a stream that has a limit of its own.
    this.#slices = new FairQueue({ name: 'slices', total: 1, maxWaiting: Infinity }, clock);
  }

  /** Works that wait for their next slice. */
  get waiting(): number {
    return this.#slices.waiting;
  }

  /**
   * The turns of one work. What it does after a turn, without waiting for anything but promises that are resolved, belongs to a slice.
   * @param key who the work is for, such as the SRN of the caller
   * @param onPause called after a slice if the work does not wait for another one: it is done, or waits for something else
   */
  turns(key: string, onPause: () => void = () => undefined): Turn {
    return this.#turnsOf({ key, sliceMs: SLICE_MS, rests: true, isWaiting: false, onPause });
  }

  /**
   * The turns of a stream, such as the rows of a download. It is a work of its own beside those of the callers, and goes on after one turn of the event
   * loop: most of its time it waits for bytes or for its reader.
   */
  streamTurns(): Turn {
    const key = `stream ${this.#streams++}`;
    return this.#turnsOf({ key, sliceMs: STREAM_SLICE_MS, rests: false, isWaiting: false, onPause: () => undefined });
  }

  /**
   * Does work in slices.
   * @param signal ends it before its next slice
   * @throws the reason of the signal
   */
  run<T>(key: string, work: Slices<T>, signal?: AbortSignal): Promise<T> {
    return drive(work, this.turns(key), undefined, signal);
  }

  #turnsOf(work: Work): Turn {
    return () => {
      if (this.#running === work && this.#clock.monotonic() < this.#until) return undefined;
      return this.#wait(work);
    };
  }

  #wait(work: Work): Promise<void> | undefined {
    const place = this.#slices.acquire(work.key);
    if (place instanceof Promise) {
      work.isWaiting = true;
      return place.then((given) => this.#begin(work, given));
    }
    this.#begin(work, place);
    return undefined;
  }

  #begin(work: Work, place: Place): void {
    work.isWaiting = false;
    const began = this.#clock.monotonic();
    this.#running = work;
    this.#until = began + work.sliceMs;
    const end = (): void => {
      place.release();
      if (!work.isWaiting) work.onPause();
    };
    this.#afterSlice(() => {
      this.#running = undefined;
      const tookMs = this.#clock.monotonic() - began;
      if (!work.rests || tookMs < SHORT_MS) end();
      else this.#clock.schedule(end, Math.min(tookMs, MAX_REST_MS));
    });
  }
}

/** The event loop is one for the process, and so are the slices of long work on it. */
export const longWork = new LongWork({ clock: systemClock });

/** Does all parts at once. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Does the first part at once, and waits for `turn` before each further one. @returns without a promise where it never had to wait */
export function inTurns<T>(work: Slices<T>, turn: Turn): T | Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    const waits = turn();
    if (waits !== undefined) return drive(work, turn, waits);
  }
}

/** @param first settles when the first part may begin */
async function drive<T>(work: Slices<T>, turn: Turn, first = turn(), signal?: AbortSignal): Promise<T> {
  for (let waits = first; ; waits = turn()) {
    if (waits !== undefined) await waits;
    signal?.throwIfAborted();
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
