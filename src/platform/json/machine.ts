import { AT, COMPLETE_NUMBERS, EFFECT, FIRST_EFFECT, TRANSITIONS } from './grammar.ts';

/** What a scan found. */
export const EVENT = {
  /** All bytes are read. */
  none: 0,
  key: 1,
  string: 2,
  /** A number or literal. */
  word: 3,
  openArray: 4,
  closeArray: 5,
  openObject: 6,
  closeObject: 7,
  /** The last byte is not JSON after those before it; `state` is that before it. */
  invalid: 8,
  /** The last byte opens more objects and arrays than are allowed. */
  tooDeep: 9,
} as const;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;

/** Deeper than any event. */
const NO_EVENT = 0x3fffffff;

const ARRAY = 0;
const OBJECT = 1;

/** Reads JSON from chunks of bytes that may end anywhere, in bounded memory: validates every byte, and finds tokens without decoding them. */
export class JsonMachine {
  /** One of `AT`. */
  state: number = AT.value;
  /** Number of open objects and arrays. */
  depth = 0;
  /** One of `EVENT`. */
  event: number = EVENT.none;
  /** The first byte of a token, without its quote; negative where it is in an earlier chunk, so many bytes before this one. */
  start = 0;
  /** After the last byte of the token, without its quote. */
  end = 0;
  /** Whether the string has escapes. */
  escaped = false;
  readonly #maxDepth: number;
  /** For each open bracket whether it is a `{`, from depth 1 on. Not a typed array, which takes microseconds to create. */
  readonly #kinds = [ARRAY, ARRAY];

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** Whether the bytes so far end inside a string, number or literal. */
  get inToken(): boolean {
    return this.state >= AT.string;
  }

  /** Whether the innermost open bracket is a `{`. */
  get inObject(): boolean {
    return this.#kinds[this.depth] === OBJECT;
  }

  get #expectsItem(): boolean {
    return this.state <= AT.first && !this.inObject;
  }

  /** Begins inside an array instead of before a value. */
  beginInArray(): void {
    this.depth = 1;
    this.state = AT.first;
  }

  /**
   * Reads up to the next event.
   * @param maxDepth reports keys and values only in objects and arrays up to this depth: 0 for the outermost value, 1 for what it contains
   * @returns the offset where the next scan begins
   */
  scan(bytes: Uint8Array, from: number, maxDepth: number): number {
    const { length } = bytes;
    let { state } = this;
    let i = from;
    while (i < length) {
      const next = TRANSITIONS[(state << 8) | (bytes[i] as number)] as number;
      i++;
      if (next < FIRST_EFFECT) {
        if (state <= AT.firstKey) {
          this.start = isString(next) ? i : i - 1;
          this.escaped = false;
        }
        state = next;
        i = this.#afterSame(state, bytes, i);
        continue;
      }
      this.state = state;
      const level = this.#effect(next, i);
      if (next === EFFECT.endNumber) i--;
      if (level <= maxDepth) return i;
      if (this.depth > maxDepth && this.#expectsItem) i = this.#skipPlainValues(bytes, i);
      ({ state } = this);
    }
    this.state = state;
    this.event = EVENT.none;
    this.start -= length;
    return i;
  }

  /** Skips bytes that do not change the state. */
  #afterSame(state: number, bytes: Uint8Array, from: number): number {
    if (isString(state)) return afterText(bytes, from);
    if (state === AT.integer || state === AT.fraction) return afterDigits(bytes, from);
    if (state === AT.escape || state === AT.keyEscape) this.escaped = true;
    return from;
  }

  /** The text ends here. @returns false if it is not complete; `event` is a number that ends with the text, or none */
  complete(): boolean {
    this.event = EVENT.none;
    if (this.depth === 0 && COMPLETE_NUMBERS.has(this.state)) {
      this.event = EVENT.word;
      this.state = AT.done;
    }
    return this.state === AT.done;
  }

  /** Sets the next state and the event. @param at offset after the byte @returns the depth of the event */
  #effect(effect: number, at: number): number {
    switch (effect) {
      case EFFECT.comma:
        this.state = this.inObject ? AT.key : AT.value;
        return NO_EVENT;
      case EFFECT.endKey:
        this.end = at - 1;
        this.event = EVENT.key;
        this.state = AT.colon;
        return this.depth;
      case EFFECT.endString:
        return this.#endToken(EVENT.string, at - 1);
      case EFFECT.endNumber:
        return this.#endToken(EVENT.word, at - 1);
      case EFFECT.endLiteral:
        return this.#endToken(EVENT.word, at);
      case EFFECT.openArray:
        return this.#open(ARRAY);
      case EFFECT.openObject:
        return this.#open(OBJECT);
      case EFFECT.closeArray:
        return this.#close(ARRAY);
      case EFFECT.closeObject:
        return this.#close(OBJECT);
      default:
        this.event = EVENT.invalid;
        return 0;
    }
  }

  #endToken(event: number, end: number): number {
    this.end = end;
    this.event = event;
    this.state = this.depth === 0 ? AT.done : AT.after;
    return this.depth;
  }

  #open(kind: number): number {
    if (this.depth === this.#maxDepth) {
      this.event = EVENT.tooDeep;
      return 0;
    }
    this.event = kind === OBJECT ? EVENT.openObject : EVENT.openArray;
    this.#kinds[++this.depth] = kind;
    this.state = kind === OBJECT ? AT.firstKey : AT.first;
    return this.depth - 1;
  }

  #close(kind: number): number {
    if (this.#kinds[this.depth] !== kind) {
      this.event = EVENT.invalid;
      return 0;
    }
    this.event = kind === OBJECT ? EVENT.closeObject : EVENT.closeArray;
    this.depth--;
    this.state = this.depth === 0 ? AT.done : AT.after;
    return this.depth;
  }

  /**
   * Skips values of the usual forms in an array: strings without escapes, and numbers without a sign, a leading zero or an exponent.
   * @param from where a value is expected
   */
  #skipPlainValues(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    let i = from;
    for (;;) {
      const start = i;
      const first = bytes[i] as number;
      if (first === QUOTE) {
        i = afterText(bytes, i + 1);
        if (bytes[i] !== QUOTE) return start;
        i++;
      } else {
        if (first <= ZERO || first > NINE) return start;
        i = afterDigits(bytes, i + 1);
        if (bytes[i] === POINT) {
          const point = i + 1;
          i = afterDigits(bytes, point);
          if (i === point) return start;
        }
      }
      if (i >= length) return start;
      const next = bytes[i];
      if (next === CLOSE_ARRAY) {
        this.state = AT.after;
        return i;
      }
      if (next !== COMMA) return start;
      i++;
      this.state = AT.value;
    }
  }
}

function isString(state: number): boolean {
  return state === AT.string || state === AT.keyString;
}

/** Skips the bytes of a string that have no effect. */
function afterText(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let i = from;
  for (; i < length; i++) {
    const byte = bytes[i] as number;
    // Lower-case letters and all non-ASCII bytes.
    if (byte > BACKSLASH) continue;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
  }
  return i;
}

function afterDigits(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let i = from;
  while (i < length && ((bytes[i] as number) - ZERO) >>> 0 <= NINE - ZERO) i++;
  return i;
}
