import { QueryError } from '../errors.ts';
import { AT, EFFECT, FIRST_EFFECT, MISMATCH, rejection, TRANSITIONS } from './row-grammar.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;
const POINT = 0x2e;

const ARRAY = 0;
const OBJECT = 1;

/** Called at the start of a row with its number (from 0) and its offset in the current chunk. */
export type RowSink = (row: number, offset: number) => void;

/** The depth at which the JSON library of the engine stops, too (Jackson: `StreamWriteConstraints.DEFAULT_MAX_DEPTH`). */
const MAX_NESTING = 1000;

/**
 * Scans one `rows` array, chunk by chunk, starting after its `[`. Every byte is checked to be JSON; UTF-8 is checked by `Utf8Check`. No value is
 * decoded: the bytes of the rows are what matters.
 */
export class RowWalk {
  /** Number of rows started so far. */
  rows = 0;
  /** True after the `]` of `rows` or after the last requested row. */
  ended = false;
  readonly #limit: number;
  #state: number = AT.rowOrEnd;
  /** Number of open brackets. */
  #depth = 0;
  /** For each open bracket whether it is a `{`; created with the first one, because most rows are flat. */
  #kinds: Uint8Array | undefined;
  /** Number of open `{`. */
  #objects = 0;
  #inKey = false;

  /** @param limit stops after this many rows; default: at the `]` of `rows` */
  constructor(limit = Number.MAX_SAFE_INTEGER) {
    this.#limit = limit;
  }

  /**
   * @param stride calls the sink for every `stride`-th row
   * @returns how many bytes of the chunk belong to the array: all of them unless it ended in this chunk
   * @throws {QueryError} bad-answer
   */
  scan(bytes: Uint8Array, stride: number, sink: RowSink): number {
    const end = bytes.length;
    let state = this.#state;
    let i = 0;
    while (i < end) {
      const byte = bytes[i] as number;
      const next = TRANSITIONS[(state << 8) | byte] as number;
      i++;
      if (next < FIRST_EFFECT) {
        state = next;
        if (next === AT.string) i = afterText(bytes, i, end);
        else if (next === AT.integer || next === AT.fraction) i = afterDigits(bytes, i, end);
        continue;
      }
      if (next === EFFECT.openRow && this.rows % stride === 0) sink(this.rows, i - 1);
      this.#state = state;
      state = this.#effect(next, byte);
      if (this.ended) break;
      if (state === AT.value || state === AT.first) {
        this.#state = state;
        i = this.#skipPlainValues(bytes, i, end);
        state = this.#state;
      }
    }
    this.#state = state;
    return i;
  }

  /**
   * Skips values of the usual forms: strings without escapes, and numbers without a sign, a leading zero or an exponent. Sets the state.
   * @param from where a value is expected
   */
  #skipPlainValues(bytes: Uint8Array, from: number, end: number): number {
    let i = from;
    for (;;) {
      const start = i;
      const first = bytes[i] as number;
      if (first === QUOTE) {
        i = afterText(bytes, i + 1, end);
        if (i >= end || bytes[i] !== QUOTE) return start;
        i++;
      } else {
        if (first <= ZERO || first > NINE) return start;
        i = afterDigits(bytes, i + 1, end);
        if (bytes[i] === POINT) {
          const point = i + 1;
          i = afterDigits(bytes, point, end);
          if (i === point) return start;
        }
      }
      if (i >= end) return start;
      const next = bytes[i];
      if (next === CLOSE_ARRAY) {
        this.#state = AT.after;
        return i;
      }
      if (next !== COMMA || this.#objects !== 0) return start;
      i++;
      this.#state = AT.value;
    }
  }

  /** @returns the next state */
  #effect(effect: number, byte: number): number {
    switch (effect) {
      case EFFECT.comma:
        return this.#kinds?.[this.#depth] === OBJECT ? AT.key : AT.value;
      case EFFECT.closeString:
        if (!this.#inKey) return AT.after;
        this.#inKey = false;
        return AT.colon;
      case EFFECT.openRow:
        this.rows++;
        return this.#open(ARRAY);
      case EFFECT.openArray:
        return this.#open(ARRAY);
      case EFFECT.openObject:
        return this.#open(OBJECT);
      case EFFECT.closeArray:
        return this.#close(ARRAY);
      case EFFECT.closeObject:
        return this.#close(OBJECT);
      case EFFECT.openKey:
        this.#inKey = true;
        return AT.string;
      case EFFECT.endRows:
        this.ended = true;
        return this.#state;
      default:
        throw badRow(rejection(this.#state, byte), this.rows);
    }
  }

  #open(kind: number): number {
    if (this.#depth === MAX_NESTING) throw badRow(`values nested deeper than ${MAX_NESTING} levels`, this.rows);
    this.#depth++;
    if (kind === OBJECT || this.#kinds !== undefined) {
      this.#kinds ??= new Uint8Array(MAX_NESTING + 1);
      this.#kinds[this.#depth] = kind;
      this.#objects += kind;
    }
    return kind === OBJECT ? AT.firstKey : AT.first;
  }

  #close(kind: number): number {
    if ((this.#kinds?.[this.#depth] ?? ARRAY) !== kind) throw badRow(MISMATCH, this.rows);
    this.#objects -= kind;
    if (this.#kinds !== undefined) this.#kinds[this.#depth] = ARRAY;
    this.#depth--;
    if (this.#depth > 0) return AT.after;
    if (this.rows === this.#limit) this.ended = true;
    return AT.commaOrEnd;
  }
}

/** Skips the bytes of a string that have no effect. UTF-8 is checked elsewhere. */
function afterText(bytes: Uint8Array, from: number, end: number): number {
  let i = from;
  for (; i < end; i++) {
    const byte = bytes[i] as number;
    // Lower-case letters and all non-ASCII bytes.
    if (byte > BACKSLASH) continue;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
  }
  return i;
}

function afterDigits(bytes: Uint8Array, from: number, end: number): number {
  let i = from;
  while (i < end && ((bytes[i] as number) - ZERO) >>> 0 <= NINE - ZERO) i++;
  return i;
}

/**
 * @param what what is wrong
 * @param row number of rows started before the error
 */
function badRow(what: string, row: number): QueryError {
  return new QueryError(
    'bad-answer',
    `the engine's response is not valid JSON: \`resultTable.rows\` has ${what} near row ${row}`,
  );
}
