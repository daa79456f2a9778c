import { EVENT, JsonMachine } from '../../../platform/json/machine.ts';

/**
 * Receives the tokens of a JSON text from a JsonScanner as byte ranges, and converts only those that it needs.
 *
 * The metadata of a million segments is more than half a gigabyte of JSON, of which the checks need five numbers for each segment. A parser
 * that builds objects would take seconds of CPU and much memory. The scanner copies only tokens that span two chunks.
 */
export interface JsonVisitor {
  /** Objects and arrays below this depth are not read: each is given to `scalar` as it is written. By default, all are read. */
  readonly maxDepth?: number;
  /** The key of a member of the object at `depth` (1 for the outermost value): the bytes between the quotes, still escaped. */
  key(bytes: Buffer, start: number, end: number, depth: number): void;
  /** A string (the bytes between the quotes, still escaped), number, true, false or null in the object or array at `depth`. */
  scalar(bytes: Buffer, start: number, end: number, depth: number): void;
  /** The object at `depth` ends. */
  endObject?(depth: number): void;
  /** True once the visitor needs nothing more: the rest of the text is not scanned. */
  satisfied?(): boolean;
}

/** Far more than any name or number in the engine's responses. */
const MAX_TOKEN_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
/** Bytes of an invalid text in a message. */
const SHOWN_BYTES = 40;

const EMPTY = Buffer.alloc(0);

export class JsonScanner {
  readonly #visitor: JsonVisitor;
  readonly #maxDepth: number;
  readonly #machine = new JsonMachine(MAX_DEPTH);
  /** Where an object or array that is given as a whole begins; undefined outside of one. */
  #wholeStart: number | undefined;
  /** The beginning of a token that continues in the next chunk. */
  #carry: Buffer[] = [];

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor;
    this.#maxDepth = visitor.maxDepth ?? MAX_DEPTH;
  }

  /** @throws {Error} the bytes are not JSON */
  push(chunk: Buffer): void {
    const machine = this.#machine;
    let at = 0;
    do {
      at = machine.scan(chunk, at, this.#maxDepth);
      switch (machine.event) {
        case EVENT.none:
          this.#keep(chunk);
          break;
        case EVENT.key:
        case EVENT.string:
        case EVENT.word:
          this.#token(chunk, machine.start, machine.end);
          break;
        case EVENT.openObject:
        case EVENT.openArray:
          if (machine.depth > this.#maxDepth) this.#wholeStart = at - 1;
          break;
        case EVENT.closeObject:
        case EVENT.closeArray:
          this.#close(chunk, at);
          break;
        case EVENT.tooDeep:
          throw new Error(`the response is nested deeper than ${MAX_DEPTH}`);
        default:
          throw new Error(`the response is not JSON: \`${chunk.toString('latin1', at - 1, at - 1 + SHOWN_BYTES)}\``);
      }
    } while (machine.event !== EVENT.none);
  }

  /** @throws {Error} the text ended within a value */
  end(): void {
    if (!this.#machine.complete()) throw new Error('the response ended unexpectedly');
    if (this.#machine.event === EVENT.word) this.#token(EMPTY, this.#machine.start, 0);
  }

  #close(chunk: Buffer, at: number): void {
    const { event, depth } = this.#machine;
    if (this.#wholeStart === undefined) {
      if (event === EVENT.closeObject) this.#visitor.endObject?.(depth + 1);
      return;
    }
    const start = this.#wholeStart;
    this.#wholeStart = undefined;
    this.#token(chunk, start, at);
  }

  /** @param start negative where the token begins in an earlier chunk */
  #token(chunk: Buffer, start: number, end: number): void {
    if (start >= 0) {
      this.#visit(chunk, start, end);
      return;
    }
    const whole = Buffer.concat([...this.#carry, chunk.subarray(0, end)]);
    this.#carry = [];
    this.#visit(whole, 0, whole.length);
  }

  #visit(bytes: Buffer, start: number, end: number): void {
    const { event, depth } = this.#machine;
    if (event === EVENT.key) this.#visitor.key(bytes, start, end, depth);
    else this.#visitor.scalar(bytes, start, end, depth);
  }

  /** Keeps the beginning of a token: a copy, because the chunk belongs to the stream. */
  #keep(chunk: Buffer): void {
    const machine = this.#machine;
    if (this.#wholeStart !== undefined) this.#wholeStart -= chunk.length;
    else if (!machine.inToken) return;
    const start = this.#wholeStart ?? machine.start;
    if (-start > MAX_TOKEN_BYTES) throw new Error('the response has a token of more than 1 MiB');
    this.#carry.push(Buffer.from(chunk.subarray(Math.max(0, chunk.length + start))));
  }
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
