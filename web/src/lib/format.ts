const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const [DAY, HOUR, MINUTE] = [86_400_000, 3_600_000, 60_000];

/** The time left, rounded down to hours or minutes and from a week on to days, such as `in 5 days 15 h`; undefined where one unit is enough. */
function timeLeft(ms: number): string | undefined {
  const [days, hours] = [Math.floor(ms / DAY), Math.floor((ms % DAY) / HOUR)];
  if (ms < HOUR || days >= 7) return undefined;
  if (days > 0) return `in ${days} day${days === 1 ? '' : 's'}${hours > 0 ? ` ${hours} h` : ''}`;
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  return `in ${hours} h${minutes > 0 ? ` ${minutes} min` : ''}`;
}

/** `3 minutes ago`, `in 5 days 15 h`. */
export function relative(time: number | string, now = Date.now()): string {
  const difference = new Date(time).getTime() - now;
  if (Number.isNaN(difference)) return '';
  const left = timeLeft(difference);
  if (left !== undefined) return left;
  for (const [unit, ms] of STEPS)
    if (Math.abs(difference) >= ms) return RELATIVE.format(Math.round(difference / ms), unit);
  return 'just now';
}

/** Time since `since`, such as `3 minutes` or `1 day`. */
export function elapsed(since: number | string, now = Date.now()): string {
  const passed = Math.max(0, now - new Date(since).getTime());
  const [unit, ms] = STEPS.find(([, step]) => passed >= step) ?? (['second', 1000] as const);
  const count = Math.round(passed / ms);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const STYLE = { dateStyle: 'medium', timeStyle: 'long' } as const;
const LOCAL = new Intl.DateTimeFormat('en-GB', STYLE);
const UTC = new Intl.DateTimeFormat('en-GB', { ...STYLE, timeZone: 'UTC' });

/** Such as `31 Jan 2026, 12:30:00 CET`. @param utc true for UTC instead of the time zone of the browser */
export function absolute(time: number | string, utc: boolean): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? '' : (utc ? UTC : LOCAL).format(date);
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** The name in an SRN: `ada@example.com` of `srn2:user#ada@example.com`. Other texts are returned unchanged. */
export const nameOf = (srn: string): string => srn.replace(/^srn2:[^#]*#/, '');

const WHOLE = new Intl.NumberFormat('en');
export const whole = (count: number): string => WHOLE.format(count);

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** `IDEAL_STATE_EV_MISMATCH_CHECK` → `Ideal state ev mismatch check`; only for names without a title. */
export function fromUpper(name: string): string {
  const text = name.toLowerCase().replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const LINE = 90;
/** JSON with an indent of two spaces; lists of short texts are written in one line. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(
    /\[\s+("(?:[^"\\]|\\.)*"(?:,\s+"(?:[^"\\]|\\.)*")*)\s+\]/g,
    (list, items: string) => {
      const line = `[${items.replace(/,\n\s+/g, ', ')}]`;
      return line.length > LINE ? list : line;
    },
  );
}

/** The field `expiresAt` of a request. @param until value of an UntilField */
export function expiryOf(until: string): { expiresAt?: string } {
  return until === '' ? {} : { expiresAt: until };
}

/** The end of the next Friday (today on a Friday), or a time from now on. */
export type UntilPreset = 'friday' | { readonly days: number } | { readonly hours: number };

/** A time as the text of a field for a date and a time. @param utc true for UTC instead of the time zone of the browser */
export function fieldOf(time: string, utc: boolean): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  const parts = utc
    ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()]
    : [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes()];
  const [year, month, day, hour, minute] = parts.map((part, at) => String(part).padStart(at === 0 ? 4 : 2, '0'));
  return `${year}-${month}-${day}T${hour}:${minute}`;
}

/** The time of such a text, as ISO 8601; empty for an incomplete one. */
export function timeOfField(text: string, utc: boolean): string {
  const date = new Date(utc ? `${text}Z` : text);
  return text === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/** A preset as the value of an UntilField. @param utc the end of a Friday, and the hour of a later day, are those of UTC */
export function untilPreset(preset: UntilPreset, utc: boolean, now = new Date()): string {
  const exact = now.getTime() + (typeof preset === 'object' && 'hours' in preset ? preset.hours * HOUR : 0);
  // The clock of the shown zone, as if it were UTC.
  const shown = new Date(`${fieldOf(new Date(exact).toISOString(), utc)}Z`);
  if (preset === 'friday') {
    const isOver = shown.getUTCDay() === 5 && shown.toISOString().slice(11, 16) === '23:59';
    shown.setUTCDate(shown.getUTCDate() + (isOver ? 7 : (5 - shown.getUTCDay() + 7) % 7));
    shown.setUTCHours(23, 59);
  } else if ('days' in preset) shown.setUTCDate(shown.getUTCDate() + preset.days);
  return timeOfField(shown.toISOString().slice(0, 16), utc);
}

/** The names that contain a text, in any case. */
export function matching(names: readonly string[], text: string): string[] {
  const wanted = text.toLowerCase();
  return names.filter((name) => name.toLowerCase().includes(wanted));
}
