import { afterValue, QUOTE } from '../../../platform/json/valid-json.ts';
import { Int64Column } from './column.ts';
import { notOfType } from './numbers.ts';

const ZERO = 0x30;
const POINT = 0x2e;
const DASH = 0x2d;
/** Years have four digits or more: `java.sql.Timestamp` has up to nine. */
const MIN_YEAR_DIGITS = 4;
const MAX_YEAR_DIGITS = 9;
/** What follows the year: its length, and the bytes between its numbers. */
const REST_BYTES = '-MM-dd HH:mm:ss'.length;
const SEPARATORS = [...Buffer.from('-__-__ __:__:__')].flatMap((byte, at) =>
  byte === 0x5f ? [] : [[at, byte] as const],
);
const MILLISECOND_DIGITS = 3;
const DAY_MS = 86_400_000n;
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Times of the broker's clock in milliseconds, as if its zone were UTC: the engine writes them without a zone, in the form of `java.sql.Timestamp`. */
export class TimestampColumn extends Int64Column {
  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    if (bytes[from] !== QUOTE) throw notOfType();
    this.values[i] = millisecondsOf(bytes, from + 1, end - 1);
    return end;
  }
}

/** @throws {TypeError} for another form, a time that does not exist, and parts of milliseconds */
function millisecondsOf(bytes: Uint8Array, from: number, end: number): bigint {
  const rest = bytes.indexOf(DASH, from);
  const yearDigits = rest - from;
  const isTime = yearDigits >= MIN_YEAR_DIGITS && yearDigits <= MAX_YEAR_DIGITS && end - rest >= REST_BYTES;
  if (!isTime || SEPARATORS.some(([at, byte]) => bytes[rest + at] !== byte)) throw notOfType();
  const two = (at: number): number => digits(bytes, rest + at, rest + at + 2);
  const days = daysOf(digits(bytes, from, rest), two(1), two(4));
  const [hour, minute, second] = [two(7), two(10), two(13)];
  if (hour > 23 || minute > 59 || second > 59) throw notOfType();
  const ofDay = (hour * 3600 + minute * 60 + second) * 1000 + fraction(bytes, rest + REST_BYTES, end);
  const value = BigInt(days) * DAY_MS + BigInt(ofDay);
  if (BigInt.asIntN(64, value) !== value) throw notOfType();
  return value;
}

/** Days since 1970 of a day of the Gregorian calendar. @throws {TypeError} where there is no such day */
function daysOf(year: number, month: number, day: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 && !isLeap ? 28 : (MONTH_DAYS[month - 1] ?? 0);
  if (day < 1 || day > last) throw notOfType();
  // The year begins in March, so that the day of a leap year is its last one.
  const years = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return 365 * years + Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400) + dayOfYear - 719_468;
}

/** Milliseconds of `.5`, `.123` or nothing. */
function fraction(bytes: Uint8Array, from: number, end: number): number {
  if (from === end) return 0;
  const first = from + 1;
  if (bytes[from] !== POINT || first === end) throw notOfType();
  const known = Math.min(end, first + MILLISECOND_DIGITS);
  if (digits(bytes, known, end) !== 0) throw notOfType();
  return digits(bytes, first, known) * 10 ** (MILLISECOND_DIGITS - (known - first));
}

/** @throws {TypeError} for other bytes than digits */
function digits(bytes: Uint8Array, from: number, end: number): number {
  let value = 0;
  for (let at = from; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit >>> 0 > 9) throw notOfType();
    value = 10 * value + digit;
  }
  return value;
}
