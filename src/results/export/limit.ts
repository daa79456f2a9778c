import { FairQueue, type QueueMetrics } from '../../platform/fair-queue.ts';
import { QueryError } from '../errors.ts';
import type { DownloadLimits } from '../settings.ts';

/**
 * Limits the concurrent downloads of a gateway, and of each caller: converting rows needs CPU time of the only thread that serves requests. Further ones
 * do not wait, because a download can take hours.
 */
export class ExportLimit {
  readonly #limits: () => DownloadLimits;
  readonly #queue: FairQueue;

  /** @param limits read at every download */
  constructor(limits: () => DownloadLimits, metrics?: QueueMetrics) {
    this.#limits = limits;
    const queueLimits = {
      name: 'downloads',
      get total() {
        return limits().maxInAll;
      },
      get perKey() {
        return limits().maxPerCaller;
      },
      maxWaiting: 0,
    };
    this.#queue = new FairQueue(queueLimits, undefined, metrics);
    metrics?.watch(this.#queue);
  }

  /** @returns ends the download; further calls have no effect. @throws {QueryError} busy */
  begin(caller: string): () => void {
    const place = this.#queue.tryEnter(caller);
    if (typeof place !== 'string') return () => place.release();
    const { maxInAll, maxPerCaller } = this.#limits();
    const what = place === 'full' ? `limit (${maxInAll}) of this gateway` : `limit (${maxPerCaller}) of one caller`;
    throw new QueryError('busy', `concurrent download ${what} exceeded; try again later`);
  }
}
