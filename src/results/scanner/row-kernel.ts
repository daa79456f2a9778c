import { QueryError } from '../errors.ts';

/** Called at the start of a row with its number (from 0) and its offset in the current chunk. */
export type RowSink = (row: number, offset: number) => void;

/**
 * Scans one `rows` array, chunk by chunk, starting after its `[`. Rows are not parsed: only strings and brackets are tracked
 * to find the end of each row.
 */
export interface RowWalk {
  /** Number of rows started so far. */
  readonly rows: number;
  /** True after the `]` of `rows` or after the last requested row. */
  readonly ended: boolean;
  /**
   * @param stride calls the sink for every `stride`-th row
   * @returns how many bytes of the chunk belong to the array: all of them unless it ended in this chunk
   * @throws {QueryError} bad-answer
   */
  scan(chunk: Uint8Array, stride: number, sink: RowSink): number;
}

export interface RowKernel {
  readonly name: 'wasm' | 'js';
  /**
   * @param limit stops after this many rows; default: at the `]` of `rows`
   */
  walk(limit?: number): RowWalk;
}

export const MAX_NESTING = 63;

/** Errors inside `rows`; the numbers are shared with tools/generate/row-kernel.as. */
export const ROW_ERRORS: Readonly<Record<number, string>> = {
  1: 'a comma where a row should begin',
  2: 'a value other than an array where a row should begin',
  3: 'a backslash outside of a string',
  4: 'an object where a row (an array) should begin',
  5: 'no comma between two rows',
  6: `values nested deeper than ${MAX_NESTING} levels`,
  7: 'a comma after the last row',
  8: 'a closing bracket that does not match the opening one',
  9: 'a control character inside a string',
};

/** @param row number of rows started before the error */
export function badRow(code: number, row: number): QueryError {
  return new QueryError(
    'bad-answer',
    `the engine's response is not valid JSON: \`resultTable.rows\` has ${ROW_ERRORS[code] ?? 'an error'} near row ${row}`,
  );
}
