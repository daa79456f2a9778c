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

/** A common table expression. The printed text calls it `cte <number>`, and gives its written name to each reference as an alias. */
export interface CommonTable {
  /** From 1, unique in the text and all texts within its strings. */
  readonly number: number;
  readonly name: string;
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
  /** A column, an alias, a function. */
  | { readonly kind: 'name'; readonly parts: readonly string[] }
  | { readonly kind: 'table'; readonly table: TableReference }
  /** The definition of a common table expression, or a reference to it. */
  | { readonly kind: 'common-table'; readonly table: CommonTable }
  /** First argument of `LOOKUP`. */
  | { readonly kind: 'lookup'; readonly table: TableReference }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly prefix: StringPrefix }
  | { readonly kind: 'hints'; readonly hints: readonly Hint[] }
  | TextPiece
  /** `OPTION(key=value, …)` at the end of a query. */
  | { readonly kind: 'options'; readonly options: readonly Option[] };

/** Query within a string, as in `IN_SUBQUERY`. */
export interface TextPiece {
  readonly kind: 'text';
  readonly sql: string;
  readonly at: number;
  /** Number of brackets, queries and calls around it. */
  readonly depth: number;
  /** Undefined until the text is parsed, which happens after the text around it. */
  script: Script | undefined;
}

/** @throws {Error} on a parser defect: a text that was not parsed may not be printed */
export function scriptOf({ script }: TextPiece): Script {
  if (script === undefined) throw new Error('a query within a string was not parsed');
  return script;
}

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
  /** Whether it is `EXPLAIN` of a query: the result is a plan. */
  readonly explains: boolean;
}
