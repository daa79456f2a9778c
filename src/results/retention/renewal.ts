import type { Clock } from '../../platform/clock.ts';
import { LruCache } from '../../platform/lru.ts';
import type { ResultRecord, ResultStore } from '../result-store.ts';
import type { PaginationSettings } from '../settings.ts';

/** Shortest time between two renewals of a result by one gateway. A shorter expiration is renewed after a quarter of it. */
const MIN_INTERVAL_MS = 5 * 60_000;
/** Shorter than `RENEWAL_GRACE_MS`. */
const WRITE_MS = 5_000;
const MAX_REMEMBERED = 10_000;

export interface RenewalOptions {
  readonly store: Pick<ResultStore, 'renew'>;
  readonly settings: () => PaginationSettings;
  readonly clock: Pick<Clock, 'now'>;
}

/** Renews the expiration of results that are read. */
export class Renewal {
  readonly #options: RenewalOptions;
  /** Expirations of results whose renewal was tried, so that a failing store is not called for each page. */
  readonly #tried = new LruCache<string, number>({ maxWeight: MAX_REMEMBERED });

  constructor(options: RenewalOptions) {
    this.#options = options;
  }

  /** Renews the result if it is due. Never throws: the page was read. */
  async renew(record: ResultRecord): Promise<void> {
    const { store } = this.#options;
    const expirationTimeMs = this.#due(record);
    if (expirationTimeMs === undefined) return;
    this.#tried.set(record.requestId, expirationTimeMs);
    // A failure is counted by the metrics of the store; a page after the next interval tries again.
    await store.renew({ ...record, expirationTimeMs }, AbortSignal.timeout(WRITE_MS)).catch(() => undefined);
  }

  /** @returns the new expiration; undefined if none is due */
  #due(record: ResultRecord): number | undefined {
    const { settings, clock } = this.#options;
    const { expirationMs, maxExpirationMs } = settings();
    if (maxExpirationMs <= expirationMs) return undefined;
    const wanted = Math.min(clock.now() + expirationMs, record.submissionTimeMs + maxExpirationMs);
    const known = Math.max(record.expirationTimeMs, this.#tried.get(record.requestId) ?? 0);
    const interval = Math.min(MIN_INTERVAL_MS, expirationMs / 4);
    return wanted - known < interval ? undefined : wanted;
  }
}
