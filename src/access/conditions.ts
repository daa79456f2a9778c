import type { RowFilter } from './sql/row-filter.ts';
import type { Sequence } from './sql/tree.ts';

/** What a caller may read of a table: the union of the statements that allow it. Values of the caller are literals already. */
export interface TableConditions {
  /** Rows of any alternative; all filters of an alternative must hold. undefined: all rows. */
  readonly rows: readonly (readonly RowFilter[])[] | undefined;
  /** undefined: all columns. Names exactly as in the schema. */
  readonly columns: { readonly kind: 'allow' | 'deny'; readonly names: ReadonlySet<string> } | undefined;
  /** Expression in place of a column, by column. */
  readonly masks: ReadonlyMap<string, Mask>;
  /** Equal for equal conditions, in a fixed order: for the comparison with those that made a stored result, and for records. */
  readonly key: string;
}

/** What is read in place of a column. */
export interface Mask {
  readonly expression: Sequence;
  /** As written in the policy. */
  readonly text: string;
}

/** Whether a caller may query a table, and which part of it. `conditions: undefined`: all of it. */
export type Reading =
  | { readonly allowed: false }
  | { readonly allowed: true; readonly conditions: TableConditions | undefined };
