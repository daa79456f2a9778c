/** What begins a query where one may stand: at the start of a statement, after `(`, after a set operator. */
export const QUERY_STARTS: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);

export const SET_OPERATORS: ReadonlySet<string> = new Set(['UNION', 'INTERSECT', 'EXCEPT', 'MINUS', 'SET_MINUS']);

/** What ends an expression of a clause because another clause begins. */
export const CLAUSES: ReadonlySet<string> = new Set([
  'FROM',
  'WHERE',
  'GROUP',
  'HAVING',
  'WINDOW',
  'QUALIFY',
  'ORDER',
  'LIMIT',
  'OFFSET',
  'FETCH',
  ...SET_OPERATORS,
]);

export const JOIN_WORDS: ReadonlySet<string> = new Set([
  'JOIN',
  'NATURAL',
  'INNER',
  'LEFT',
  'RIGHT',
  'FULL',
  'CROSS',
  'OUTER',
  'ASOF',
]);

/** What would begin a query or name a table, and therefore may stand in no expression. */
export const NOT_IN_EXPRESSIONS: ReadonlySet<string> = new Set([
  ...QUERY_STARTS,
  'INTO',
  'INSERT',
  'UPDATE',
  'UPSERT',
  'DELETE',
  'MERGE',
  'CREATE',
  'DROP',
  'ALTER',
  'TRUNCATE',
  'EXPLAIN',
  'DESCRIBE',
  'CALL',
  'LATERAL',
  'MATCH_RECOGNIZE',
  'PIVOT',
  'UNPIVOT',
  'TABLESAMPLE',
  'APPLY',
  // What follows is one token to the engine, of characters that are many tokens here.
  'COLLATE',
]);

/** No table or alias can be named so without quotes: the engine's grammar reserves these in every version, or this parser reads them as its own. */
export const RESERVED: ReadonlySet<string> = new Set([
  ...CLAUSES,
  ...JOIN_WORDS,
  ...NOT_IN_EXPRESSIONS,
  'ON',
  'USING',
  'AS',
  'AND',
  'OR',
  'NOT',
  'IN',
  'CASE',
  'WHEN',
  'THEN',
  'SET',
  'OVER',
  'PARTITION',
  'UNNEST',
  'MATCH_CONDITION',
  'EXTEND',
  'FOR',
  'DISTINCT',
]);

/** Functions within whose parentheses `FROM` is a part of the call. */
export const FROM_IN_CALL: ReadonlySet<string> = new Set(['EXTRACT', 'TRIM', 'SUBSTRING', 'OVERLAY']);
