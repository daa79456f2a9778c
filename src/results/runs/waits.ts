import { type Clock, sleep } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import { FairQueue, type QueueMetrics } from '../../platform/fair-queue.ts';
import type { QueryRuns } from './runs.ts';
import { isActive } from './status.ts';

/** Between two looks at a query that another gateway runs. */
const LOOK_MS = 2_000;

export interface RunWaitsOptions {
  readonly runs: Pick<QueryRuns, 'onEnded' | 'find'>;
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Default: the limit of waits has no metrics. */
  readonly limits?: QueueMetrics | undefined;
}

/** How long and for which caller. */
export interface RunWait {
  /** SRN */
  readonly caller: string;
  readonly maxMs: number;
}

/** Clients that wait for the end of queries. More than the limits allow do not wait, and ask again later. */
export class RunWaits {
  readonly #options: RunWaitsOptions;
  readonly #places: FairQueue;

  constructor(options: RunWaitsOptions) {
    this.#options = options;
    this.#places = new FairQueue({ name: 'waits-for-queries', total: 1_000, perKey: 100, maxWaiting: 0 });
    options.limits?.watch(this.#places);
  }

  /** Returns when the query has ended, when the time is over, or at once where too many wait. @throws {QueryError} store-unavailable; the reason of the signal */
  async untilEnded(requestId: string, { caller, maxMs }: RunWait, signal: AbortSignal): Promise<void> {
    const place = this.#places.tryEnter(caller);
    if (typeof place === 'string') return;
    const deadline = new Deadline(this.#options.clock, maxMs, signal);
    try {
      await this.#wait(requestId, deadline);
    } catch (error) {
      if (!deadline.expired) throw error;
    } finally {
      deadline.clear();
      place.release();
    }
  }

  async #wait(requestId: string, deadline: Deadline): Promise<void> {
    const { runs, clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = runs.onEnded(requestId, resolve);
    if (forget !== undefined) return deadline.limit(promise).finally(forget);
    for (;;) {
      const status = await deadline.limit(runs.find(requestId, deadline.signal));
      if (status === undefined || !isActive(status)) return;
      await sleep(clock, LOOK_MS, deadline.signal);
    }
  }
}
