import { QueryError } from '../../errors.ts';
import { afterSpace, afterValue, CLOSE_ARRAY, COMMA, OPEN_ARRAY } from '../json-bytes.ts';
import { type AnyColumn, appendValue } from './append.ts';
import { Float32Column, Float64Column, Int32Column, Int64Column } from './numbers.ts';
import { BooleanColumn, BytesColumn, ListColumn, TextColumn } from './texts.ts';

/** The columns of a result as the engine names them. */
export interface Columns {
  readonly columnNames: readonly string[];
  readonly columnDataTypes: readonly string[];
}

/** Rows as columns. They are valid until the next batch is read. */
export interface ColumnBatch {
  readonly numRows: number;
  readonly columns: readonly AnyColumn[];
}

/** Bytes of rows in one batch. */
const BATCH_BYTES = 1024 * 1024;
const ARRAY = '_ARRAY';

/** A column for values of a type of the engine. A type without an exact equivalent is text, as the engine writes it. */
export function createColumn(type: string): AnyColumn {
  return type.endsWith(ARRAY) ? new ListColumn(createItems(type.slice(0, -ARRAY.length))) : createItems(type);
}

/** A column for single values. The engine has no lists of lists: those would be texts. */
function createItems(type: string): AnyColumn {
  switch (type) {
    case 'INT':
      return new Int32Column();
    case 'LONG':
      return new Int64Column();
    case 'FLOAT':
      return new Float32Column();
    case 'DOUBLE':
      return new Float64Column();
    case 'BOOLEAN':
      return new BooleanColumn();
    case 'BYTES':
      return new BytesColumn();
    default:
      return new TextColumn();
  }
}

/**
 * Reads rows into columns, in batches of about 1 MB of rows. Values are read from their bytes: no value becomes a JavaScript object on the way.
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-answer for a value that is not of the type of its column
 */
export async function* columnBatches(
  columns: readonly AnyColumn[],
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<ColumnBatch> {
  const reader = new RowReader(columns);
  /** Bytes of the rows of the batch. */
  let filled = 0;
  for await (const bytes of rows) {
    for (let at = 0; at < bytes.length;) {
      const end = reader.read(bytes, at, BATCH_BYTES - filled);
      filled += end - at;
      at = end;
      if (filled < BATCH_BYTES) continue;
      yield reader.batch();
      reader.clear();
      filled = 0;
    }
  }
  if (filled > 0) yield reader.batch();
}

class RowReader {
  readonly #columns: readonly AnyColumn[];
  #numRows = 0;
  /** Number of the first row of the batch. */
  #first = 0;

  constructor(columns: readonly AnyColumn[]) {
    this.#columns = columns;
  }

  batch(): ColumnBatch {
    return { numRows: this.#numRows, columns: this.#columns };
  }

  clear(): void {
    for (const column of this.#columns) column.clear();
    this.#first += this.#numRows;
    this.#numRows = 0;
  }

  /** Reads rows until `length` bytes are read, and at least one. @returns the offset after the rows */
  read(bytes: Uint8Array, from: number, length: number): number {
    let at = from;
    do {
      at = this.#row(bytes, at);
      this.#numRows++;
      // Reading after the end of the bytes makes all reads slower.
      if (at < bytes.length) at = afterSpace(bytes, at);
      if (at < bytes.length && bytes[at++] !== COMMA) throw this.#wrong('is not a JSON array');
      if (at < bytes.length) at = afterSpace(bytes, at);
    } while (at < bytes.length && at - from < length);
    return at;
  }

  /** @returns the offset after the `]` of the row */
  #row(bytes: Uint8Array, from: number): number {
    const columns = this.#columns;
    const start = afterSpace(bytes, from);
    if (bytes[start] !== OPEN_ARRAY) throw this.#wrong('is not a JSON array');
    let at = afterSpace(bytes, start + 1);
    let i = 0;
    try {
      for (; i < columns.length; i++) {
        if (i > 0 && bytes[at++] !== COMMA) throw this.#wrongCount(bytes, start);
        at = afterSpace(bytes, at);
        if (bytes[at] === CLOSE_ARRAY) throw this.#wrongCount(bytes, start);
        at = afterSpace(bytes, appendValue(columns[i] as AnyColumn, bytes, at));
      }
    } catch (error) {
      throw error instanceof QueryError
        ? error
        : this.#wrong(`has a value in column ${i} that is not of its type`, error);
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
    return new QueryError('bad-answer', `row ${this.#first + this.#numRows} of the result ${what}`, { cause });
  }
}
