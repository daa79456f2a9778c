import { FairQueue, type QueueMetrics } from '../../platform/fair-queue.ts';
import { QueryError } from '../errors.ts';

/** Converting rows needs CPU time of the only thread that serves requests. */
const MAX_EXPORTS = 8;
/** A caller that reads slowly, or never ends its downloads, must not occupy all of them. */
const MAX_OF_CALLER = 4;

/** Limits the concurrent downloads of a gateway, and of each caller. Further ones do not wait, because a download can take hours. */
export class ExportLimit {
  readonly #queue: FairQueue;

  constructor(metrics?: QueueMetrics) {
    const limits = { name: 'downloads', total: MAX_EXPORTS, perKey: MAX_OF_CALLER, maxWaiting: 0 };
    this.#queue = new FairQueue(limits, undefined, metrics);
    metrics?.watch(this.#queue);
  }

  /** @returns ends the download; further calls have no effect. @throws {QueryError} busy */
  begin(caller: string): () => void {
    const place = this.#queue.tryEnter(caller);
    if (typeof place !== 'string') return () => place.release();
    const what = place === 'full' ? `limit (${MAX_EXPORTS}) of this gateway` : `limit (${MAX_OF_CALLER}) of one caller`;
    throw new QueryError('busy', `concurrent download ${what} exceeded; try again later`);
  }
}
