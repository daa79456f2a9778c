import {
  afterBrackets,
  afterLiteral,
  afterPlainText,
  afterSpace,
  afterString,
  CLOSE_ARRAY,
  COMMA,
  LETTER_N,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  textAt,
  textOf,
} from '../../platform/json/valid-json.ts';
import { QueryError } from '../errors.ts';
import { uniqueNames } from './columns/unique-names.ts';

const LINE_END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]/;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Rows in CSV. */
export interface CsvRows {
  readonly bytes: Uint8Array;
  /** Number of rows. */
  readonly rows: number;
}

export interface CsvShape {
  readonly columns: number;
  readonly first: number;
}

/**
 * CSV (RFC 4180) in UTF-8. Numbers keep the engine's spelling, arrays and objects are JSON, null is an empty field, and an empty string is
 * `""`. Downloads resume by bytes: a change of these rules needs another `tag` in `format.ts`.
 */
export function csvHeader(columnNames: readonly string[]): Buffer {
  return Buffer.from(uniqueNames(columnNames).map(quoted).join(',') + LINE_END);
}

/**
 * @param json complete rows, each a JSON array with the comma after it
 * @param shape the number of columns, and the number of the first row in the result; rows of any length where absent
 * @throws {QueryError} bad-response for a row with more or fewer values: readers would shift them, or skip the row
 */
export function csvRows(json: Uint8Array, shape?: CsvShape): CsvRows {
  const converter = new Converter(json, shape);
  const rows = converter.convert();
  return { bytes: converter.bytes(), rows };
}

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Copies the bytes of values; only those with an escape, arrays and objects are decoded. */
class Converter {
  readonly #in: Uint8Array;
  readonly #shape: CsvShape | undefined;
  #out: Buffer;
  #length = 0;

  constructor(json: Uint8Array, shape: CsvShape | undefined) {
    this.#in = json;
    this.#shape = shape;
    this.#out = Buffer.allocUnsafeSlow(json.length + (json.length >> 2) + 1024);
  }

  bytes(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  /** @returns the number of rows */
  convert(): number {
    const bytes = this.#in;
    let rows = 0;
    for (let at = afterSpace(bytes, 0); at < bytes.length; rows++) {
      if (bytes[at] !== OPEN_ARRAY) throw new TypeError('the value is not an array');
      at = this.#row(at + 1, rows);
      this.#reserve(2);
      this.#out[this.#length++] = CARRIAGE_RETURN;
      this.#out[this.#length++] = LINE_FEED;
      at = afterSpace(bytes, at);
      if (at < bytes.length && bytes[at] !== COMMA) throw new TypeError('the array is not valid JSON');
      at = afterSpace(bytes, at + 1);
    }
    return rows;
  }

  /** @returns the offset after the `]` of the row */
  #row(from: number, row: number): number {
    const bytes = this.#in;
    let at = afterSpace(bytes, from);
    let count = 0;
    if (bytes[at] === CLOSE_ARRAY) return this.#complete(row, count, at + 1);
    for (;;) {
      at = afterSpace(bytes, this.#value(at));
      count++;
      const next = bytes[at++];
      if (next === CLOSE_ARRAY) return this.#complete(row, count, at);
      if (next !== COMMA) throw new TypeError('the array is not valid JSON');
      this.#reserve(1);
      this.#out[this.#length++] = COMMA;
      at = afterSpace(bytes, at);
    }
  }

  #complete(row: number, count: number, end: number): number {
    const { columns = count, first = 0 } = this.#shape ?? {};
    if (count === columns) return end;
    const text = `row ${first + row} of the result has ${count} values, but the result has ${columns} columns`;
    throw new QueryError('bad-response', text);
  }

  /** @returns the offset after the value */
  #value(from: number): number {
    const bytes = this.#in;
    const first = bytes[from];
    if (first === QUOTE) return this.#string(from);
    if (first === OPEN_ARRAY || first === OPEN_OBJECT) {
      const end = afterBrackets(bytes, from);
      this.#copyQuoted(from, end);
      return end;
    }
    const end = afterLiteral(bytes, from);
    if (first !== LETTER_N) this.#copy(from, end);
    return end;
  }

  #string(from: number): number {
    const bytes = this.#in;
    const close = afterPlainText(bytes, from + 1);
    if (bytes[close] === QUOTE) {
      // The value is written as it is, with its quotes.
      if (close === from + 1 || hasSpecial(bytes, from + 1, close)) this.#copy(from, close + 1);
      else this.#copy(from + 1, close);
      return close + 1;
    }
    const end = afterString(bytes, from);
    if (end > bytes.length) throw new TypeError('the array is not valid JSON');
    this.#write(quoted(textOf(textAt(bytes, from, end))));
    return end;
  }

  #copy(from: number, end: number): void {
    this.#reserve(end - from);
    const bytes = this.#in;
    const out = this.#out;
    let length = this.#length;
    // A loop is faster than a call for the few bytes of most values.
    if (end - from > 64) {
      out.set(bytes.subarray(from, end), length);
      length += end - from;
    } else for (let at = from; at < end; at++) out[length++] = bytes[at] as number;
    this.#length = length;
  }

  /** Copies JSON of an array or an object. */
  #copyQuoted(from: number, end: number): void {
    const bytes = this.#in;
    if (!hasSpecial(bytes, from, end)) return this.#copy(from, end);
    this.#reserve(2 * (end - from) + 2);
    const out = this.#out;
    let length = this.#length;
    out[length++] = QUOTE;
    for (let at = from; at < end; at++) {
      const byte = bytes[at] as number;
      // Line breaks outside of strings are white space, in strings JSON has none.
      out[length++] = byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte;
      if (byte === QUOTE) out[length++] = QUOTE;
    }
    out[length++] = QUOTE;
    this.#length = length;
  }

  #write(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#out.write(text, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * this.#out.length + more);
    this.#out.copy(larger, 0, 0, this.#length);
    this.#out = larger;
  }
}

function hasSpecial(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE || byte === COMMA || byte < SPACE) return true;
  }
  return false;
}
