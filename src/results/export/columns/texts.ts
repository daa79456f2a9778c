import {
  afterString,
  afterValue,
  BACKSLASH,
  OPEN_ARRAY,
  QUOTE,
  afterSpace,
  CLOSE_ARRAY,
  COMMA,
  textAt,
  textOf,
} from '../json-bytes.ts';
import { type AnyColumn, appendValue } from './append.ts';
import { firstMarked, marksOf, repeated, WORD_BYTES, wordsOf } from '../words.ts';
import { Column, firstOf, grown, notOfType } from './column.ts';

/** A loop is faster than a call for the few bytes of most values. */
const MAX_LOOP_BYTES = 48;
const QUOTES = repeated(QUOTE);
const BACKSLASHES = repeated(BACKSLASH);
/** UTF-8 uses at most this many bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;
/** The character of an escape sequence of two characters, by its second one. `\\u` has 0. */
const ESCAPED = new Uint8Array(0x80);
for (const sequence of '"\\/bfnrt') {
  ESCAPED[sequence.charCodeAt(0)] = (JSON.parse(`"\\${sequence}"`) as string).charCodeAt(0);
}
const TRUE = 0x74;
const FALSE = 0x66;
const HEX = /^(?:[\da-f]{2})*$/i;

/** Values of different lengths, one after the other in one buffer. */
abstract class BufferColumn extends Column {
  /** Where each value begins in `data`, and where the last one ends. */
  offsets = firstOf((length) => new Int32Array(length + 1));
  data = firstOf((length) => Buffer.allocUnsafeSlow(length));

  protected override setNull(i: number): void {
    this.offsets[i + 1] = this.offsets[i] as number;
  }

  protected reserve(capacity: number): void {
    this.offsets = grown(this.offsets, (length) => new Int32Array(length), capacity + 1);
  }

  /** @returns where value `i` begins */
  protected reserveBytes(i: number, more: number): number {
    const at = this.offsets[i] as number;
    if (at + more > this.data.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.data.length, at + more));
      this.data.copy(larger, 0, 0, at);
      this.data = larger;
      this.onGrown();
    }
    return at;
  }

  /** `data` is another buffer. */
  protected onGrown(): void {}
}

/** Texts; values of other types as they are written in JSON. */
export class TextColumn extends BufferColumn {
  readonly kind = 'text';
  /** The bytes of the last text, and their words. */
  #bytes = this.data as Uint8Array;
  #words = wordsOf(this.data);
  #dataWords = wordsOf(this.data);

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    if (bytes[at] !== QUOTE) {
      const end = afterValue(bytes, at);
      this.#copy(i, bytes, at, end);
      return end;
    }
    const limit = at + 1 + MAX_LOOP_BYTES;
    // The last texts of a piece, where words would end after it.
    if (limit > bytes.length) return this.#setLong(i, bytes, at);
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#words = wordsOf(bytes);
    }
    // Most texts are short: they are copied while their end is searched.
    const shift = this.reserveBytes(i, MAX_LOOP_BYTES) - at - 1;
    const words = this.#words;
    const dataWords = this.#dataWords;
    for (let from = at + 1; from < limit; from += WORD_BYTES) {
      const word = words.getInt32(from, true);
      dataWords.setInt32(from + shift, word, true);
      const marks = marksOf(word, QUOTES) | marksOf(word, BACKSLASHES);
      if (marks === 0) continue;
      const end = from + firstMarked(marks);
      if (bytes[end] === BACKSLASH) return this.#setEscaped(i, bytes, at);
      this.offsets[i + 1] = end + shift;
      return end + 1;
    }
    return this.#setLong(i, bytes, at);
  }

  protected override onGrown(): void {
    this.#dataWords = wordsOf(this.data);
  }

  #setLong(i: number, bytes: Uint8Array, at: number): number {
    let end = at + 1;
    for (let byte = bytes[end]; byte !== QUOTE; byte = bytes[++end]) {
      if (byte === BACKSLASH) return this.#setEscaped(i, bytes, at);
      if (byte === undefined) throw notOfType();
    }
    this.#copy(i, bytes, at + 1, end);
    return end + 1;
  }

  #setEscaped(i: number, bytes: Uint8Array, at: number): number {
    const end = afterString(bytes, at);
    let to = this.reserveBytes(i, end - at);
    const { data } = this;
    for (let from = at + 1; from < end - 1; from++) {
      let byte = bytes[from] as number;
      if (byte === BACKSLASH) {
        byte = ESCAPED[bytes[++from] as number] ?? 0;
        if (byte === 0) return this.#setDecoded(i, bytes, { at, end });
      }
      data[to++] = byte;
    }
    this.offsets[i + 1] = to;
    return end;
  }

  #setDecoded(i: number, bytes: Uint8Array, { at, end }: { readonly at: number; readonly end: number }): number {
    const text = textOf(textAt(bytes, at, end));
    const to = this.reserveBytes(i, text.length * MAX_UTF8_BYTES);
    this.offsets[i + 1] = to + this.data.write(text, to);
    return end;
  }

  // oxlint-disable-next-line max-params -- called for each text
  #copy(i: number, bytes: Uint8Array, from: number, end: number): void {
    const length = end - from;
    let to = this.reserveBytes(i, length);
    this.offsets[i + 1] = to + length;
    if (length > MAX_LOOP_BYTES) {
      this.data.set(bytes.subarray(from, end), to);
      return;
    }
    const { data } = this;
    for (let at = from; at < end; at++) data[to++] = bytes[at] as number;
  }
}

/** Bytes, which the engine writes in hexadecimal digits. */
export class BytesColumn extends BufferColumn {
  readonly kind = 'bytes';
  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const end = afterValue(bytes, at);
    const text = textOf(textAt(bytes, at, end));
    if (!HEX.test(text)) throw notOfType();
    const to = this.reserveBytes(i, text.length >> 1);
    this.offsets[i + 1] = to + this.data.write(text, to, 'hex');
    return end;
  }
}

export class BooleanColumn extends Column {
  readonly kind = 'boolean';
  /** A bit for each value, the lowest one first. */
  bits = firstOf((length) => new Uint8Array(length >> 3));

  append(bytes: Uint8Array, at: number): number {
    const i = this.next();
    const first = bytes[at];
    const end = afterValue(bytes, at);
    // JSON has no other literals with these letters.
    const isTrue = first === TRUE || (first !== FALSE && booleanOf(textOf(textAt(bytes, at, end))));
    if (isTrue) this.bits[i >> 3] = (this.bits[i >> 3] as number) | (1 << (i & 7));
    return end;
  }

  override clear(): void {
    super.clear();
    this.bits.fill(0);
  }

  protected reserve(capacity: number): void {
    this.bits = grown(this.bits, (length) => new Uint8Array(length), capacity >> 3);
  }
}

function booleanOf(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw notOfType();
  return text === 'true';
}

/** Values of a multi-value column. */
export class ListColumn extends Column {
  readonly kind = 'list';
  readonly items: AnyColumn;
  /** The first item of each list, and the end of the last one. */
  offsets = firstOf((length) => new Int32Array(length + 1));

  constructor(items: AnyColumn) {
    super();
    this.items = items;
  }

  append(bytes: Uint8Array, from: number): number {
    const i = this.next();
    if (bytes[from] !== OPEN_ARRAY) throw notOfType();
    let at = afterSpace(bytes, from + 1);
    while (bytes[at] !== CLOSE_ARRAY) {
      at = afterSpace(bytes, appendValue(this.items, bytes, at));
      if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
      else if (bytes[at] !== CLOSE_ARRAY) throw notOfType();
    }
    this.offsets[i + 1] = this.items.length;
    return at + 1;
  }

  override clear(): void {
    super.clear();
    this.items.clear();
  }

  protected override setNull(i: number): void {
    this.offsets[i + 1] = this.items.length;
  }

  protected reserve(capacity: number): void {
    this.offsets = grown(this.offsets, (length) => new Int32Array(length), capacity + 1);
  }
}
