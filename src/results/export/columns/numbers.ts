import { afterValue, CLOSE_ARRAY, COMMA, MINUS, SPACE, textAt, textOf } from '../json-bytes.ts';
import { Column, firstOf, grown, notOfType } from './column.ts';

const DIGIT_0 = 0x30;
const POINT = 0x2e;
/** Integers with at most this many digits are exact as doubles. */
const DOUBLE_DIGITS = 15;
/** Integers with at most this many digits fit into 64 bits without a sign. */
const UINT64_DIGITS = 19;
const LOW_DIGITS = 9;
const LOW_UNIT = 1e9;
const WORD = 2 ** 32;
const HALF_WORD = 2 ** 16;
const MAX_HIGH_WORD = 2 ** 31 - 1;
/** Powers of ten that are exact as doubles, as far as 15 digits need them. */
const POWERS = Array.from({ length: DOUBLE_DIGITS + 1 }, (_, i) => 10 ** i);
const NO_NUMBERS: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);
const NUMERAL = /^-?\d[\d.eE+-]*$/;

export class Int32Column extends Column {
  readonly kind = 'int32';
  values = firstOf((length) => new Int32Array(length));

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const start = bytes[at] === MINUS ? at + 1 : at;
    const end = afterDigits(bytes, start);
    if (end === start || end - start > LOW_DIGITS || !endsAt(bytes, end)) return this.#setText(i, bytes, at);
    const value = integer(bytes, start, end);
    this.values[i] = start === at ? value : -value;
    return end;
  }

  #setText(i: number, bytes: Uint8Array, at: number): number {
    const end = afterValue(bytes, at);
    const value = Number(numeral(textAt(bytes, at, end)));
    if ((value | 0) !== value) throw notOfType();
    this.values[i] = value;
    return end;
  }

  protected reserve(capacity: number): void {
    this.values = grown(this.values, (length) => new Int32Array(length), capacity);
  }
}

export class Int64Column extends Column {
  readonly kind = 'int64';
  values = firstOf((length) => new BigInt64Array(length));
  /** The low word of each value, then its high word, as all platforms that Node supports keep them. */
  #words = new Int32Array(this.values.buffer);

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const start = bytes[at] === MINUS ? at + 1 : at;
    const end = afterDigits(bytes, start);
    if (end === start || end - start > UINT64_DIGITS || !endsAt(bytes, end)) return this.#setText(i, bytes, at);
    if (end - start > DOUBLE_DIGITS) return this.#setLong(i, bytes, { at, start, end });
    const value = integer(bytes, start, end);
    this.#setWords(i, value >>> 0, Math.floor(value / WORD), start !== at);
    return end;
  }

  /** Multiplies in two parts, each exact as a double. The remainder operator of doubles is many times slower than a subtraction. */
  #setLong(
    i: number,
    bytes: Uint8Array,
    { at, start, end }: { readonly at: number; readonly start: number; readonly end: number },
  ): number {
    const split = end - LOW_DIGITS;
    const head = integer(bytes, start, split);
    const headHigh = Math.floor(head / HALF_WORD);
    const upper = headHigh * LOW_UNIT;
    const upperHigh = Math.floor(upper / HALF_WORD);
    const lower =
      (head - headHigh * HALF_WORD) * LOW_UNIT +
      shortInteger(bytes, split, end) +
      (upper - upperHigh * HALF_WORD) * HALF_WORD;
    const high = upperHigh + Math.floor(lower / WORD);
    if (high > MAX_HIGH_WORD) return this.#setText(i, bytes, at);
    this.#setWords(i, lower >>> 0, high, start !== at);
    return end;
  }

  #setWords(i: number, low: number, high: number, isNegative: boolean): void {
    // The negative of a number in two's complement is its complement plus 1.
    this.#words[2 * i] = isNegative ? -low : low;
    this.#words[2 * i + 1] = isNegative ? ~high + (low === 0 ? 1 : 0) : high;
  }

  #setText(i: number, bytes: Uint8Array, at: number): number {
    const end = afterValue(bytes, at);
    const value = BigInt(numeral(textAt(bytes, at, end)));
    if (BigInt.asIntN(64, value) !== value) throw notOfType();
    this.values[i] = value;
    return end;
  }

  protected reserve(capacity: number): void {
    this.values = grown(this.values, (length) => new BigInt64Array(length), capacity);
    this.#words = new Int32Array(this.values.buffer);
  }
}

export class Float32Column extends Column {
  readonly kind = 'float32';
  values = firstOf((length) => new Float32Array(length));

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const end = endOfShortNumber(bytes, at);
    this.values[i] = end > 0 ? shortNumber(bytes, at, end) : floatOf(bytes, at);
    return end > 0 ? end : afterValue(bytes, at);
  }

  protected reserve(capacity: number): void {
    this.values = grown(this.values, (length) => new Float32Array(length), capacity);
  }
}

export class Float64Column extends Column {
  readonly kind = 'float64';
  values = firstOf((length) => new Float64Array(length));

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const end = endOfShortNumber(bytes, at);
    this.values[i] = end > 0 ? shortNumber(bytes, at, end) : floatOf(bytes, at);
    return end > 0 ? end : afterValue(bytes, at);
  }

  protected reserve(capacity: number): void {
    this.values = grown(this.values, (length) => new Float64Array(length), capacity);
  }
}

function afterDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let byte = bytes[at] as number; byte >= DIGIT_0 && byte <= DIGIT_0 + 9; byte = bytes[at] as number) at++;
  return at;
}

/** The value of at most 15 digits, which is exact as a double. */
function integer(bytes: Uint8Array, from: number, end: number): number {
  const split = end - LOW_DIGITS;
  return split <= from
    ? shortInteger(bytes, from, end)
    : shortInteger(bytes, from, split) * LOW_UNIT + shortInteger(bytes, split, end);
}

/** The value of at most nine digits, which fits into 32 bits: its arithmetic takes half the time of that of doubles. */
function shortInteger(bytes: Uint8Array, from: number, end: number): number {
  let value = 0;
  for (let at = from; at < end; at++) value = (value * 10 + (bytes[at] as number) - DIGIT_0) | 0;
  return value;
}

function endsAt(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at];
  return byte === COMMA || byte === CLOSE_ARRAY || byte === undefined || byte <= SPACE;
}

/** The end of a number with at most 15 digits and without exponent; 0 for any other value. */
function endOfShortNumber(bytes: Uint8Array, at: number): number {
  const start = bytes[at] === MINUS ? at + 1 : at;
  const point = afterDigits(bytes, start);
  if (point === start) return 0;
  const end = bytes[point] === POINT ? afterDigits(bytes, point + 1) : point;
  return end - start <= DOUBLE_DIGITS && end !== point + 1 && endsAt(bytes, end) ? end : 0;
}

/** Digits and the power of ten are exact as doubles, so that their quotient is the nearest double of the number (Clinger, 1990). */
function shortNumber(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  let decimals = 0;
  const start = bytes[at] === MINUS ? at + 1 : at;
  for (let from = start; from < end; from++) {
    const byte = bytes[from] as number;
    if (byte === POINT) decimals = end - from - 1;
    else value = value * 10 + byte - DIGIT_0;
  }
  if (decimals > 0) value /= POWERS[decimals] as number;
  return start === at ? value : -value;
}

/** `NaN` and infinities are strings in the engine's JSON. */
function floatOf(bytes: Uint8Array, at: number): number {
  const raw = textAt(bytes, at, afterValue(bytes, at));
  const text = textOf(raw);
  if (NO_NUMBERS.has(text)) return Number(text);
  const value = Number(numeral(raw));
  if (Number.isNaN(value)) throw notOfType();
  return value;
}

/** The text of a number in JSON or in a string of JSON. `Number` and `BigInt` read others, too, such as an empty text as 0. */
function numeral(raw: string): string {
  const text = textOf(raw);
  if (!NUMERAL.test(text)) throw notOfType();
  return text;
}
