import { MINUS, POINT } from '../../../platform/json/valid-json.ts';

const ZERO = 0x30;
/** Every integer with at most this many digits is exact as a double. */
const MAX_DIGITS = 15;
/** These powers of ten are exact as doubles, so the quotient of an exact integer and one of them is rounded once (Clinger, 1990). */
const POWERS = Array.from({ length: MAX_DIGITS + 1 }, (_, i) => 10 ** i);

/** An integer of at most 15 digits; NaN for any other value, which the caller reads from its text. */
export function shortInteger(bytes: Uint8Array, from: number, end: number): number {
  const isNegative = bytes[from] === MINUS;
  const value = digitsOf(bytes, isNegative ? from + 1 : from, end);
  return isNegative ? -value : value;
}

/**
 * Writes an integer of at most 18 digits, which has 64 bits, without a BigInt.
 * @param halves of 64-bit integers, the lower one first
 * @returns false for any other value, which the caller reads from its text
 */
// oxlint-disable-next-line max-params -- called for each value
export function writeLong(halves: Int32Array, i: number, bytes: Uint8Array, from: number, end: number): boolean {
  const isNegative = bytes[from] === MINUS;
  const start = isNegative ? from + 1 : from;
  const middle = Math.max(start, end - 9);
  const billions = middle === start ? 0 : digitsOf(bytes, start, middle);
  const rest = digitsOf(bytes, middle, end);
  if (!(billions < 1e9 && rest < 1e9)) return false;
  // Every product below is exact: the billions are multiplied in two parts of 16 bits.
  const upper = (billions >>> 16) * 1e9;
  const lower = (upper % 2 ** 16) * 2 ** 16 + (billions & 0xffff) * 1e9 + rest;
  const low = lower | 0;
  const high = Math.floor(upper / 2 ** 16) + Math.floor(lower / 2 ** 32);
  halves[2 * i] = isNegative ? -low : low;
  halves[2 * i + 1] = isNegative ? ~high + (low === 0 ? 1 : 0) : high;
  return true;
}

/** @returns NaN for other bytes than 1 to 15 digits */
function digitsOf(bytes: Uint8Array, from: number, end: number): number {
  if (end === from || end - from > MAX_DIGITS) return Number.NaN;
  let value = 0;
  for (let at = from; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit >>> 0 > 9) return Number.NaN;
    value = 10 * value + digit;
  }
  return value;
}

/** The double nearest to a JSON number of usual length without exponent; NaN for any other value, which the caller reads from its text. */
export function shortDecimal(bytes: Uint8Array, from: number, end: number): number {
  const isNegative = bytes[from] === MINUS;
  const start = isNegative ? from + 1 : from;
  if (end === start || end - start > MAX_DIGITS + 1) return Number.NaN;
  let value = 0;
  let point = end - 1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    const digit = byte - ZERO;
    if (digit >>> 0 <= 9) value = 10 * value + digit;
    else if (byte === POINT && point === end - 1) point = at;
    else return Number.NaN;
  }
  const decimals = end - 1 - point;
  if (end - start - (decimals > 0 ? 1 : 0) > MAX_DIGITS) return Number.NaN;
  const quotient = decimals === 0 ? value : value / (POWERS[decimals] as number);
  return isNegative ? -quotient : quotient;
}

const NO_NUMBERS: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);
const NUMERAL = /^-?\d[\d.eE+-]*$/;

/** The integer of 32 bits that a text represents exactly. @throws {Error} there is none */
export function intOf(text: string): number {
  const value = Number(integer(text));
  if ((value | 0) !== value) throw notOfType();
  return value;
}

/** The integer of 64 bits that a text represents exactly. @throws {Error} there is none */
export function longOf(text: string): bigint {
  const value = integer(text);
  if (BigInt.asIntN(64, value) !== value) throw notOfType();
  return value;
}

const INTEGER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
/** More digits than 64 bits have. */
const MAX_INTEGER_DIGITS = 20;

/** An integer in any spelling of a JSON number, such as `1.0` and `1e3`. @throws {Error} the text is none, or a far too large one */
function integer(text: string): bigint {
  const [, sign, whole, fraction = '', exponent = '0'] = INTEGER.exec(text) ?? [];
  if (whole === undefined) throw notOfType();
  const digits = (whole + fraction).replace(/^0+/, '');
  const shift = Number(exponent) - fraction.length;
  const kept = shift < 0 ? digits.slice(0, shift) : digits;
  // What the point or the exponent cuts must be zeros.
  if (/[1-9]/.test(digits.slice(kept.length))) throw notOfType();
  const zeros = kept === '' ? 0 : Math.max(0, shift);
  if (kept.length + zeros > MAX_INTEGER_DIGITS) throw notOfType();
  const value = BigInt(kept === '' ? 0 : kept + '0'.repeat(zeros));
  return sign === '-' ? -value : value;
}

/** The double nearest to the number in a text. `NaN` and infinities are strings in the engine's JSON. @throws {Error} there is none */
export function doubleOf(text: string): number {
  if (NO_NUMBERS.has(text)) return Number(text);
  // `Number` reads others, too, such as an empty text as 0; a number that is too large for a double is not infinite.
  const value = NUMERAL.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw notOfType();
  return value;
}

export function notOfType(): TypeError {
  return new TypeError('the value is not of the type');
}
