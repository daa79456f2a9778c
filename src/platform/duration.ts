/** Units of a duration, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A duration as a regular expression without flags, for JSON schemas: amounts with units, such as `20m` or `1h30m`. */
export const DURATION_PATTERN = '^([0-9]+(ms|s|m|h|d|w))+$';

const DURATION = new RegExp(DURATION_PATTERN);
/** What a text that does not match `DURATION_PATTERN` should have been; follows "must be" or "is not". */
export const DURATION_EXAMPLE = 'a duration such as `20m` or `1h30m`';

/** @returns milliseconds, or undefined for a text that is not a duration. Long texts of digits may give numbers that are not safe integers. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/([0-9]+)(ms|s|m|h|d|w)/g)) {
    total += Number(amount) * (UNITS[unit] ?? Number.NaN);
  }
  return total;
}

/** The duration in its largest unit without a fraction, such as `90m`. @param ms milliseconds, a whole number */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = UNITS[unit] ?? 1;
    if (ms > 0 && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
