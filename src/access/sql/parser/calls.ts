import { BARE_FUNCTIONS, TIME_UNITS, type Keyword } from '../keywords.ts';
import type { Token } from '../lexer.ts';
import type { FunctionName } from '../tree.ts';
import { jsonArguments } from './json.ts';
import { countTable, queryAhead, sortItem } from './parts.ts';
import type { Reader } from './reader.ts';
import { readType, timeUnit } from './types.ts';
import { windowOrName } from './window.ts';

/** ASCII only: the engine lower-cases function names with Unicode rules (`K` may be U+212A). */
const FUNCTION_NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** A call: its name is the current token and `(` follows. */
export function call(at: Reader): void {
  if (at.key(1) !== '(') throw at.unexpected('a call of a function');
  const token = at.skip();
  const { kind, text, key } = token;
  if (!FUNCTION_NAME.test(text))
    throw at.unexpected(`the name of a function has ASCII letters, digits and \`_\` only: an operator`);
  at.emit({
    kind: 'call',
    name: functionName(token),
    arguments: at.inParentheses(() => at.sequence(() => callArguments(at, text, kind === 'word' ? key : ''))),
    tail: TAILS.has(at.key()) ? at.sequence(() => callTail(at)) : undefined,
  });
}

export function functionName({ kind, text, key }: Token): FunctionName {
  return kind === 'word' && BARE_FUNCTIONS.has(key) ? { kind: 'bare', text } : { kind: 'name', parts: [text] };
}

/** The engine ignores case and underscores in names of functions, also in quoted ones. */
export function foldedFunction(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function callArguments(at: Reader, name: string, key: string): void {
  const read = BY_NAME.get(foldedFunction(name)) ?? BY_KEYWORD.get(key);
  if (read !== undefined) return read(at, name);
  plainArguments(at);
}

/** `f(DISTINCT a, b ORDER BY c)`, `f(*)`, `f()` */
function plainArguments(at: Reader): void {
  if (at.key() === ')' || at.takeMark('*')) return;
  at.takeOne(['DISTINCT', 'ALL']);
  at.list(() => argument(at));
  argumentsTail(at);
}

function argumentsTail(at: Reader): void {
  if (at.key(1) === 'NULLS' && at.takeOne(['IGNORE', 'RESPECT']) !== undefined) at.take('NULLS');
  if (at.take('ORDER', 'BY')) at.list(() => sortItem(at));
  if (at.take('SEPARATOR')) at.expression();
}

function argument(at: Reader): void {
  if (queryAhead(at)) at.query();
  else at.expression();
}

type Arguments = (at: Reader, name: string) => void;

/** Functions that take a table, a query or a script as a string. Their arguments are parsed completely or the text is rejected. */
const BY_NAME: ReadonlyMap<string, Arguments> = new Map<string, Arguments>([
  ['lookup', lookup],
  ['insubquery', subquery],
  ['inpartitionedsubquery', subquery],
  ['groovy', groovy],
]);

function groovy(at: Reader): never {
  throw at.refusal('`GROOVY` is not allowed: a script can read everything that the engine can');
}

/** Requires a plain string literal: the engine could evaluate any other expression to any string. */
function literal(at: Reader, name: string): { text: string; at: number } {
  const { kind, text, prefix, at: offset } = at.peek();
  const after = at.key(1);
  if (kind !== 'string' || prefix !== '' || (after !== ',' && after !== ')')) {
    throw at.unexpected(`one plain string as this argument of \`${name}\``);
  }
  at.skip();
  return { text, at: offset };
}

/** `LOOKUP('table', …)` */
function lookup(at: Reader, name: string): void {
  const { text, at: offset } = literal(at, name);
  countTable(at, offset);
  at.emit({ kind: 'lookup', table: { parts: [text], at: offset } });
  while (at.takeMark(',')) at.expression();
}

/** `IN_SUBQUERY(x, 'SELECT …')` */
function subquery(at: Reader, name: string): void {
  at.expression();
  at.expectMark(',');
  const { text, at: offset } = literal(at, name);
  const { texts } = at.budget.limits;
  if (++at.budget.texts > texts) throw at.refusal(`the text has more than ${texts} queries within strings`, offset);
  at.text(text, offset);
}

/** Functions with keywords between their arguments. */
const BY_KEYWORD: ReadonlyMap<string, Arguments> = new Map<string, Arguments>([
  ['CAST', cast],
  ['TRY_CAST', cast],
  ['SAFE_CAST', cast],
  ['EXTRACT', extract],
  ['TRIM', trim],
  ['SUBSTRING', (at) => separated(at, ['FROM', 'FOR'])],
  ['OVERLAY', (at) => separated(at, ['PLACING', 'FROM', 'FOR'])],
  ['POSITION', (at) => separated(at, ['FROM'])],
  ['CONVERT', (at) => separated(at, ['USING'])],
  ['TRANSLATE', (at) => separated(at, ['USING'])],
  ['FLOOR', rounded],
  ['CEIL', rounded],
  ['CEILING', rounded],
  ...(['TIMESTAMPADD', 'TIMESTAMPDIFF'] as const).map((name) => [name, unitAt(0)] as const),
  ...(['DATE_TRUNC', 'DATETIME_TRUNC', 'TIME_TRUNC', 'TIMESTAMP_TRUNC'] as const).map(
    (name) => [name, unitAt(1)] as const,
  ),
  ...(['DATE_DIFF', 'DATETIME_DIFF', 'TIME_DIFF', 'TIMESTAMP_DIFF'] as const).map((name) => [name, unitAt(2)] as const),
  ...(
    ['JSON_VALUE', 'JSON_QUERY', 'JSON_EXISTS', 'JSON_OBJECT', 'JSON_OBJECTAGG', 'JSON_ARRAY', 'JSON_ARRAYAGG'] as const
  ).map((name) => [name, jsonArguments] as const),
]);

function unitAt(place: number): Arguments {
  return (at) => withUnit(at, place);
}

function cast(at: Reader): void {
  argument(at);
  at.expect('AS');
  readType(at);
  if (at.take('FORMAT')) at.expression();
}

/** `EXTRACT(YEAR FROM x)` */
function extract(at: Reader): void {
  if (at.key(1) === 'FROM') timeUnit(at);
  else at.expression();
  if (at.take('FROM')) at.expression();
  else while (at.takeMark(',')) at.expression();
}

/** `TRIM(BOTH 'x' FROM y)` */
function trim(at: Reader): void {
  if (!at.atArgumentEnd(1)) at.takeOne(['BOTH', 'LEADING', 'TRAILING']);
  if (at.key() !== 'FROM') argument(at);
  if (at.take('FROM')) argument(at);
  else while (at.takeMark(',')) argument(at);
}

function separated(at: Reader, words: readonly Keyword[]): void {
  do argument(at);
  while (at.takeMark(',') || at.takeOne(words) !== undefined);
}

/** `FLOOR(x TO HOUR)` */
function rounded(at: Reader): void {
  argument(at);
  if (at.take('TO')) timeUnit(at);
  else while (at.takeMark(',')) argument(at);
}

/** `TIMESTAMPADD(DAY, 1, x)`: the argument at index `place` may be an unquoted time unit. */
function withUnit(at: Reader, place: number): void {
  if (at.key() === ')') return;
  let index = 0;
  at.list(() => {
    const { kind, key } = at.peek();
    const unit = index++ === place && kind === 'word' && TIME_UNITS.has(key);
    if (unit && (at.atArgumentEnd(1) || TIME_UNITS.has(at.key(2)))) timeUnit(at);
    else argument(at);
  });
}

const TAILS: ReadonlySet<string> = new Set<Keyword>(['WITHIN', 'IGNORE', 'RESPECT', 'FILTER', 'OVER']);

/** `WITHIN GROUP (…)`, `FILTER (WHERE …)`, `IGNORE NULLS`, `OVER …` */
function callTail(at: Reader): void {
  if (at.take('WITHIN', 'GROUP')) {
    at.parentheses(() => {
      at.expect('ORDER', 'BY');
      at.list(() => sortItem(at));
    });
  } else if (at.take('WITHIN', 'DISTINCT')) at.parentheses(() => at.list(() => at.expression()));
  if (at.key(1) === 'NULLS' && at.takeOne(['IGNORE', 'RESPECT']) !== undefined) at.take('NULLS');
  if (at.key() === 'FILTER' && at.key(1) === '(') {
    at.take('FILTER');
    at.parentheses(() => {
      at.expect('WHERE');
      at.expression();
    });
  }
  if (at.take('OVER')) windowOrName(at);
}
