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

/** A value of a caller. A list is possible only in `IN (…)`. */
export interface CallerValue {
  /** Empty if the caller does not have it. */
  readonly values: readonly (string | number | boolean)[];
  readonly isList: boolean;
}

/** Values of a caller by name: `email` for `${subject.email}`, `claims.region` for `${subject.claims.region}`. */
export type CallerValues = Readonly<Record<string, CallerValue>>;

/** Stands for every claim where the caller is not known. No claim has this name, because those of claims begin with `claims.`. */
export const ANY_CLAIM = 'claims';

/** The value of this name; undefined if the caller does not have it. */
export function valueNamed(values: CallerValues, name: string): CallerValue | undefined {
  if (Object.hasOwn(values, name) && name !== ANY_CLAIM) return values[name];
  return /^claims\../.test(name) ? values[ANY_CLAIM] : undefined;
}

/** A filter with the values of one caller. */
export interface FilterOfCaller extends RowFilter {
  /** The values that it contains. */
  readonly uses: readonly string[];
  /** How often it contains each of them. */
  readonly counts: ReadonlyMap<string, number>;
  /** Those of them that are outside of a list, where a list is not possible. */
  readonly single: readonly string[];
}

/** What is read in place of a column. */
export interface MaskExpression {
  readonly expression: Sequence;
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

/** Functions that an expression in place of a column may have besides those of a filter: hashes, and what they take. */
const MASK_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ...FUNCTIONS,
  ...'MD5 ROUNDDECIMAL SHA SHA256 SHA512 TOUTF8'.split(' ').map((name) => [foldedFunction(name), name] as const),
]);

/** What is being parsed. */
interface Context {
  /** In messages. */
  readonly what: 'row filter' | 'mask';
  /** What may follow the whole text. */
  readonly end: string;
  readonly functions: ReadonlyMap<string, string>;
  readonly columns: Set<string>;
  /** Undefined where values of the caller are not possible. */
  readonly values: CallerValues | undefined;
  /** How often each value is used. */
  readonly uses: Map<string, number>;
  readonly single: Set<string>;
  /** Whether an argument of a pattern function is read, where a value of the caller would be a pattern. */
  readonly inPattern?: boolean;
}

/**
 * Parses the filter of rows, by the lexer and the rules of the SQL check: columns, literals, comparisons, arithmetic, IN, LIKE, BETWEEN, IS NULL, AND, OR,
 * NOT, plain functions, and values of the caller such as `${subject.email}`.
 * @param values of the caller, which become literals of the tree; all names that a filter may use
 */
export function parseRowFilter(
  text: string,
  values: CallerValues = {},
): ({ readonly ok: true } & FilterOfCaller) | RefusedSql {
  const context: Context = {
    what: 'row filter',
    end: '`AND`, `OR` or the end of the filter',
    functions: FUNCTIONS,
    columns: new Set(),
    values,
    uses: new Map(),
    single: new Set(),
  };
  try {
    const found = parse(text, context, condition);
    return {
      ok: true,
      condition: found,
      columns: [...context.columns],
      uses: [...context.uses.keys()],
      counts: context.uses,
      single: [...context.single],
    };
  } catch (error) {
    return refusedSql(text, error);
  }
}

/** Parses what is read in place of a column: an expression with the literals, operators and functions of a filter, hashes, and no other column. */
export function parseMask(text: string, column: string): ({ readonly ok: true } & MaskExpression) | RefusedSql {
  const columns = new Set<string>();
  const context: Context = {
    what: 'mask',
    end: 'an operator or the end of the mask',
    functions: MASK_FUNCTIONS,
    columns,
    values: undefined,
    uses: new Map(),
    single: new Set(),
  };
  try {
    const expression = parse(text, context, value);
    const other = [...columns].find((name) => name !== column);
    if (other !== undefined) throw new SqlRefusal(`a mask has no other column than its own, but here is \`${other}\``);
    const [only, ...others] = expression.parts;
    if (only?.kind === 'column' && others.length === 0)
      throw new SqlRefusal('the mask is the column itself, which hides nothing');
    // A number alone is the position of a column in GROUP BY and ORDER BY.
    if (columns.size === 0 && (others.length > 0 || (only?.kind !== 'string' && only?.kind !== 'bare')))
      throw new SqlRefusal('a mask without its column is a string or `NULL`: for a number write `price * 0`');
    return { ok: true, expression };
  } catch (error) {
    return refusedSql(text, error);
  }
}

type Rule = (at: Reader, context: Context) => void;

function parse(text: string, context: Context, rule: Rule): Sequence {
  if (Buffer.byteLength(text) > LIMITS.bytes)
    throw new SqlRefusal(`the ${context.what === 'mask' ? 'mask' : 'filter'} is longer than ${LIMITS.bytes} bytes`);
  const budget = newBudget(LIMITS, { count: 0 });
  const expression = (at: Reader): void => rule(at, context);
  const at = new Reader(tokenize(text, budget), budget, { expression, query: noQuery, queryTail: noQuery });
  const found = at.sequence(() => rule(at, context));
  if (at.peek().kind !== 'end') throw at.unexpected(context.end);
  return found;
}

function noQuery(at: Reader): never {
  throw at.refusal('a query is not possible here');
}

/** Predicates with AND and OR. */
function condition(at: Reader, context: Context): void {
  do predicate(at, context);
  while (at.takeOne(['AND', 'OR']) !== undefined);
}

const COMPARISONS = ['=', '<>', '!=', '<', '>', '<=', '>='] as const;
const ARITHMETIC = BINARY_MARKS.filter((mark) => !COMPARISONS.some((one) => one === mark));

function predicate(at: Reader, context: Context): void {
  while (at.take('NOT'));
  value(at, context);
  if (takeMarkOf(at, COMPARISONS)) value(at, context);
  else if (at.take('IS')) isClause(at);
  else {
    const negated = at.take('NOT');
    if (at.take('IN')) at.parentheses(() => at.list(() => entry(at, context)));
    else if (at.take('LIKE')) pattern(at);
    else if (at.take('BETWEEN')) {
      value(at, context);
      at.expect('AND');
      value(at, context);
    } else if (negated) throw at.unexpected('`IN`, `LIKE` or `BETWEEN`');
  }
}

/** An entry of a list. */
function entry(at: Reader, context: Context): void {
  if (atCallerValue(at)) callerValue(at, context, true);
  else value(at, context);
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
function value(at: Reader, context: Context): void {
  do operand(at, context);
  while (takeMarkOf(at, ARITHMETIC));
}

const CONSTANTS: ReadonlySet<string> = new Set(['TRUE', 'FALSE', 'NULL']);

function operand(at: Reader, context: Context): void {
  while (takeMarkOf(at, ['-', '+']));
  const { kind, key, prefix } = at.peek();
  if (kind === 'number' || (kind === 'string' && prefix === '')) return literal(at);
  if (atCallerValue(at)) return callerValue(at, context, false);
  if (key === '(') return at.parentheses(() => condition(at, context));
  if (kind === 'word' && CONSTANTS.has(key)) return at.bare();
  if (QUERY_WORDS.has(key)) throw at.refusal(`a ${context.what} has no query: compare columns with literals`);
  if (at.key(1) === '(') return call(at, context);
  column(at, context);
}

const QUERY_WORDS: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'EXISTS', 'UNIQUE']);

function literal(at: Reader): void {
  const { kind, text, at: offset } = at.skip();
  if (kind === 'string' && /\$\{\s*subject\b/.test(text))
    throw at.refusal('a value of the caller is written without quotes, as in `owner = ${subject.email}`', offset);
  at.emit(kind === 'number' ? { kind, text } : { kind: 'string', text, prefix: '' });
}

/** `${`, which is no text of SQL */
function atCallerValue(at: Reader): boolean {
  const { kind, text } = at.peek();
  return kind === 'word' && text === '$' && at.key(1) === '{';
}

/** `${subject.email}`: literals in its place. */
function callerValue(at: Reader, { what, values, uses, single, inPattern }: Context, isEntry: boolean): void {
  const { at: offset } = at.skip();
  at.requireMark('{');
  const path: string[] = [at.skip().text];
  while (at.acceptMark('.')) path.push(at.skip().text);
  at.requireMark('}');
  const written = `\`\${${path.join('.').slice(0, 60)}}\``;
  if (values === undefined) throw at.refusal(`${written}: a ${what} has no values of the caller`, offset);
  if (inPattern) throw at.refusal(`${written} would be a pattern in REGEXP_LIKE: compare it with \`=\``, offset);
  const name = path.slice(1).join('.');
  const value = path[0] === 'subject' ? valueNamed(values, name) : undefined;
  if (value === undefined) {
    const known = Object.keys(values).map((one) => `\`\${subject.${one === ANY_CLAIM ? 'claims.<name>' : one}}\``);
    throw at.refusal(`${written} is not a value of the caller; they are ${known.join(', ')}`, offset);
  }
  if (value.isList && !isEntry)
    throw at.refusal(`${written} is a list: use it as in \`IN (${written.slice(1, -1)})\``, offset);
  uses.set(name, (uses.get(name) ?? 0) + 1);
  if (!isEntry) single.add(name);
  for (const [index, one] of value.values.entries()) {
    if (index > 0) at.mark(',');
    literalOf(at, one);
  }
}

function literalOf(at: Reader, value: string | number | boolean): void {
  if (typeof value === 'string') return at.emit({ kind: 'string', text: value, prefix: '' });
  if (typeof value === 'boolean') return at.emit({ kind: 'bare', text: value ? 'TRUE' : 'FALSE' });
  if (value < 0) at.mark('-');
  at.emit({ kind: 'number', text: String(Math.abs(value)) });
}

/** Words that some version reads as a value and not as a column, and that are not reserved. */
const VALUES_OF_REQUEST = /^(?:CURRENT_|LOCALTIME|SESSION_USER$|SYSTEM_USER$|USER$|INTERVAL$)/;

function column(at: Reader, { what, columns }: Context): void {
  const { kind, text, key, at: offset } = at.peek();
  if (kind === 'word' && (RESERVED.has(key) || VALUES_OF_REQUEST.test(key)))
    throw at.unexpected('a column, a literal or a function');
  if (text.startsWith('$'))
    throw at.refusal(`\`${text}\` is not a column of the table, but a property of where a row is stored`);
  const name = at.name('a column, a literal or a function');
  if (name.includes('.') || at.key() === '.') throw at.refusal(`a ${what} names columns without their table`, offset);
  columns.add(name);
  at.emit({ kind: 'column', parts: [name], isAll: false, scope: undefined });
}

function call(at: Reader, context: Context): void {
  const { what, functions } = context;
  const token = at.peek();
  if (!functions.has(foldedFunction(token.text))) {
    const known = [...functions.values()].join(', ');
    throw at.refusal(
      `\`${token.text.slice(0, 60)}\` is not a function of ${what}s, which are ${known}: write the ${what === 'mask' ? 'mask' : 'condition'} without it`,
    );
  }
  at.skip();
  const inPattern = context.inPattern === true || foldedFunction(token.text) === foldedFunction('REGEXP_LIKE');
  const inner = at.inParentheses(() =>
    at.sequence(() => {
      if (at.key() !== ')') at.list(() => value(at, { ...context, inPattern }));
    }),
  );
  at.emit({ kind: 'call', name: functionName(token), arguments: inner, tail: undefined });
}
