import { performance } from 'node:perf_hooks';
import type { Clock } from '../../../platform/clock.ts';
import { FairQueue, type Place, type QueueObserver, type QueueState } from '../../../platform/fair-queue.ts';

/** Milliseconds of a turn of the event loop in which requests start. Timers, probes and other connections wait that long. */
const TURN_MS = 4;

export interface TurnsOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly observer?: QueueObserver | undefined;
  /** Calls back in the next turn of the event loop; `setImmediate` by default. */
  readonly nextTurn?: (call: () => void) => void;
  /** The number of the current turn; that of libuv by default. */
  readonly turnNumber?: () => number;
}

/**
 * Starts requests for a few milliseconds of each turn of the event loop. One turn reads from all connections that have data, so the requests of a thousand
 * clients would hold the event loop for a fraction of a second, and probes, time-outs and responses of the engine would wait for all of them. Requests
 * that wait start one in a turn. Networks take turns, so the connections of one do not delay another one.
 *
 * The caller bounds the number of waiting requests: a connection has one request in service.
 */
export class Turns implements QueueState {
  readonly name = 'turns';
  /** For metrics. That its only place is used says nothing about the load; how many wait does. */
  readonly total = Infinity;
  readonly used = 0;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #nextTurn: (call: () => void) => void;
  readonly #queue: FairQueue;
  /** Ends starts of requests while it has units. */
  readonly #hold: Place;
  readonly #turnNumber: () => number;
  /** The last turn in which a request started. */
  #turn = -1;
  /** Monotonic time from which no further request starts in it. */
  #until = 0;

  constructor({
    clock,
    observer,
    nextTurn = (call) => void setImmediate(call),
    turnNumber = () => performance.nodeTiming.uvMetricsInfo.loopCount,
  }: TurnsOptions) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
    this.#turnNumber = turnNumber;
    this.#queue = new FairQueue({ name: this.name, total: 1, maxWaiting: Infinity }, clock, observer);
    this.#hold = this.#queue.enter('', { units: 0, start: () => undefined });
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /**
   * @param network of the client
   * @param begin must not throw; gets the milliseconds that it waited
   * @returns its release ends the wait, if it still waits
   */
  enter(network: string, begin: (waitedMs: number) => void): Place {
    return this.#queue.enter(network, {
      start: (place, waitedMs) => {
        this.#noteTurn();
        begin(waitedMs);
        if (this.waiting === 0 && this.#clock.monotonic() < this.#until) place.release();
        else this.#nextTurn(() => place.release());
      },
    });
  }

  #noteTurn(): void {
    const turn = this.#turnNumber();
    if (turn === this.#turn) return;
    this.#turn = turn;
    this.#until = this.#clock.monotonic() + TURN_MS;
  }

  /** Starts no further request until the returned function is called. */
  hold(): () => void {
    this.#hold.resize(1);
    return () => this.#hold.resize(0);
  }
}
