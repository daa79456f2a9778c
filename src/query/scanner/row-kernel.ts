import { QueryError } from '../errors.ts';

/** Told of the start of a row: its number from 0, and its offset in the chunk that is being scanned. */
export type RowSink = (row: number, offset: number) => void;

/**
 * The walk over one `rows` array, chunk by chunk, from the byte behind its `[`. Rows are never parsed: strings and brackets
 * alone tell where one ends.
 */
export interface RowWalk {
  /** Rows begun so far. */
  readonly rows: number;
  /** True once the `]` of `rows`, or the last row that was asked for, is behind. */
  readonly ended: boolean;
  /**
   * @param stride every how many rows the sink is told
   * @returns how many bytes of the chunk belong to the walk: all of them unless it ended in this chunk
   * @throws {QueryError} bad-answer
   */
  scan(chunk: Uint8Array, stride: number, sink: RowSink): number;
}

export interface RowKernel {
  readonly name: 'wasm' | 'js';
  /**
   * @param limit ends the walk behind this many rows; without it only the `]` of `rows` does
   */
  walk(limit?: number): RowWalk;
}

export const MAX_NESTING = 63;

/** What can be wrong inside `rows`; the numbers are shared with tools/generate/row-kernel.as. */
export const ROW_ERRORS: Readonly<Record<number, string>> = {
  1: 'a comma where a row should begin',
  2: 'something that is no array where a row should begin',
  3: 'a backslash outside of a string',
  4: 'an object where a row (an array) should begin',
  5: 'no comma between two rows',
  6: `values nested deeper than ${MAX_NESTING} levels`,
  7: 'a comma behind the last row',
  8: 'a bracket that closes what another kind has opened',
  9: 'a control character inside a string',
};

/** @param row how many rows were begun before the fault */
export function badRow(code: number, row: number): QueryError {
  return new QueryError(
    'bad-answer',
    `the engine's answer is not valid JSON: \`resultTable.rows\` has ${ROW_ERRORS[code] ?? 'a fault'} near row ${row}`,
  );
}
