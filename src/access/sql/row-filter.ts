import { BINARY_MARKS, RESERVED, type Mark } from './keywords.ts';
import { tokenize } from './lexer.ts';
import { SQL_LIMITS, type SqlLimits } from './limits.ts';
import { foldedFunction, functionName } from './parser/calls.ts';
import { newBudget, Reader } from './parser/reader.ts';
import { refusedSql, SqlRefusal, type RefusedSql } from './refusal.ts';
import type { Sequence } from './tree.ts';

/** Which rows of a table may be read: a condition over its own columns. */
export interface RowFilter {
  readonly condition: Sequence;
  /** Its columns with their spelling, each once. */
  readonly columns: readonly string[];
}

/** Limits of one filter. */
const LIMITS: SqlLimits = { ...SQL_LIMITS, bytes: 8 * 1024, tokens: 1_000, nesting: 20 };

/**
 * Functions of one row without side effects, by their names without underscores. No aggregate is here, and no function that reads a table,
 * a query or a script.
 */
const FUNCTIONS: ReadonlyMap<string, string> = new Map(
  (
    'ABS AGO ARRAYLENGTH CEIL COALESCE CONCAT DATETRUNC DAYOFMONTH DAYOFWEEK DAYOFYEAR ENDSWITH FLOOR FROMDATETIME HOUR LENGTH LOWER LTRIM MINUTE MOD MONTH NOW ' +
    'QUARTER REGEXP_LIKE REPLACE REVERSE RTRIM SECOND STARTSWITH STRPOS SUBSTR TODATETIME TRIM UPPER WEEK YEAR'
  )
    .split(' ')
    .map((name) => [foldedFunction(name), name]),
);

/**
 * Parses the filter of rows, by the lexer and the rules of the SQL check: columns, literals, comparisons, arithmetic, IN, LIKE, BETWEEN, IS NULL, AND, OR,
 * NOT and plain functions.
 */
export function parseRowFilter(text: string): ({ readonly ok: true } & RowFilter) | RefusedSql {
  try {
    return { ok: true, ...parse(text) };
  } catch (error) {
    return refusedSql(text, error);
  }
}

function parse(text: string): RowFilter {
  if (Buffer.byteLength(text) > LIMITS.bytes) throw new SqlRefusal(`the filter is longer than ${LIMITS.bytes} bytes`);
  const budget = newBudget(LIMITS, { count: 0 });
  const at = new Reader(tokenize(text, budget), budget, { expression: condition, query: noQuery, queryTail: noQuery });
  const columns = new Set<string>();
  const found = at.sequence(() => condition(at, columns));
  if (at.peek().kind !== 'end') throw at.unexpected('`AND`, `OR` or the end of the filter');
  return { condition: found, columns: [...columns] };
}

function noQuery(at: Reader): never {
  throw at.refusal('a row filter has no query');
}

/** Predicates with AND and OR. */
function condition(at: Reader, columns: Set<string> = new Set()): void {
  do predicate(at, columns);
  while (at.takeOne(['AND', 'OR']) !== undefined);
}

const COMPARISONS = ['=', '<>', '!=', '<', '>', '<=', '>='] as const;
const ARITHMETIC = BINARY_MARKS.filter((mark) => !COMPARISONS.some((one) => one === mark));

function predicate(at: Reader, columns: Set<string>): void {
  while (at.take('NOT'));
  value(at, columns);
  if (takeMarkOf(at, COMPARISONS)) value(at, columns);
  else if (at.take('IS')) isClause(at);
  else {
    const negated = at.take('NOT');
    if (at.take('IN')) at.parentheses(() => at.list(() => value(at, columns)));
    else if (at.take('LIKE')) pattern(at);
    else if (at.take('BETWEEN')) {
      value(at, columns);
      at.expect('AND');
      value(at, columns);
    } else if (negated) throw at.unexpected('`IN`, `LIKE` or `BETWEEN`');
  }
}

function takeMarkOf(at: Reader, marks: readonly Mark[]): boolean {
  return marks.some((mark) => at.takeMark(mark));
}

function isClause(at: Reader): void {
  at.take('NOT');
  if (at.takeOne(['NULL', 'TRUE', 'FALSE']) === undefined) throw at.unexpected('`NULL`, `TRUE` or `FALSE`');
}

/** Some versions have no other patterns. */
function pattern(at: Reader): void {
  const { kind, prefix } = at.peek();
  if (kind !== 'string' || prefix !== '') throw at.unexpected('a plain string as the pattern');
  literal(at);
}

/** Operands with arithmetic between them. */
function value(at: Reader, columns: Set<string>): void {
  do operand(at, columns);
  while (takeMarkOf(at, ARITHMETIC));
}

const CONSTANTS: ReadonlySet<string> = new Set(['TRUE', 'FALSE', 'NULL']);

function operand(at: Reader, columns: Set<string>): void {
  while (takeMarkOf(at, ['-', '+']));
  const { kind, key, prefix } = at.peek();
  if (kind === 'number' || (kind === 'string' && prefix === '')) return literal(at);
  if (key === '(') return at.parentheses(() => condition(at, columns));
  if (kind === 'word' && CONSTANTS.has(key)) return at.bare();
  if (QUERY_WORDS.has(key)) throw at.refusal('a row filter has no query: compare columns with literals');
  if (at.key(1) === '(') return call(at, columns);
  column(at, columns);
}

const QUERY_WORDS: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'EXISTS', 'UNIQUE']);

function literal(at: Reader): void {
  const { kind, text } = at.skip();
  at.emit(kind === 'number' ? { kind, text } : { kind: 'string', text, prefix: '' });
}

/** Words that some version reads as a value and not as a column, and that are not reserved. */
const VALUES_OF_REQUEST = /^(?:CURRENT_|LOCALTIME|SESSION_USER$|SYSTEM_USER$|USER$|INTERVAL$)/;

function column(at: Reader, columns: Set<string>): void {
  const { kind, text, key, at: offset } = at.peek();
  if (kind === 'word' && (RESERVED.has(key) || VALUES_OF_REQUEST.test(key)))
    throw at.unexpected('a column, a literal or a function');
  if (text.startsWith('$'))
    throw at.refusal(`\`${text}\` is not a column of the table, but a property of where a row is stored`);
  const name = at.name('a column, a literal or a function');
  if (name.includes('.') || at.key() === '.')
    throw at.refusal('a row filter names columns without their table', offset);
  columns.add(name);
  at.emit({ kind: 'column', parts: [name], isAll: false, scope: undefined });
}

function call(at: Reader, columns: Set<string>): void {
  const token = at.peek();
  if (!FUNCTIONS.has(foldedFunction(token.text))) {
    const known = [...FUNCTIONS.values()].join(', ');
    throw at.refusal(
      `\`${token.text.slice(0, 60)}\` is not a function of row filters, which are ${known}: write the condition without it`,
    );
  }
  at.skip();
  const inner = at.inParentheses(() =>
    at.sequence(() => {
      if (at.key() !== ')') at.list(() => value(at, columns));
    }),
  );
  at.emit({ kind: 'call', name: functionName(token), arguments: inner, tail: undefined });
}
