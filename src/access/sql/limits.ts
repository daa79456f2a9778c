/** Default limits of one SQL text. A text beyond a limit is rejected; within the limits the work is linear in the length of the text. */
export const SQL_LIMITS = {
  /** Size of the text in UTF-8 bytes. */
  bytes: 256 * 1024,
  /** Length of `queryOptions` in characters. */
  optionsLength: 16 * 1024,
  /** Words, names, literals and marks, including those of queries within strings. */
  tokens: 50_000,
  /** Nesting depth of brackets, queries, calls and CASE. */
  nesting: 150,
  /** Common table expressions. */
  commonTables: 500,
  /** Table references in the text. */
  tables: 1_000,
  /** Statements, including `SET`. */
  statements: 100,
  /** Queries within strings, at any depth. */
  texts: 8,
  /** Length of a name in characters; the engine has the same limit. */
  nameLength: 1_024,
} as const;

export type SqlLimits = Readonly<Record<keyof typeof SQL_LIMITS, number>> & {
  /** Query options that are passed although the gateway does not know them, in lower case. */
  readonly allowedOptions?: ReadonlySet<string>;
};
