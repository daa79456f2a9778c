import { LETTER_N } from '../json-bytes.ts';
import type { Float32Column, Float64Column, Int32Column, Int64Column } from './numbers.ts';
import type { BooleanColumn, BytesColumn, ListColumn, TextColumn } from './texts.ts';

/** A column of any type. */
export type AnyColumn =
  | Int32Column
  | Int64Column
  | Float32Column
  | Float64Column
  | BooleanColumn
  | BytesColumn
  | TextColumn
  | ListColumn;

/**
 * Appends a value or null to a column.
 * @param at the first byte of JSON of a value
 * @returns the offset after the value
 * @throws {Error} if the type cannot represent the value exactly
 */
export function appendValue(column: AnyColumn, bytes: Uint8Array, at: number): number {
  if (bytes[at] === LETTER_N) return column.appendNull(bytes, at);
  // A call for each class, because V8 inlines only calls of one or few functions: one call for all of them took a fifth of the time of a download.
  switch (column.kind) {
    case 'int32':
      return column.append(bytes, at);
    case 'int64':
      return column.append(bytes, at);
    case 'text':
      return column.append(bytes, at);
    case 'float64':
      return column.append(bytes, at);
    case 'list':
      return column.append(bytes, at);
    case 'float32':
      return column.append(bytes, at);
    case 'boolean':
      return column.append(bytes, at);
    case 'bytes':
      return column.append(bytes, at);
  }
}
