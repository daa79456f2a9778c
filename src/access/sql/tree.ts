import type { Keyword, Mark } from './keywords.ts';
import type { StringPrefix } from './lexer.ts';

/** A place in the text that names a table. */
export interface TableReference {
  /** Parts without quotes, with their spelling. */
  readonly parts: readonly string[];
  /** Offset in the text. */
  readonly at: number;
}

/** A hint option: `key='value'` or a plain value. */
export interface HintOption {
  readonly key: string | undefined;
  readonly value: string;
  readonly kind: 'name' | 'string' | 'number';
}

export interface Hint {
  readonly name: string;
  readonly options: readonly HintOption[] | undefined;
}

/**
 * Elements of a text, in order. The printer prints nothing else:
 * the printed text can only name tables from `table`, `lookup` and `text` pieces.
 */
export type Piece =
  | { readonly kind: 'keyword'; readonly text: Keyword }
  | { readonly kind: 'mark'; readonly text: Mark }
  /** A word from a closed list (time units, types, constants, functions), printed with its spelling. */
  | { readonly kind: 'bare'; readonly text: string }
  /** A column, an alias, a function, a common table expression. */
  | { readonly kind: 'name'; readonly parts: readonly string[] }
  | { readonly kind: 'table'; readonly table: TableReference }
  /** First argument of `LOOKUP`. */
  | { readonly kind: 'lookup'; readonly table: TableReference }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly prefix: StringPrefix }
  | { readonly kind: 'hints'; readonly hints: readonly Hint[] }
  /** Query within a string, as in `IN_SUBQUERY`. */
  | { readonly kind: 'text'; readonly script: Script; readonly at: number }
  /** `OPTION(key=value, …)` at the end of a query. */
  | { readonly kind: 'options'; readonly options: readonly Option[] };

export interface Option {
  readonly key: string;
  readonly value: string;
  /** Offset in the text; 0 for an option beside the text. */
  readonly at: number;
}

/** A complete text: options and one query. */
export interface Script {
  readonly pieces: readonly Piece[];
  /** Options set by the text, in order. */
  readonly options: readonly Option[];
  /** Maximum number of rows of the outermost query; undefined if not limited. */
  readonly limit: number | undefined;
}
