import { atOnce, type Parts } from './parts.ts';
import { decodeUtf8 } from './utf-8.ts';

/** Limits of a JSON text. */
export interface StrictJsonLimits {
  /** Bytes of the text; 1 MiB by default. */
  readonly maxBytes?: number;
  /** Nested objects and arrays; 64 by default. `[1]` has a depth of 1. */
  readonly maxDepth?: number;
  /**
   * Values: objects, arrays, strings, numbers and literals together; 32768 by default. Bytes alone do not bound the time:
   * 1 MiB of distinct keys takes JSON.parse about 20 times as long as 1 MiB of text.
   */
  readonly maxValues?: number;
}

/** An invalid text. The message has the problem, the position and what would be right; it repeats no value. */
export class StrictJsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StrictJsonError';
  }
}

export const DEFAULT_MAX_JSON_BYTES = 1024 * 1024;
export const DEFAULT_MAX_JSON_DEPTH = 64;
export const DEFAULT_MAX_JSON_VALUES = 32_768;

/** Values of one part of the work. */
const VALUES_PER_PART = 8192;

/**
 * Reads a JSON text (RFC 8259) that every JSON parser reads alike: valid UTF-8 without a byte order mark, each key once in its object
 * (however it is escaped), no half of a surrogate pair. Time is linear in the length of the text, and nothing recurses.
 *
 * `__proto__` becomes a property like any other, as JSON.parse makes it. Numbers become doubles.
 *
 * @throws StrictJsonError
 */
export function parseStrictJson(bytes: Uint8Array, limits: StrictJsonLimits = {}): unknown {
  return atOnce(parsingStrictJson(bytes, limits));
}

/** `parseStrictJson` in parts; the last one is JSON.parse of a text that is known to be valid. */
export function* parsingStrictJson(bytes: Uint8Array, limits: StrictJsonLimits = {}): Parts<unknown> {
  const { maxBytes = DEFAULT_MAX_JSON_BYTES } = limits;
  if (bytes.length > maxBytes)
    throw new StrictJsonError(`JSON too large: ${bytes.length} bytes, at most ${maxBytes} are allowed`);
  const { text, invalidAt } = decodeUtf8(bytes);
  if (text === undefined)
    throw new StrictJsonError(`invalid UTF-8 at byte ${invalidAt}: JSON must be encoded in UTF-8`);
  yield* new Scan(text, limits).run();
  // The scan has verified that the string is JSON, so this cannot fail.
  return JSON.parse(text);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const LITERALS: Readonly<Record<number, string>> = { 0x66: 'false', 0x6e: 'null', 0x74: 'true' };
const SHORT_ESCAPES = '"\\/bfnrt';
const HEX_DIGITS = /^[0-9a-fA-F]{4}$/;

/** An object or array that is not closed yet. */
interface Open {
  readonly isObject: boolean;
  firstKey: string | undefined;
  /** Created for the second key, because most objects are small. */
  keys: Set<string> | undefined;
}

/** One pass over the whole grammar, with an explicit stack instead of recursion. */
class Scan {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #open: Open[] = [];
  #at = 0;
  #values = 0;

  constructor(text: string, limits: StrictJsonLimits) {
    const { maxDepth = DEFAULT_MAX_JSON_DEPTH, maxValues = DEFAULT_MAX_JSON_VALUES } = limits;
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
  }

  *run(): Parts<void> {
    let nextPart = VALUES_PER_PART;
    do {
      this.#readValue();
      if (this.#values < nextPart) continue;
      nextPart = this.#values + VALUES_PER_PART;
      yield;
    } while (this.#continues());
    if (nextPart > VALUES_PER_PART) yield;
  }

  /** Reads a scalar, an empty object or array, or the beginning of one up to its first scalar. */
  #readValue(): void {
    for (;;) {
      const code = this.#nextCode();
      if (++this.#values > this.#maxValues) throw this.#error(`at most ${this.#maxValues} values are allowed`);
      if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) {
        this.#readScalar(code);
        return;
      }
      this.#enter(code === OPEN_OBJECT);
      if (this.#nextCode() === (code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        this.#at++;
        this.#open.pop();
        return;
      }
      if (code === OPEN_OBJECT) this.#readKey();
    }
  }

  /** Closes objects and arrays that end after a value. @returns whether another value must follow; false at the end of the text */
  #continues(): boolean {
    for (;;) {
      const code = this.#nextCode();
      const inner = this.#open.at(-1);
      if (!inner) {
        if (this.#at < this.#text.length) throw this.#unexpected('the text must end after its one value');
        return false;
      }
      if (code === COMMA) {
        this.#at++;
        if (inner.isObject) this.#readKey();
        return true;
      }
      if (code !== (inner.isObject ? CLOSE_OBJECT : CLOSE_ARRAY))
        throw this.#unexpected(`expected \`,\` or \`${inner.isObject ? '}' : ']'}\``);
      this.#at++;
      this.#open.pop();
    }
  }

  #enter(isObject: boolean): void {
    if (this.#open.length >= this.#maxDepth)
      throw this.#error(`nested too deeply: at most ${this.#maxDepth} levels are allowed`);
    this.#open.push({ isObject, firstKey: undefined, keys: undefined });
    this.#at++;
  }

  #readKey(): void {
    if (this.#nextCode() !== QUOTE) throw this.#unexpected('expected a key in double quotes');
    const start = this.#at;
    const key = this.#readString();
    if (!this.#isNew(key)) {
      this.#at = start;
      throw this.#error(`duplicate key \`${shorten(key)}\`: each key may occur once in an object`);
    }
    if (this.#nextCode() !== COLON) throw this.#unexpected('expected `:` after a key');
    this.#at++;
  }

  #isNew(key: string): boolean {
    const inner = this.#open[this.#open.length - 1]!;
    if (inner.firstKey === undefined) {
      inner.firstKey = key;
      return true;
    }
    const keys = (inner.keys ??= new Set([inner.firstKey]));
    return keys.size < keys.add(key).size;
  }

  #readScalar(code: number): void {
    if (code === QUOTE) {
      this.#readString();
      return;
    }
    const literal = LITERALS[code];
    if (literal === undefined) this.#readNumber(code);
    else if (this.#text.startsWith(literal, this.#at)) this.#at += literal.length;
    else throw this.#unexpected('expected a JSON value');
  }

  #readNumber(first: number): void {
    if (first === MINUS) this.#at++;
    if (first !== MINUS && !isDigit(first)) throw this.#unexpected('expected a JSON value');
    if (this.#code() === 0x30) this.#at++;
    else this.#readDigits();
    if (this.#code() === DOT) {
      this.#at++;
      this.#readDigits();
    }
    const exponent = this.#code();
    if (exponent !== 0x45 && exponent !== 0x65) return;
    this.#at++;
    const sign = this.#code();
    if (sign === MINUS || sign === 0x2b) this.#at++;
    this.#readDigits();
  }

  #readDigits(): void {
    if (!isDigit(this.#code())) throw this.#unexpected('expected a digit');
    while (isDigit(this.#code())) this.#at++;
  }

  /** @returns the string with its escapes decoded */
  #readString(): string {
    const start = this.#at;
    const text = this.#text;
    let at = start + 1;
    let escaped = false;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      // Also at the end of the text, where the code is NaN.
      if (!(code >= 0x20)) {
        this.#at = at;
        throw this.#unexpected('expected `"` or a character that is not a control character');
      }
      if (code === BACKSLASH) {
        escaped = true;
        at = this.#afterEscape(at);
      } else at++;
    }
    this.#at = at + 1;
    return escaped ? this.#unescape(start) : text.slice(start + 1, at);
  }

  /** @param at where the backslash is */
  #afterEscape(at: number): number {
    const text = this.#text;
    const isUnicode = text[at + 1] === 'u' && HEX_DIGITS.test(text.slice(at + 2, at + 6));
    if (isUnicode) return at + 6;
    if (at + 1 < text.length && SHORT_ESCAPES.includes(text.charAt(at + 1))) return at + 2;
    this.#at = at;
    throw this.#error(
      'invalid escape: allowed are `\\" \\\\ \\/ \\b \\f \\n \\r \\t` and `\\u` with four hexadecimal digits',
    );
  }

  #unescape(start: number): string {
    const value = JSON.parse(this.#text.slice(start, this.#at)) as string;
    if (value.isWellFormed()) return value;
    this.#at = start;
    throw this.#error(
      'a string contains half of a surrogate pair: `\\ud800` to `\\udbff` and `\\udc00` to `\\udfff` may only follow one another',
    );
  }

  /** The code at the position; NaN at the end. */
  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  /** The code of the next character that is not white space; NaN at the end. */
  #nextCode(): number {
    let code = this.#code();
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#at++;
      code = this.#code();
    }
    return code;
  }

  #unexpected(expected: string): StrictJsonError {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined) return this.#error(`the text ends too early, ${expected}`);
    return this.#error(`unexpected ${shownCharacter(point)}, ${expected}`);
  }

  #error(what: string): StrictJsonError {
    const before = this.#text.slice(0, this.#at);
    const lines = before.split('\n');
    const column = before.length - before.lastIndexOf('\n');
    return new StrictJsonError(`invalid JSON at line ${lines.length}, column ${column}: ${what}`);
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function shownCharacter(point: number): string {
  if (point > 0x20 && point < 0x7f) return `\`${String.fromCodePoint(point)}\``;
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

const MAX_SHOWN_KEY = 80;

function shorten(key: string): string {
  return key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY - 1)}…` : key;
}
