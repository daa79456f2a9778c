import { quotesIn } from './quote-index.ts';

/**
 * Receives the tokens of a JSON text from a JsonScanner as byte ranges, and converts only those that it needs.
 *
 * The metadata of a million segments is more than half a gigabyte of JSON, of which the checks need five numbers for each segment. A parser
 * that builds objects would take seconds of CPU and much memory. The scanner copies only tokens that span two chunks.
 */
export interface JsonVisitor {
  /** The key of a member of the object at `depth` (1 for the outermost value): the bytes between the quotes, still escaped. */
  key(bytes: Buffer, start: number, end: number, depth: number): void;
  /** A string (the bytes between the quotes, still escaped), number, true, false or null in the object or array at `depth`. */
  scalar(bytes: Buffer, start: number, end: number, depth: number): void;
  /** The object at `depth` ends. */
  endObject?(depth: number): void;
  /**
   * Optional: called instead of `key` and `scalar` for consecutive members of the object at `depth` that have string values and no escapes.
   * Each member has four entries in `marks`, from index `from` to `to` (exclusive): the offsets of the two quotes around its key and of those
   * around its value. The members of one object may come in several calls. `marks` is valid only during the call.
   */
  members?(bytes: Buffer, marks: Uint32Array, from: number, to: number, depth: number): void;
  /** True once the visitor needs nothing more: the rest of the text is not scanned. */
  satisfied?(): boolean;
}

/** Far more than any name or number in the engine's responses. */
const MAX_TOKEN_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
/** Bytes of the next chunk that are first joined to an incomplete token; nearly all tokens end within them. */
const JOINED_BYTES = 256;

/** The capacity of the quote index; the chunks of a connection are not larger. */
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
  /** Index of the first entry of the chunk's quote index that may be ahead of the current position. */
  #mark = 0;

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor;
  }

  /** @throws {Error} the bytes are not JSON */
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
    // A copy, because the chunk belongs to the stream.
    this.#carry = used === chunk.length ? EMPTY : Buffer.from(chunk.subarray(used));
  }

  /**
   * Completes the token that the previous chunk started.
   * @returns the offset in the chunk after the token, or -1 if the token does not end in this chunk
   */
  #finish(chunk: Buffer): number {
    const { length } = this.#carry;
    for (let take = JOINED_BYTES; ; take *= 16) {
      const joined = Buffer.concat([this.#carry, chunk.subarray(0, take)]);
      const used = this.#scan(joined, 0);
      if (used >= length) return used - length;
      if (take >= chunk.length) {
        if (joined.length > MAX_TOKEN_BYTES) throw new Error('the response has a token of more than 1 MiB');
        this.#carry = joined;
        return -1;
      }
    }
  }

  /** @throws {Error} the text ended within a value */
  end(): void {
    // Ends a number or word at the top level.
    if (this.#carry.length > 0) this.push(Buffer.from('\n'));
    if (this.#depth !== 0 || this.#values === 0 || this.#carry.length > 0)
      throw new Error('the response ended unexpectedly');
  }

  /** @returns the number of bytes used; the rest is the start of an incomplete token */
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
   * Fast path: handles consecutive members of the form `"key":"value",` without escapes and spaces, the form of nearly all members.
   * @param from offset of the quote that opens a key
   * @returns the offset of the first byte that was not handled
   */
  #members(bytes: Buffer, marks: Uint32Array, from: number): number {
    const { length } = bytes;
    let mark = this.#mark;
    while ((marks[mark] as number) < from) mark += 1;
    const first = mark;
    let at = from;
    for (;;) {
      const keyEnd = marks[mark + 1] as number;
      // If a quote follows the colon, it is the next mark. After the last mark there is one past the end of the chunk, so no bound is needed.
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
    if (mark > first) this.#visitMembers(bytes, marks, first);
    return at;
  }

  /** @param first the first mark of the members; the last one is before `#mark` */
  #visitMembers(bytes: Buffer, marks: Uint32Array, first: number): void {
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

  /** The offset of the quote that closes the string at `start`; past the end of the chunk if it does not end in it. */
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

  /** @returns the offset after the string */
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
      throw new Error(`the response is not JSON: \`${bytes.toString('latin1', start, Math.min(end, start + 40))}\``);
    }
    this.#values += 1;
    this.#visitor.scalar(bytes, start, end, this.#depth);
  }

  /** @returns false if the byte is not punctuation of JSON */
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
    if (this.#depth === MAX_DEPTH) throw new Error(`the response is nested deeper than ${MAX_DEPTH}`);
    this.#depth += 1;
    this.#kinds[this.#depth] = isObject ? 1 : 0;
    this.#expectKey = isObject;
  }

  #close(isObject: boolean): void {
    if (this.#depth === 0 || (this.#kinds[this.#depth] === 1) !== isObject)
      throw new Error('the response is not JSON: unbalanced brackets');
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

/** The unescaped text of a string token. */
export function tokenText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** Whether the token equals this ASCII word. */
export function tokenIs(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  // Backwards, because the engine's names share prefixes.
  for (let i = word.length - 1; i >= 0; i -= 1) if (bytes[start + i] !== word[i]) return false;
  return true;
}

/** The value of a token of decimal digits with an optional minus sign; NaN for any other token. */
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
