import {
  afterLiteral,
  afterPlainText,
  afterSpace,
  afterString,
  afterValue,
  CLOSE_ARRAY,
  COMMA,
  LETTER_N,
  OPEN_ARRAY,
  QUOTE,
  textAt,
  textOf,
} from '../../../platform/json/valid-json.ts';
import { doubleOf, intOf, longOf, notOfType, shortDecimal, shortInteger, writeLong } from './numbers.ts';

/** Small, because a result may have thousands of columns; a multiple of 8. */
export const FIRST_CAPACITY = 64;
/** A column keeps its memory for the next batch unless it is more than this many times what the last one used. */
const KEPT_TIMES = 4;
const ALL_VALID = 0xff;

/**
 * Values of one column in a batch of rows, appended from their JSON. Only the first `length` values are used; the arrays are longer, and are used
 * again after `clear`.
 */
export abstract class Column {
  length = 0;
  nullCount = 0;
  /** A bit for each value, the lowest one first: 0 for null. Unused bits are 1. */
  validity = new Uint8Array(FIRST_CAPACITY >> 3).fill(ALL_VALID);

  isNull(i: number): boolean {
    return ((this.validity[i >> 3] as number) & (1 << (i & 7))) === 0;
  }

  /**
   * Appends a value. The bytes are those of valid rows.
   * @param from the first byte of a value of JSON
   * @returns the offset after the value
   * @throws {Error} if the type of the column cannot represent the value exactly
   */
  append(bytes: Uint8Array, from: number): number {
    const i = this.length;
    if (i === this.capacity) this.#resize(2 * i);
    this.length = i + 1;
    if (bytes[from] !== LETTER_N) return this.appendValue(bytes, from, i);
    this.validity[i >> 3] = (this.validity[i >> 3] as number) & ~(1 << (i & 7));
    this.nullCount++;
    this.appendNull(i);
    return afterLiteral(bytes, from);
  }

  /** Removes all values. */
  clear(): void {
    const isLarge = this.capacity > FIRST_CAPACITY && this.capacity > KEPT_TIMES * this.length;
    this.length = 0;
    this.nullCount = 0;
    if (isLarge) this.#resize(FIRST_CAPACITY);
    this.validity.fill(ALL_VALID);
  }

  protected abstract appendValue(bytes: Uint8Array, from: number, i: number): number;
  /** A null has the value 0, or no length. */
  protected abstract appendNull(i: number): void;
  /** Makes room for so many values. */
  protected abstract resize(capacity: number): void;

  protected get capacity(): number {
    return 8 * this.validity.length;
  }

  #resize(capacity: number): void {
    const validity = new Uint8Array(capacity >> 3).fill(ALL_VALID);
    copyInto(validity, this.validity);
    this.validity = validity;
    this.resize(capacity);
  }
}

/** Copies as many elements as fit. */
export function copyInto<T extends Uint8Array | Int32Array | BigInt64Array | Float32Array | Float64Array>(
  to: T,
  from: T,
): T {
  to.set((from.length > to.length ? from.subarray(0, to.length) : from) as never);
  return to;
}

export class Int32Column extends Column {
  values = new Int32Array(FIRST_CAPACITY);

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    const value = shortInteger(bytes, from, end);
    this.values[i] = (value | 0) === value ? value : intOf(textOf(textAt(bytes, from, end)));
    return end;
  }

  protected override appendNull(i: number): void {
    this.values[i] = 0;
  }

  protected override resize(capacity: number): void {
    this.values = copyInto(new Int32Array(capacity), this.values);
  }
}

export class Int64Column extends Column {
  values = new BigInt64Array(FIRST_CAPACITY);
  /** The halves of each value, the lower one first. */
  #halves = new Int32Array(this.values.buffer);

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    if (!writeLong(this.#halves, i, bytes, from, end)) this.values[i] = longOf(textOf(textAt(bytes, from, end)));
    return end;
  }

  protected override appendNull(i: number): void {
    this.values[i] = 0n;
  }

  protected override resize(capacity: number): void {
    this.values = copyInto(new BigInt64Array(capacity), this.values);
    this.#halves = new Int32Array(this.values.buffer);
  }
}

abstract class FloatColumn extends Column {
  abstract values: Float32Array | Float64Array;

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    const value = shortDecimal(bytes, from, end);
    this.values[i] = Number.isNaN(value) ? this.numberOf(textOf(textAt(bytes, from, end))) : value;
    return end;
  }

  /** @throws {Error} there is no number in the text, or one that the type cannot represent */
  protected numberOf(text: string): number {
    return doubleOf(text);
  }

  protected override appendNull(i: number): void {
    this.values[i] = 0;
  }
}

export class Float32Column extends FloatColumn {
  override values = new Float32Array(FIRST_CAPACITY);

  protected override numberOf(text: string): number {
    const value = doubleOf(text);
    if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) throw notOfType();
    return value;
  }

  protected override resize(capacity: number): void {
    this.values = copyInto(new Float32Array(capacity), this.values);
  }
}

export class Float64Column extends FloatColumn {
  override values = new Float64Array(FIRST_CAPACITY);

  protected override resize(capacity: number): void {
    this.values = copyInto(new Float64Array(capacity), this.values);
  }
}

export class BooleanColumn extends Column {
  /** A bit for each value, the lowest one first. */
  bits = new Uint8Array(FIRST_CAPACITY >> 3);

  override clear(): void {
    super.clear();
    this.bits.fill(0);
  }

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    const text = textOf(textAt(bytes, from, end));
    if (text === 'true') this.bits[i >> 3] = (this.bits[i >> 3] as number) | (1 << (i & 7));
    else if (text !== 'false') throw notOfType();
    return end;
  }

  protected override appendNull(): void {}

  protected override resize(capacity: number): void {
    this.bits = copyInto(new Uint8Array(capacity >> 3), this.bits);
  }
}

/** Values of different lengths, one after the other in one buffer. */
abstract class BufferColumn extends Column {
  /** Where each value begins in `data`, and where the last one ends. */
  offsets = new Int32Array(FIRST_CAPACITY + 1);
  data = Buffer.allocUnsafeSlow(FIRST_CAPACITY);

  override clear(): void {
    const used = this.offsets[this.length] as number;
    if (this.data.length > FIRST_CAPACITY && this.data.length > KEPT_TIMES * used)
      this.data = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
    super.clear();
  }

  protected override appendNull(i: number): void {
    this.offsets[i + 1] = this.offsets[i] as number;
  }

  protected override resize(capacity: number): void {
    this.offsets = copyInto(new Int32Array(capacity + 1), this.offsets);
  }

  /** Makes room for the bytes of value `i`. @returns where they begin in `data` */
  protected reserve(i: number, bytes: number): number {
    const at = this.offsets[i] as number;
    if (at + bytes > this.data.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.data.length, at + bytes));
      this.data.copy(larger, 0, 0, at);
      this.data = larger;
    }
    return at;
  }
}

/** UTF-8 uses at most this many bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;
/** A loop copies fewer bytes faster than a call. */
const MAX_LOOP_BYTES = 64;

/** Texts; values of other types as they are written in JSON. */
export class TextColumn extends BufferColumn {
  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    if (bytes[from] !== QUOTE) {
      const end = afterValue(bytes, from);
      this.#copy(bytes, from, end, i);
      return end;
    }
    const close = afterPlainText(bytes, from + 1);
    if (bytes[close] === QUOTE) {
      this.#copy(bytes, from + 1, close, i);
      return close + 1;
    }
    const end = afterString(bytes, from);
    const text = textOf(textAt(bytes, from, end));
    const at = this.reserve(i, MAX_UTF8_BYTES * text.length);
    this.offsets[i + 1] = at + this.data.write(text, at);
    return end;
  }

  // oxlint-disable-next-line max-params -- called for each value
  #copy(bytes: Uint8Array, from: number, end: number, i: number): void {
    let to = this.reserve(i, end - from);
    const { data } = this;
    this.offsets[i + 1] = to + end - from;
    if (end - from > MAX_LOOP_BYTES) data.set(bytes.subarray(from, end), to);
    else for (let at = from; at < end; at++) data[to++] = bytes[at] as number;
  }
}

const HEX = /^(?:[\da-f]{2})*$/i;

/** Bytes, which the engine writes in hexadecimal digits. */
export class BytesColumn extends BufferColumn {
  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    const text = textOf(textAt(bytes, from, end));
    if (!HEX.test(text)) throw notOfType();
    const at = this.reserve(i, text.length / 2);
    this.offsets[i + 1] = at + this.data.write(text, at, 'hex');
    return end;
  }
}

/** Values of a multi-value column. */
export class ListColumn extends Column {
  readonly items: Column;
  /** The first item of each list, and the end of the last one. */
  offsets = new Int32Array(FIRST_CAPACITY + 1);

  constructor(items: Column) {
    super();
    this.items = items;
  }

  override clear(): void {
    super.clear();
    this.items.clear();
  }

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    if (bytes[from] !== OPEN_ARRAY) throw notOfType();
    let at = afterSpace(bytes, from + 1);
    while (bytes[at] !== CLOSE_ARRAY) {
      at = afterSpace(bytes, this.items.append(bytes, at));
      if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
      else if (bytes[at] !== CLOSE_ARRAY) throw notOfType();
    }
    this.offsets[i + 1] = this.items.length;
    return at + 1;
  }

  protected override appendNull(i: number): void {
    this.offsets[i + 1] = this.items.length;
  }

  protected override resize(capacity: number): void {
    this.offsets = copyInto(new Int32Array(capacity + 1), this.offsets);
  }
}
