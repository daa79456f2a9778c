import { AT, COMPLETE_NUMBERS } from './json/grammar.ts';
import { EVENT, JsonMachine } from './json/machine.ts';
import { tokenText } from './json/valid-json.ts';
import { atOnce, type Slices } from './long-work.ts';
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
export function* parsingStrictJson(bytes: Uint8Array, limits: StrictJsonLimits = {}): Slices<unknown> {
  const { maxBytes = DEFAULT_MAX_JSON_BYTES } = limits;
  if (bytes.length > maxBytes)
    throw new StrictJsonError(`JSON too large: ${bytes.length} bytes, at most ${maxBytes} are allowed`);
  const { text, invalidAt } = decodeUtf8(bytes);
  if (text === undefined)
    throw new StrictJsonError(`invalid UTF-8 at byte ${invalidAt}: JSON must be encoded in UTF-8`);
  yield* new Scan(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), limits).run();
  // The scan has verified that the string is JSON, so this cannot fail.
  return JSON.parse(text);
}

/** An object or array that is not closed yet. */
interface Open {
  firstKey: string | undefined;
  /** Created for the second key, because most objects are small. */
  keys: Set<string> | undefined;
}

/** One pass over the text, with an explicit stack instead of recursion. */
class Scan {
  readonly #bytes: Buffer;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #machine: JsonMachine;
  readonly #open: Open[] = [];
  #values = 0;

  constructor(bytes: Buffer, limits: StrictJsonLimits) {
    const { maxDepth = DEFAULT_MAX_JSON_DEPTH, maxValues = DEFAULT_MAX_JSON_VALUES } = limits;
    this.#bytes = bytes;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
    this.#machine = new JsonMachine(maxDepth);
  }

  *run(): Slices<void> {
    const machine = this.#machine;
    let nextPart = VALUES_PER_PART;
    for (let at = 0; ;) {
      at = machine.scan(this.#bytes, at, this.#maxDepth);
      if (machine.event === EVENT.none) break;
      this.#take(at);
      if (this.#values < nextPart) continue;
      nextPart = this.#values + VALUES_PER_PART;
      yield;
    }
    // A number may end with the text.
    const isComplete = machine.complete();
    if (this.#machine.event === EVENT.word) this.#count(this.#bytes.length + machine.start);
    if (!isComplete) throw this.#rejected(this.#bytes.length);
    if (nextPart > VALUES_PER_PART) yield;
  }

  /** @param at offset after the event */
  #take(at: number): void {
    const { event, start } = this.#machine;
    switch (event) {
      case EVENT.key:
        this.#checkString();
        this.#addKey();
        break;
      case EVENT.string:
        this.#count(start - 1);
        this.#checkString();
        break;
      case EVENT.word:
        this.#count(start);
        break;
      case EVENT.openArray:
      case EVENT.openObject:
        this.#count(at - 1);
        this.#open.push({ firstKey: undefined, keys: undefined });
        break;
      case EVENT.closeArray:
      case EVENT.closeObject:
        this.#open.pop();
        break;
      case EVENT.tooDeep:
        throw this.#error(at - 1, `nested too deeply: at most ${this.#maxDepth} levels are allowed`);
      default:
        throw this.#rejected(at - 1);
    }
  }

  /** @param at where the value begins */
  #count(at: number): void {
    if (++this.#values > this.#maxValues) throw this.#error(at, `at most ${this.#maxValues} values are allowed`);
  }

  #addKey(): void {
    const { start, end } = this.#machine;
    const key = tokenText(this.#bytes, start, end);
    if (!this.#isNew(key))
      throw this.#error(start - 1, `duplicate key \`${shorten(key)}\`: each key may occur once in an object`);
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

  #checkString(): void {
    const { escaped, start, end } = this.#machine;
    if (!escaped || tokenText(this.#bytes, start, end).isWellFormed()) return;
    throw this.#error(
      start - 1,
      'a string contains half of a surrogate pair: `\\ud800` to `\\udbff` and `\\udc00` to `\\udfff` may only follow one another',
    );
  }

  /** The error for a byte that the grammar excludes, or for the end of the text. */
  #rejected(at: number): StrictJsonError {
    const { state, start } = this.#machine;
    const escape = escapeOf(state);
    if (escape > 0)
      return this.#error(
        at - escape,
        'invalid escape: allowed are `\\" \\\\ \\/ \\b \\f \\n \\r \\t` and `\\u` with four hexadecimal digits',
      );
    // All that is known about a wrong literal is that no value begins with its letters.
    if (state >= AT.literals)
      return this.#unexpected(at < this.#bytes.length ? start : start + this.#bytes.length, VALUE);
    return this.#unexpected(at, this.#expected(state));
  }

  /** What may follow in a state. */
  #expected(state: number): string {
    const { depth, inObject } = this.#machine;
    if (state <= AT.first) return VALUE;
    if (state <= AT.firstKey) return 'expected a key in double quotes';
    if (state === AT.colon) return 'expected `:` after a key';
    if (state === AT.string || state === AT.keyString)
      return 'expected `"` or a character that is not a control character';
    if (state > AT.colon && !COMPLETE_NUMBERS.has(state)) return 'expected a digit';
    if (depth === 0) return 'the text must end after its one value';
    return `expected \`,\` or \`${inObject ? '}' : ']'}\``;
  }

  #unexpected(at: number, expected: string): StrictJsonError {
    const point = this.#bytes.toString('utf8', at, at + MAX_CHARACTER_BYTES).codePointAt(0);
    if (point === undefined) return this.#error(at, `the text ends too early, ${expected}`);
    return this.#error(at, `unexpected ${shownCharacter(point)}, ${expected}`);
  }

  #error(at: number, what: string): StrictJsonError {
    const before = this.#bytes.toString('utf8', 0, at);
    const lines = before.split('\n');
    const column = before.length - before.lastIndexOf('\n');
    return new StrictJsonError(`invalid JSON at line ${lines.length}, column ${column}: ${what}`);
  }
}

const VALUE = 'expected a JSON value';
const MAX_CHARACTER_BYTES = 4;

/** How many bytes before the position the backslash of an incomplete escape is; 0 outside of one. */
function escapeOf(state: number): number {
  if (state >= AT.escape && state <= AT.hex1) return state - AT.escape + 1;
  return state >= AT.keyEscape && state <= AT.keyHex1 ? state - AT.keyEscape + 1 : 0;
}

function shownCharacter(point: number): string {
  if (point > 0x20 && point < 0x7f) return `\`${String.fromCodePoint(point)}\``;
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

const MAX_SHOWN_KEY = 80;

function shorten(key: string): string {
  return key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY - 1)}…` : key;
}
