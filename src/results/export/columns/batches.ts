import { QueryError } from '../../errors.ts';
import { afterSpace, afterValue, CLOSE_ARRAY, COMMA, OPEN_ARRAY } from '../../../platform/json/valid-json.ts';
import type { Column } from './column.ts';

/** The columns of a result as the engine names them. */
export interface Columns {
  readonly columnNames: readonly string[];
  readonly columnDataTypes: readonly string[];
}

/** Rows as columns. They are valid until the next batch is read. */
export interface ColumnBatch {
  readonly numRows: number;
  readonly columns: readonly Column[];
}

/** Bytes of rows in one batch. */
const BATCH_BYTES = 1024 * 1024;

/**
 * Reads rows into columns, in batches of about 1 MB of rows. Values are read from their bytes: few become JavaScript objects on the way.
 * @param columns have the values of one batch after the other
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-response for a value that is not of the type of its column
 */
export async function* columnBatches(
  columns: readonly Column[],
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<ColumnBatch> {
  const reader = new RowReader(columns);
  for await (const bytes of rows) {
    for (let at = 0; at < bytes.length;) {
      at = reader.read(bytes, at);
      if (!reader.isFull) continue;
      yield { numRows: reader.rows, columns };
      reader.clear();
    }
  }
  if (reader.rows > 0) yield { numRows: reader.rows, columns };
}

class RowReader {
  /** Rows of the batch. */
  rows = 0;
  readonly #columns: readonly Column[];
  /** Bytes of the rows of the batch. */
  #filled = 0;
  /** Number of the first row of the batch. */
  #first = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  get isFull(): boolean {
    return this.#filled >= BATCH_BYTES;
  }

  clear(): void {
    for (const column of this.#columns) column.clear();
    this.#first += this.rows;
    this.rows = 0;
    this.#filled = 0;
  }

  /** Reads rows until the batch is full or all are read. @returns the offset after them */
  read(bytes: Uint8Array, from: number): number {
    const stop = from + BATCH_BYTES - this.#filled;
    let at = afterSpace(bytes, from);
    while (at < bytes.length && at < stop) {
      if (bytes[at] !== OPEN_ARRAY) throw this.#wrong('is not a JSON array');
      at = afterSpace(bytes, this.#row(bytes, at));
      this.rows++;
      if (at < bytes.length && bytes[at++] !== COMMA) throw this.#wrong('is not a JSON array');
      at = afterSpace(bytes, at);
    }
    this.#filled += at - from;
    return at;
  }

  /** @param start where the `[` of the row is. @returns the offset after its `]` */
  #row(bytes: Uint8Array, start: number): number {
    let at = afterSpace(bytes, start + 1);
    for (let i = 0; i < this.#columns.length; i++) {
      if (i > 0) {
        if (bytes[at] !== COMMA) throw this.#wrongCount(bytes, start);
        at = afterSpace(bytes, at + 1);
      }
      if (bytes[at] === CLOSE_ARRAY) throw this.#wrongCount(bytes, start);
      try {
        at = (this.#columns[i] as Column).append(bytes, at);
        if (at > bytes.length) throw new TypeError('the row is not complete');
      } catch (error) {
        throw this.#wrong(`has a value in column ${i} that is not of its type`, error);
      }
      at = afterSpace(bytes, at);
    }
    if (bytes[at] !== CLOSE_ARRAY) throw this.#wrongCount(bytes, start);
    return at + 1;
  }

  #wrongCount(bytes: Uint8Array, start: number): QueryError {
    let at = afterSpace(bytes, start + 1);
    let count = 0;
    for (; bytes[at] !== CLOSE_ARRAY; count++) {
      const end = afterSpace(bytes, afterValue(bytes, at));
      at = bytes[end] === COMMA ? afterSpace(bytes, end + 1) : end;
      if (bytes[end] !== COMMA && bytes[end] !== CLOSE_ARRAY) break;
    }
    return this.#wrong(`has ${count} values`);
  }

  #wrong(what: string, cause?: unknown): QueryError {
    return new QueryError('bad-response', `row ${this.#first + this.rows} of the result ${what}`, { cause });
  }
}
