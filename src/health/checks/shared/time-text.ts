import { rounded } from '../../numbers.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A duration for texts, in days, hours or minutes: `2.5 days`, `1 minute`. */
export function timeText(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${rounded(Math.round((10 * ms) / DAY_MS) / 10)} days`;
  if (ms >= 2 * HOUR_MS) return `${rounded(Math.round((10 * ms) / HOUR_MS) / 10)} hours`;
  const minutes = Math.round(ms / 60_000);
  return `${rounded(minutes)} ${minutes === 1 ? 'minute' : 'minutes'}`;
}
