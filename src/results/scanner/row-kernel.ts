import { QueryError } from '../errors.ts';

/** Called at the start of a row with its number (from 0) and its offset in the current chunk. */
export type RowSink = (row: number, offset: number) => void;

/**
 * Scans one `rows` array, chunk by chunk, starting after its `[`. Every byte is checked to be JSON in UTF-8. No value is
 * decoded: the bytes of the rows are what matters.
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

/** The depth at which the JSON library of the engine stops, too (Jackson: `StreamWriteConstraints.DEFAULT_MAX_DEPTH`). */
export const MAX_NESTING = 1000;

export const TOO_DEEP = `values nested deeper than ${MAX_NESTING} levels`;
export const MISMATCH = 'a closing bracket that does not match the opening one';

/**
 * @param what what is wrong
 * @param row number of rows started before the error
 */
export function badRow(what: string, row: number): QueryError {
  return new QueryError(
    'bad-answer',
    `the engine's response is not valid JSON: \`resultTable.rows\` has ${what} near row ${row}`,
  );
}
