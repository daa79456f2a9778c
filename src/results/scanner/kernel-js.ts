import { badRow, MAX_NESTING, type RowKernel, type RowSink, type RowWalk } from './row-kernel.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const GAP_ROW_OR_END = 0;
const GAP_COMMA_OR_END = 1;
const GAP_ROW = 2;

/** 0 for bytes without meaning inside a row; others end the inner loop. */
const STOPS = new Uint8Array(256);
for (const byte of [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) STOPS[byte] = 1;

/** Byte-by-byte kernel: fallback without WebAssembly SIMD, and reference for the tests. */
export const JS_KERNEL: RowKernel = { name: 'js', walk: (limit) => new JsWalk(limit) };

class JsWalk implements RowWalk {
  rows = 0;
  ended = false;
  readonly #limit: number;
  /** For each open bracket whether it is a `{`. */
  readonly #kinds = new Uint8Array(MAX_NESTING + 1);
  #depth = 0;
  #inString = false;
  #escaped = false;
  #gap = GAP_ROW_OR_END;

  constructor(limit = Number.MAX_SAFE_INTEGER) {
    this.#limit = limit;
  }

  scan(chunk: Uint8Array, stride: number, sink: RowSink): number {
    const length = chunk.length;
    let i = 0;
    while (i < length && !this.ended) {
      if (this.#inString) i = this.#skipString(chunk, i);
      else if (this.#depth === 0) i = this.#betweenRows(chunk, i, stride, sink);
      else i = this.#insideRow(chunk, i);
    }
    return i;
  }

  #skipString(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let i = from;
    if (this.#escaped) {
      this.#escaped = false;
      if ((chunk[i] as number) < SPACE) throw badRow(9, this.rows);
      i++;
    }
    while (i < length) {
      const byte = chunk[i] as number;
      i++;
      if (byte === QUOTE) {
        this.#inString = false;
        return i;
      }
      if (byte < SPACE) throw badRow(9, this.rows);
      if (byte === BACKSLASH) {
        if (i === length) this.#escaped = true;
        else if ((chunk[i] as number) < SPACE) throw badRow(9, this.rows);
        i++;
      }
    }
    return length;
  }

  #betweenRows(chunk: Uint8Array, at: number, stride: number, sink: RowSink): number {
    const byte = chunk[at] ?? 0;
    switch (byte) {
      case COMMA:
        if (this.#gap !== GAP_COMMA_OR_END) throw badRow(1, this.rows);
        this.#gap = GAP_ROW;
        break;
      case OPEN_ARRAY:
        if (this.#gap === GAP_COMMA_OR_END) throw badRow(5, this.rows);
        if (this.rows % stride === 0) sink(this.rows, at);
        this.rows++;
        this.#kinds[0] = 0;
        this.#depth = 1;
        break;
      case CLOSE_ARRAY:
        if (this.#gap === GAP_ROW) throw badRow(7, this.rows);
        this.ended = true;
        break;
      default:
        if (!isSpace(byte)) throw badRow(byte === OPEN_OBJECT ? 4 : byte === CLOSE_OBJECT ? 8 : 2, this.rows);
    }
    return at + 1;
  }

  /** Scans to the end of the row or the chunk, or to the first quote. */
  #insideRow(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let i = from;
    for (;;) {
      let byte = 0;
      for (; i < length; i++) {
        byte = chunk[i] as number;
        // Digits, commas, points and signs are the most frequent bytes.
        if (byte > QUOTE && byte < OPEN_ARRAY) continue;
        if (STOPS[byte] === 1) break;
      }
      if (i >= length) return length;
      i++;
      if (byte === QUOTE) {
        // Most strings end in the same chunk and need no state.
        const end = stringEnd(chunk, i);
        if (end === 0) {
          this.#inString = true;
          return i;
        }
        i = end;
      } else if (this.#bracket(byte)) return i;
    }
  }

  /** @returns true if the bracket ends the row */
  #bracket(byte: number): boolean {
    if (byte === BACKSLASH) throw badRow(3, this.rows);
    const kind = byte >> 5 === 3 ? 1 : 0;
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (this.#depth === MAX_NESTING) throw badRow(6, this.rows);
      this.#kinds[this.#depth++] = kind;
      return false;
    }
    if (this.#kinds[--this.#depth] !== kind) throw badRow(8, this.rows);
    if (this.#depth > 0) return false;
    this.#gap = GAP_COMMA_OR_END;
    if (this.rows === this.#limit) this.ended = true;
    return true;
  }
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Offset after the closing quote; 0 if a control character or the end of the chunk comes first. */
function stringEnd(chunk: Uint8Array, from: number): number {
  const length = chunk.length;
  for (let i = from; i < length; i++) {
    const byte = chunk[i] as number;
    // Lower-case letters and all non-ASCII bytes.
    if (byte > BACKSLASH) continue;
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) {
      i++;
      if (i === length || (chunk[i] as number) < SPACE) return 0;
    } else if (byte < SPACE) return 0;
  }
  return 0;
}
