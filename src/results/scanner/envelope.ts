import { QueryError } from '../errors.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A response without rows is usually a few KB; column names of wide tables or a trace may make it larger. */
export const MAX_ENVELOPE_BYTES = 16 * 1024 * 1024;
/** Traces of stages are nested, but far less than this. */
const MAX_DEPTH = 1000;

/**
 * The response without its rows: parses the JSON just enough to find the array `resultTable.rows` at any position, and keeps
 * all other bytes. JSON.parse validates them at the end.
 */
export class Envelope {
  #bytes = Buffer.allocUnsafe(4096);
  #length = 0;
  readonly #maxBytes: number;
  /** For each open bracket whether it is an object. */
  readonly #objects: boolean[] = [];
  #stringStart = -1;
  #escaped = false;
  #expectName = false;
  #name = '';
  #inResultTable = false;
  #rowsSeen = false;

  constructor(maxBytes = MAX_ENVELOPE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes bytes up to and including the `[` of `resultTable.rows`.
   * @returns the offset after that `[`, or -1 if it is not in this chunk
   * @throws {QueryError} bad-answer
   */
  push(chunk: Uint8Array, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (this.#stringStart >= 0) this.#insideString(byte, chunk, i, from);
      else if (this.#structure(byte, this.#length + i - from)) {
        this.#keep(chunk.subarray(from, i + 1));
        return i + 1;
      }
    }
    this.#keep(chunk.subarray(from));
    return -1;
  }

  /** The caller has reached the `]` of `rows`. */
  rowsEnded(): void {
    this.#objects.pop();
    this.#keep(Uint8Array.of(CLOSE_ARRAY));
  }

  /** Number of bytes kept so far. */
  get length(): number {
    return this.#length;
  }

  /** The kept bytes, split at an offset. */
  split(at: number): { head: Uint8Array; tail: Uint8Array } {
    return { head: this.#bytes.subarray(0, at), tail: this.#bytes.subarray(at, this.#length) };
  }

  /** The response with empty `rows`. */
  text(): string {
    return this.#bytes.toString('utf8', 0, this.#length);
  }

  #insideString(byte: number, chunk: Uint8Array, at: number, from: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      if (this.#expectName && this.#objects.length <= 2) {
        const start = this.#stringStart;
        this.#name = decodeName(
          start >= this.#length
            ? Buffer.from(chunk.subarray(start - this.#length + from, at + 1)).toString()
            : this.#bytes.toString('utf8', start, this.#length) + Buffer.from(chunk.subarray(from, at + 1)).toString(),
        );
      }
      this.#expectName = false;
      this.#stringStart = -1;
    }
  }

  /** @returns true if the byte opens `resultTable.rows` */
  #structure(byte: number, position: number): boolean {
    switch (byte) {
      case QUOTE:
        this.#stringStart = position;
        return false;
      case COMMA:
        this.#expectName = this.#objects.at(-1) ?? false;
        return false;
      case OPEN_OBJECT:
        if (this.#objects.length === 1 && this.#name === 'resultTable') this.#inResultTable = true;
        this.#open(true);
        return false;
      case OPEN_ARRAY:
        this.#open(false);
        return this.#opensRows();
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#objects.pop();
        if (this.#objects.length === 1) this.#inResultTable = false;
        return false;
      default:
        if (this.#objects.length === 0 && byte > SPACE) throw notJson();
        return false;
    }
  }

  #open(object: boolean): void {
    if (this.#objects.length === MAX_DEPTH) {
      throw new QueryError('bad-answer', `the engine's response is nested deeper than ${MAX_DEPTH} levels`);
    }
    this.#objects.push(object);
    this.#expectName = object;
  }

  #opensRows(): boolean {
    if (this.#objects.length === 1) throw notJson();
    if (!this.#inResultTable || this.#objects.length !== 3 || this.#name !== 'rows') return false;
    if (this.#rowsSeen) throw new QueryError('bad-answer', "the engine's response contains `resultTable.rows` twice");
    this.#rowsSeen = true;
    return true;
  }

  #keep(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#maxBytes) {
      throw new QueryError(
        'bad-answer',
        `the engine's response has more than ${this.#maxBytes} bytes in addition to its rows`,
      );
    }
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = needed;
  }
}

function notJson(): QueryError {
  return new QueryError('bad-answer', "the engine's response is not a JSON object");
}

function decodeName(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return '';
  }
}
