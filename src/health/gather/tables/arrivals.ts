import type { Arrivals } from '../../snapshot.ts';

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
