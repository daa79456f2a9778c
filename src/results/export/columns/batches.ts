import { QueryError } from '../../errors.ts';
import { afterSpace, afterValue, CLOSE_ARRAY, COMMA } from '../json-bytes.ts';
import type { AnyColumn } from './column.ts';
import { type ColumnKernel, releaseKernel, RESULT, takeKernel } from './kernel.ts';
import { appendOther } from './other-values.ts';

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

/**
 * Reads rows into columns, in batches of about 1 MB of rows. Values are read from their bytes: few become JavaScript objects on the way.
 * @param columns show the values of each batch
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-answer for a value that is not of the type of its column
 */
export async function* columnBatches(
  columns: readonly AnyColumn[],
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<ColumnBatch> {
  const kernel = takeKernel(columns);
  const reader = new RowReader(kernel, columns);
  try {
    for await (const bytes of rows) {
      reader.load(bytes);
      while (reader.read()) {
        yield reader.batch();
        reader.clear();
      }
    }
    if (!reader.isEmpty) yield reader.batch();
  } finally {
    releaseKernel(kernel);
  }
}

class RowReader {
  readonly #kernel: ColumnKernel;
  readonly #columns: readonly AnyColumn[];
  #bytes: Uint8Array = new Uint8Array();
  /** Bytes of the rows of the batch. */
  #filled = 0;
  /** Number of the first row of the batch. */
  #first = 0;

  constructor(kernel: ColumnKernel, columns: readonly AnyColumn[]) {
    this.#kernel = kernel;
    this.#columns = columns;
  }

  get isEmpty(): boolean {
    return this.#kernel.rows === 0;
  }

  load(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#kernel.load(bytes);
  }

  batch(): ColumnBatch {
    for (const [i, column] of this.#columns.entries()) column.show(this.#kernel.slot(i));
    return { numRows: this.#kernel.rows, columns: this.#columns };
  }

  clear(): void {
    const kernel = this.#kernel;
    this.#first += kernel.rows;
    this.#filled = 0;
    if (!kernel.isLarge) {
      kernel.clear();
      return;
    }
    const rest = this.#bytes.subarray(kernel.position);
    kernel.begin(this.#columns);
    this.load(rest);
  }

  /** Reads the loaded rows. @returns whether the batch is complete; false: all are read */
  read(): boolean {
    const kernel = this.#kernel;
    const from = kernel.position;
    for (;;) {
      const result = kernel.run(from + BATCH_BYTES - this.#filled);
      switch (result) {
        case RESULT.batchRead:
          return true;
        case RESULT.allRead:
          this.#filled += kernel.position - from;
          return false;
        case RESULT.otherValue:
          this.#appendOther();
          break;
        case RESULT.wrongCount:
          throw this.#wrongCount(kernel.rowAt);
        default:
          throw this.#wrong('is not a JSON array');
      }
    }
  }

  #appendOther(): void {
    const { column, valueAt } = this.#kernel;
    try {
      this.#kernel.skipValue(appendOther(this.#kernel.slot(column), this.#bytes, valueAt));
    } catch (error) {
      throw this.#wrong(`has a value in column ${column} that is not of its type`, error);
    }
  }

  #wrongCount(start: number): QueryError {
    const bytes = this.#bytes;
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
    return new QueryError('bad-answer', `row ${this.#first + this.#kernel.rows} of the result ${what}`, { cause });
  }
}
