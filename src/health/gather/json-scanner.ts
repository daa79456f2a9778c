import { quotesIn } from './quote-index.ts';

/**
 * Reads JSON as it streams by, without making values of it.
 *
 * The metadata of a million segments is more than half a gigabyte of JSON, of which a check needs five numbers a segment. A
 * parser that builds objects would cost seconds of CPU and leave the rest to the garbage collector; this one hands out byte ranges, and a
 * visitor decides which of them become values. Only a token that is cut by the end of a chunk is copied.
 */
export interface JsonVisitor {
  /** The key of a member of the object at `depth` (the outermost value has depth 1). Bytes are those between the quotes, not unescaped. */
  key(bytes: Buffer, start: number, end: number, depth: number): void;
  /** A string (between the quotes, not unescaped), number, true, false or null in the object or array at `depth`. */
  scalar(bytes: Buffer, start: number, end: number, depth: number): void;
  /** The object at `depth` ends. */
  endObject?(depth: number): void;
  /**
   * Members of the object at `depth`, one after the other, whose values are strings and that have no escapes: told by this instead of `key` and
   * `scalar` where it is there. From `from` to `to` (not included), four of `marks` belong to a member: where the quotes are around its key, then
   * those around its value. An object may be told in several parts. `marks` holds only during the call.
   */
  members?(bytes: Buffer, marks: Uint32Array, from: number, to: number, depth: number): void;
  /** True once nothing that follows matters: the rest of the text need not be scanned. */
  satisfied?(): boolean;
}

/** No name or number in the engine's answers comes near this; a longer one is no answer of the engine. */
const MAX_TOKEN_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
/** How much of a chunk is joined to the token that the last one began; nearly all tokens end within. */
const JOINED_BYTES = 256;

/** As much as the index of quotes takes at once; the chunks of a connection are no larger. */
const PIECE_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const SPACE = 0x20;

const EMPTY = Buffer.alloc(0);

export class JsonScanner {
  readonly #visitor: JsonVisitor;
  /** 1 for an object, 0 for an array, by depth. */
  readonly #kinds = new Uint8Array(MAX_DEPTH + 1);
  #depth = 0;
  #expectKey = false;
  #values = 0;
  #carry: Buffer = EMPTY;
  /** The first of the chunk's quotes and backslashes that may still lie ahead. */
  #mark = 0;

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor;
  }

  /** @throws {Error} the bytes are no JSON */
  push(chunk: Buffer): void {
    if (chunk.length <= PIECE_BYTES) {
      this.#piece(chunk);
      return;
    }
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) this.#piece(chunk.subarray(at, at + PIECE_BYTES));
  }

  #piece(chunk: Buffer): void {
    let from = 0;
    if (this.#carry.length > 0) {
      from = this.#finish(chunk);
      if (from < 0) return;
    }
    const used = this.#scan(chunk, from);
    // A copy, for the chunk belongs to the stream.
    this.#carry = used === chunk.length ? EMPTY : Buffer.from(chunk.subarray(used));
  }

  /**
   * Scans the token that the last chunk began, with as much of this one as it takes to end it.
   * @returns where in the chunk to go on, -1 where the token is longer than all of it
   */
  #finish(chunk: Buffer): number {
    const { length } = this.#carry;
    for (let take = JOINED_BYTES; ; take *= 16) {
      const joined = Buffer.concat([this.#carry, chunk.subarray(0, take)]);
      const used = this.#scan(joined, 0);
      if (used >= length) return used - length;
      if (take >= chunk.length) {
        if (joined.length > MAX_TOKEN_BYTES) throw new Error('the answer has a token of more than 1 MiB');
        this.#carry = joined;
        return -1;
      }
    }
  }

  /** @throws {Error} the text ended in the middle of a value */
  end(): void {
    // A lone number or word ends with the text only.
    if (this.#carry.length > 0) this.push(Buffer.from('\n'));
    if (this.#depth !== 0 || this.#values === 0 || this.#carry.length > 0) throw new Error('the answer is cut off');
  }

  /** @returns how many of the bytes were used; the rest is the beginning of a token */
  #scan(bytes: Buffer, from: number): number {
    const { length } = bytes;
    const marks = quotesIn(bytes);
    this.#mark = 0;
    let at = from;
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte <= SPACE) {
        at += 1;
      } else if (byte === QUOTE) {
        const next = this.#expectKey ? this.#members(bytes, marks, at) : at;
        if (next > at) {
          at = next;
          continue;
        }
        const close = this.#closeOf(bytes, marks, at + 1);
        if (close >= length) return at;
        at = this.#string(bytes, at + 1, close);
      } else if (this.#punctuation(byte)) {
        at += 1;
      } else {
        const end = endOfWord(bytes, at);
        if (end < 0) return at;
        this.#word(bytes, at, end);
        at = end;
      }
    }
    return at;
  }

  /**
   * Tells of the members that stand here as `"key":"value",` without an escape or a space, as nearly all of the engine's do.
   * @param from where the quote is that opens a key
   * @returns where the first byte is that belongs to no such member
   */
  #members(bytes: Buffer, marks: Uint32Array, from: number): number {
    const { length } = bytes;
    let mark = this.#mark;
    while ((marks[mark] as number) < from) mark += 1;
    const first = mark;
    let at = from;
    for (;;) {
      const keyEnd = marks[mark + 1] as number;
      // A quote behind the colon is the next mark, and past the last mark of the chunk is one past its end: none is read that is not there.
      if (keyEnd + 2 >= length || bytes[keyEnd] !== QUOTE) break;
      if (bytes[keyEnd + 1] !== COLON || bytes[keyEnd + 2] !== QUOTE) break;
      const end = marks[mark + 3] as number;
      if (end >= length || bytes[end] !== QUOTE) break;
      mark += 4;
      at = end + 1;
      if (at + 1 >= length || bytes[at] !== COMMA || bytes[at + 1] !== QUOTE) {
        this.#expectKey = false;
        break;
      }
      at += 1;
    }
    this.#mark = mark;
    if (mark > first) this.#tellMembers(bytes, marks, first);
    return at;
  }

  /** @param first of the marks; those up to the current one belong to members */
  #tellMembers(bytes: Buffer, marks: Uint32Array, first: number): void {
    const visitor = this.#visitor;
    const depth = this.#depth;
    const to = this.#mark;
    this.#values += 1;
    if (visitor.members !== undefined) {
      visitor.members(bytes, marks, first, to, depth);
      return;
    }
    for (let mark = first; mark < to; mark += 4) {
      visitor.key(bytes, (marks[mark] as number) + 1, marks[mark + 1] as number, depth);
      visitor.scalar(bytes, (marks[mark + 2] as number) + 1, marks[mark + 3] as number, depth);
    }
  }

  /** Where the string ends whose first byte is at `start`; past the end of the chunk where it does not end there. */
  #closeOf(bytes: Buffer, marks: Uint32Array, start: number): number {
    let mark = this.#mark;
    while ((marks[mark] as number) < start) mark += 1;
    let close = marks[mark] as number;
    while (close < bytes.length && bytes[close] === BACKSLASH) {
      const after = close + 2;
      while ((marks[mark] as number) < after) mark += 1;
      close = marks[mark] as number;
    }
    this.#mark = mark;
    return close;
  }

  /** @returns where to go on */
  #string(bytes: Buffer, start: number, end: number): number {
    if (!this.#expectKey) {
      this.#values += 1;
      this.#visitor.scalar(bytes, start, end, this.#depth);
      return end + 1;
    }
    this.#expectKey = false;
    this.#visitor.key(bytes, start, end, this.#depth);
    if (bytes[end + 1] !== COLON) return end + 1;
    if (bytes[end + 2] !== OPEN_OBJECT) return end + 2;
    this.#open(true);
    return end + 3;
  }

  #word(bytes: Buffer, start: number, end: number): void {
    const first = bytes[start] as number;
    const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
    if (!isNumber && !['true', 'false', 'null'].includes(bytes.toString('latin1', start, end))) {
      throw new Error(`the answer is no JSON: \`${bytes.toString('latin1', start, Math.min(end, start + 40))}\``);
    }
    this.#values += 1;
    this.#visitor.scalar(bytes, start, end, this.#depth);
  }

  /** @returns false where the byte is none of JSON's punctuation */
  #punctuation(byte: number): boolean {
    switch (byte) {
      case COMMA:
        this.#expectKey = this.#kinds[this.#depth] === 1;
        return true;
      case COLON:
        return true;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#open(byte === OPEN_OBJECT);
        return true;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#close(byte === CLOSE_OBJECT);
        return true;
      default:
        return false;
    }
  }

  #open(isObject: boolean): void {
    if (this.#depth === MAX_DEPTH) throw new Error(`the answer is nested deeper than ${MAX_DEPTH}`);
    this.#depth += 1;
    this.#kinds[this.#depth] = isObject ? 1 : 0;
    this.#expectKey = isObject;
  }

  #close(isObject: boolean): void {
    if (this.#depth === 0 || (this.#kinds[this.#depth] === 1) !== isObject)
      throw new Error('the answer is no JSON: brackets');
    if (isObject) this.#visitor.endObject?.(this.#depth);
    this.#depth -= 1;
    this.#values += 1;
    this.#expectKey = false;
  }
}

function endOfWord(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) return at;
  }
  return -1;
}

/** The text of a string token. */
export function tokenText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** True where the token is exactly this word of ASCII characters. */
export function tokenIs(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  // The last characters differ most among the engine's names, which share their prefixes.
  for (let i = word.length - 1; i >= 0; i -= 1) if (bytes[start + i] !== word[i]) return false;
  return true;
}

/** The number of a token of decimal digits, with a sign; NaN for anything else, such as an empty string or `null`. */
export function tokenNumber(bytes: Buffer, start: number, end: number): number {
  let at = start;
  const negative = bytes[at] === 0x2d;
  if (negative) at += 1;
  if (at === end) return Number.NaN;
  let value = 0;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}
