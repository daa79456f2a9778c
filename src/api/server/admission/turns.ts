import type { Clock } from '../../../platform/clock.ts';
import { FairQueue, type QueueObserver, type QueueState } from '../../../platform/fair-queue.ts';

export interface TurnsOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly observer?: QueueObserver | undefined;
  /** Calls back in the next turn of the event loop; `setImmediate` by default. */
  readonly nextTurn?: (call: () => void) => void;
}

/**
 * Starts one request in each turn of the event loop. One turn reads from all connections that have data, so the requests of a thousand clients would
 * hold the event loop for a fraction of a second, and probes, time-outs and responses of the engine would wait for all of them. Without others a
 * request starts at once. Networks take turns, so the connections of one do not delay another one.
 *
 * The caller bounds the number of waiting requests: a connection has one request in service.
 */
export class Turns {
  readonly queue: FairQueue;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #nextTurn: (call: () => void) => void;

  constructor({ clock, observer, nextTurn = (call) => void setImmediate(call) }: TurnsOptions) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
    this.queue = new FairQueue({ name: 'turns', total: 1, maxWaiting: Number.POSITIVE_INFINITY }, clock, observer);
  }

  /** For metrics. That its only place is used says nothing about the load; how many wait does. */
  get state(): QueueState {
    const { queue } = this;
    return {
      name: queue.name,
      total: Infinity,
      used: 0,
      get waiting() {
        return queue.waiting;
      },
    };
  }

  /**
   * @param network of the client
   * @param begin must not throw; gets the milliseconds that it waited
   * @returns ends the wait, if it still waits
   */
  enter(network: string, begin: (waitedMs: number) => void): () => void {
    const since = this.#clock.monotonic();
    let begun = false;
    const place = this.queue.enter(network, {
      start: (given) => {
        begun = true;
        this.#nextTurn(() => given.release());
        begin(this.#clock.monotonic() - since);
      },
      // The queue has no limits.
      refuse: () => undefined,
    });
    return () => {
      if (!begun) place.release();
    };
  }

  /** Starts no further request until the returned function is called. */
  hold(): () => void {
    const place = this.queue.enter('', { first: true, start: () => undefined, refuse: () => undefined });
    return () => place.release();
  }
}
