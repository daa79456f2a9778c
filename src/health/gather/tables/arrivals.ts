import { LruCache } from '../../../platform/lru.ts';
import type { Arrivals } from '../../snapshot.ts';

/** Tables whose arrivals are remembered. */
const MAX_REMEMBERED_TABLES = 10_000;

/**
 * Remembers between runs how often segments of a table arrived. While none arrives, retention deletes the old ones, and with them what shows
 * how often they should.
 */
export class ArrivalMemory {
  readonly #known = new LruCache<string, Arrivals>({ maxWeight: MAX_REMEMBERED_TABLES });

  /**
   * The arrivals of a reading, or those of an earlier one that show more and are not older.
   * @param key of the table; another one if it was deleted and created again
   */
  recall(key: string, read: Arrivals | undefined): Arrivals | undefined {
    const known = this.#known.get(key);
    if (known !== undefined && (read === undefined || read.last < known.last)) return known;
    if (read === undefined) return undefined;
    // Without a new segment the earliest reading has the most of them.
    const best = known?.last === read.last && known.first < read.first ? known : read;
    this.#known.set(key, best);
    return best;
  }
}

/** Gaps before this age of a segment, counted from the last arrival, do not show how often segments arrive today. */
const WINDOW_MS = 30 * 24 * 3_600_000;

/**
 * How often segments arrive, from the times at which they were created.
 * @param created milliseconds since the epoch, in any order; NaN for segments without a time. It is sorted in place.
 */
export function arrivalsOf(created: Float64Array): Arrivals | undefined {
  // NaN is sorted to the end.
  created.sort();
  let count = created.length;
  while (count > 0 && Number.isNaN(created[count - 1])) count -= 1;
  if (count === 0) return undefined;
  const last = created[count - 1] as number;
  let first = last;
  let longestGapMs = 0;
  for (let i = count - 1; i > 0; i -= 1) {
    const before = created[i - 1] as number;
    if (last - before > WINDOW_MS) break;
    longestGapMs = Math.max(longestGapMs, (created[i] as number) - before);
    first = before;
  }
  return { last, first, longestGapMs };
}
