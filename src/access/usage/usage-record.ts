/** Days since the epoch (UTC). */
export type Day = number;

const DAY_MS = 86_400_000;

export function dayOf(ms: number): Day {
  return Math.floor(ms / DAY_MS);
}

/** `2026-11-22` */
export function formatDay(day: Day): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

function parseDay(text: string): Day | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : dayOf(ms);
}

/** Maximum entries; with 13 bytes each the text stays below the 1 MiB of a ConfigMap. */
export const MAX_USED = 40_000;

/** The last days of use. */
export interface UsageRecord {
  /** First day of the record: a key without an entry was not used on this day or later. */
  readonly since: Day;
  /** The last day of use by key (`usage-keys.ts`). */
  readonly used: ReadonlyMap<string, Day>;
}

/** The text of a record: `{"since":"2026-01-01","days":{"2026-11-22":"key key"}}`. */
export function formatUsage({ since, used }: UsageRecord): string {
  const keys = new Map<Day, string[]>();
  for (const [key, day] of used) {
    const sameDay = keys.get(day);
    if (sameDay) sameDay.push(key);
    else keys.set(day, [key]);
  }
  const days = [...keys].sort(([a], [b]) => b - a).map(([day, list]) => [formatDay(day), list.sort().join(' ')]);
  return JSON.stringify({ since: formatDay(since), days: Object.fromEntries(days) });
}

/** @returns undefined for a text that is not a record, for example an empty one */
export function parseUsage(text: string): UsageRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { since: sinceText, days } = (value ?? {}) as { since?: unknown; days?: unknown };
  const since = typeof sinceText === 'string' ? parseDay(sinceText) : undefined;
  if (since === undefined || typeof days !== 'object' || days === null) return undefined;
  const used = new Map<string, Day>();
  for (const [dayText, keys] of Object.entries(days)) {
    const day = parseDay(dayText);
    if (day === undefined || typeof keys !== 'string') return undefined;
    for (const key of keys.split(' ')) if (key !== '') setLatest(used, key, day);
  }
  return { since, used };
}

/** Sets the day of a key unless it has a later one. */
export function setLatest(used: Map<string, Day>, key: string, day: Day): void {
  used.set(key, Math.max(used.get(key) ?? day, day));
}

/**
 * At most `max` entries. The entries of the oldest days are dropped, and `since` becomes the day after them, because the record no longer shows
 * which keys were used before.
 */
export function boundUsage({ since, used }: UsageRecord, max = MAX_USED): UsageRecord {
  if (used.size <= max) return { since, used };
  const days = [...used.values()].sort((a, b) => b - a);
  const lastDropped = days[max]!;
  const kept = new Map([...used].filter(([, day]) => day > lastDropped));
  return { since: Math.max(since, lastDropped + 1), used: kept };
}
