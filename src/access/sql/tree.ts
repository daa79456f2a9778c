import type { Keyword, Mark } from './keywords.ts';
import type { StringPrefix } from './lexer.ts';

/** A place in the text that names a table. */
export interface TableReference {
  /** Parts without quotes, with their spelling. */
  readonly parts: readonly string[];
  /** Offset in the text. */
  readonly at: number;
}

/** A common table expression. The printed text calls it `cte <number>`, and gives its written name to each reference as an alias. */
export interface CommonTable {
  /** From 1, unique in the text and all texts within its strings. */
  readonly number: number;
  readonly name: string;
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

export interface Option {
  readonly key: string;
  readonly value: string;
  /** Offset in the text; 0 for an option beside the text. */
  readonly at: number;
}

/** What the names of columns in a SELECT may refer to. */
export interface Scope {
  /** Of the query around this one; undefined for the outermost. */
  readonly outer: Scope | undefined;
  /** Items of its FROM, also those in parentheses. The parser adds each when it is complete. */
  readonly sources: FromItem[];
}

/**
 * Elements that are printed as they are. The printer prints nothing else:
 * the printed text can only name tables from `table`, `lookup` and `text` leaves.
 */
export type Leaf =
  | { readonly kind: 'keyword'; readonly text: Keyword }
  | { readonly kind: 'mark'; readonly text: Mark }
  | FunctionName
  | Column
  | TableName
  /** First argument of `LOOKUP`. */
  | { readonly kind: 'lookup'; readonly table: TableReference }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly prefix: StringPrefix }
  | Hints
  | TextLeaf
  /** `OPTION(key=value, …)` at the end of a query. */
  | OptionClause;

export type FunctionName =
  /** A word from a closed list (time units, types, constants, functions), printed with its spelling. */
  | { readonly kind: 'bare'; readonly text: string }
  /** An alias, a function, a type, a field. */
  | { readonly kind: 'name'; readonly parts: readonly string[] };

export interface Hints {
  readonly kind: 'hints';
  readonly hints: readonly Hint[];
}

/** `column`, `qualifier.column`, `qualifier.*`, `*` */
export interface Column {
  readonly kind: 'column';
  /** Qualifiers and name; for all columns only the qualifiers. */
  readonly parts: readonly string[];
  readonly isAll: boolean;
  /** Undefined outside of a SELECT. */
  readonly scope: Scope | undefined;
}

export type TableName =
  | { readonly kind: 'table'; readonly table: TableReference }
  /** The definition of a common table expression, or a reference to it. */
  | { readonly kind: 'common-table'; readonly table: CommonTable };

export interface OptionClause {
  readonly kind: 'options';
  readonly options: readonly Option[];
}

/** Query within a string, as in `IN_SUBQUERY`. */
export interface TextLeaf {
  readonly kind: 'text';
  readonly sql: string;
  readonly at: number;
  /** Number of brackets, queries and calls around it. */
  readonly depth: number;
  /** Undefined until the text is parsed, which happens after the text around it. */
  script: Script | undefined;
}

/** @throws {Error} on a parser defect: a text that was not parsed may not be printed */
export function scriptOf({ script }: TextLeaf): Script {
  if (script === undefined) throw new Error('a query within a string was not parsed');
  return script;
}

/** Elements with children. `partsOf` in `walk.ts` gives them in the order of the text. */
export type Node =
  | Sequence
  | Call
  | Script
  | Statement
  | Query
  | With
  | CommonTableDefinition
  | Term
  | SelectItem
  | SetOperation
  | From
  | Join
  | FromItem
  | Alias;

export type Part = Leaf | Node;

/** Operands and operators, or expressions with commas and keywords between them. Precedence is irrelevant because the printed text keeps the order. */
export interface Sequence {
  readonly kind: 'sequence';
  readonly parts: readonly Part[];
}

export interface Call {
  readonly kind: 'call';
  readonly name: FunctionName;
  /** What is between the parentheses. */
  readonly arguments: Sequence;
  /** `FILTER (…)`, `OVER …`, and others. */
  readonly tail: Sequence | undefined;
}

/** A complete text: options and one query. */
export interface Script {
  readonly kind: 'script';
  readonly statements: readonly Statement[];
  /** Options set by the text, in order. */
  readonly options: readonly Option[];
}

export type Statement = SetStatement | DescribeStatement | QueryStatement;

/** `SET name = value` */
export interface SetStatement {
  readonly kind: 'set';
  readonly name: readonly string[];
  readonly value: Sequence;
}

/** `DESCRIBE [TABLE] table [column]` */
export interface DescribeStatement {
  readonly kind: 'describe';
  readonly hasTableWord: boolean;
  readonly table: TableName;
  readonly column: string | undefined;
}

export interface QueryStatement {
  readonly kind: 'statement';
  /** Words between `EXPLAIN` and `FOR`; undefined without `EXPLAIN`. */
  readonly explain: readonly Keyword[] | undefined;
  readonly query: Query;
  readonly options: readonly OptionClause[];
}

export interface Query {
  readonly kind: 'query';
  readonly with: With | undefined;
  readonly first: Term;
  readonly operations: readonly SetOperation[];
  /** What follows `ORDER BY`. */
  readonly orderBy: Sequence | undefined;
  /** LIMIT, OFFSET and FETCH. */
  readonly limits: Sequence | undefined;
  /** Maximum number of rows; undefined if the text does not limit it. */
  readonly limit: number | undefined;
}

/** `WITH [RECURSIVE] …`: the scope of its tables is the query. */
export interface With {
  readonly kind: 'with';
  readonly isRecursive: boolean;
  readonly tables: readonly CommonTableDefinition[];
}

export interface CommonTableDefinition {
  readonly kind: 'common-table-definition';
  readonly table: CommonTable;
  readonly columns: readonly string[] | undefined;
  readonly query: Query;
}

/** Operand of set operations. */
export type Term = Select | Values | TableTerm | QueryInParentheses;

export interface Select {
  readonly kind: 'select';
  readonly hints: Hints | undefined;
  readonly quantifier: Quantifier | undefined;
  readonly items: readonly SelectItem[];
  readonly from: From | undefined;
  readonly where: Part | undefined;
  readonly groupBy: Sequence | undefined;
  readonly having: Part | undefined;
  readonly windows: Sequence | undefined;
  readonly qualify: Part | undefined;
  /** Of all its columns, and of those of ORDER BY if it is the only term of its query. */
  readonly scope: Scope;
}

export type Quantifier = 'ALL' | 'DISTINCT';

/** `*`, `t.*`, `expression [AS alias]` */
export interface SelectItem {
  readonly kind: 'select-item';
  readonly expression: Part;
  readonly alias: Alias | undefined;
}

export interface Values {
  readonly kind: 'values';
  readonly rows: Sequence;
}

/** `TABLE t` */
export interface TableTerm {
  readonly kind: 'table-term';
  readonly table: TableName;
}

export interface QueryInParentheses {
  readonly kind: 'query-in-parentheses';
  readonly query: Query;
}

export interface SetOperation {
  readonly kind: 'set-operation';
  readonly operator: 'UNION' | 'INTERSECT' | 'EXCEPT' | 'MINUS';
  readonly quantifier: Quantifier | undefined;
  readonly term: Term;
}

/** Tables, joined or separated by commas. */
export interface From {
  readonly kind: 'from';
  readonly first: FromItem;
  readonly joins: readonly Join[];
}

export interface Join {
  readonly kind: 'join';
  /** Empty for a comma. */
  readonly words: readonly Keyword[];
  readonly item: FromItem;
  readonly match: Part | undefined;
  readonly on: Part | undefined;
  readonly using: readonly string[] | undefined;
}

export type FromItem = NamedTable | DerivedTable | Unnest;

/** A table or a common table expression. */
export interface NamedTable {
  readonly kind: 'named-table';
  readonly name: TableName;
  readonly hints: Hints | undefined;
  /** What follows `FOR SYSTEM_TIME AS OF`. */
  readonly systemTime: Part | undefined;
  /** `PIVOT (…)` */
  readonly pivot?: Sequence | undefined;
  /** A reference to a common table expression has one always: the printed text has another name for it than the rest of the query. */
  readonly alias: Alias | undefined;
  readonly scope: Scope;
}

/** `(query)`, `(t JOIN u)`, `LATERAL (query)` */
export interface DerivedTable {
  readonly kind: 'derived-table';
  readonly isLateral: boolean;
  readonly content: Query | From;
  /** `PIVOT (…)` */
  readonly pivot?: Sequence | undefined;
  readonly alias: Alias | undefined;
}

export interface Unnest {
  readonly kind: 'unnest';
  readonly isLateral: boolean;
  readonly content: Sequence;
  readonly hasOrdinality: boolean;
  readonly alias: Alias | undefined;
}

/** `AS name [(columns)]` */
export interface Alias {
  readonly kind: 'alias';
  readonly name: string;
  readonly columns: readonly string[] | undefined;
}
