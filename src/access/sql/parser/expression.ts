import {
  BINARY_MARKS,
  COLLECTIONS,
  CONSTANTS,
  RESERVED,
  RESERVED_FUNCTIONS,
  type Keyword,
  type Mark,
} from '../keywords.ts';
import { call } from './calls.ts';
import { braces, datetime, interval } from './literals.ts';
import { queryAhead, tailAhead } from './parts.ts';
import type { Query, Sequence } from '../tree.ts';
import type { Reader } from './reader.ts';
import { readType } from './types.ts';

/**
 * Reads an expression: operands with operators between them. Precedence is irrelevant because the printed text keeps the order.
 * Operands and operators must alternate, and every bracket must be read to its end.
 */
export function expression(at: Reader): void {
  operand(at);
  operators(at);
}

function operators(at: Reader): void {
  for (;;) {
    const found = operator(at);
    if (found === 'none') return;
    if (found === 'binary') operand(at);
  }
}

type FoundOperator = 'none' | 'binary' | 'postfix';

const BINARY: ReadonlySet<string> = new Set(BINARY_MARKS);
const BINARY_WORDS = ['AND', 'OR', 'LIKE', 'ILIKE', 'RLIKE', 'ESCAPE'] as const;
const QUANTIFIERS = ['ANY', 'SOME', 'ALL'] as const;

function operator(at: Reader): FoundOperator {
  const { kind, key } = at.peek();
  if (kind === 'mark') return markOperator(at, key);
  return kind === 'word' ? wordOperator(at, key) : 'none';
}

function markOperator(at: Reader, key: string): FoundOperator {
  if (!BINARY.has(key)) return 'none';
  at.takeMark(key as Mark);
  if (at.key(1) === '(') at.takeOne(QUANTIFIERS);
  return 'binary';
}

function wordOperator(at: Reader, key: string): FoundOperator {
  if (key === 'NOT') {
    if (!NEGATABLE.has(at.key(1))) return 'none';
    at.take('NOT');
    return wordOperator(at, at.key());
  }
  if (at.takeOne(BINARY_WORDS) !== undefined) return 'binary';
  return OPERATORS.get(key)?.(at) ?? 'none';
}

const NEGATABLE: ReadonlySet<string> = new Set(['IN', 'BETWEEN', 'LIKE', 'ILIKE', 'RLIKE', 'SIMILAR', 'MEMBER']);

const OPERATORS: ReadonlyMap<string, (at: Reader) => FoundOperator> = new Map<string, (at: Reader) => FoundOperator>([
  ['IN', (at) => binary(at.take('IN'))],
  ['SIMILAR', (at) => binary(at.take('SIMILAR', 'TO'))],
  ['AT', (at) => binary(at.take('AT', 'TIME', 'ZONE'))],
  ['MEMBER', (at) => binary(at.take('MEMBER', 'OF'))],
  ['FORMAT', (at) => (at.take('FORMAT', 'JSON') ? 'postfix' : 'none')],
  ['IS', is],
  ['BETWEEN', between],
]);

function binary(found: boolean): FoundOperator {
  return found ? 'binary' : 'none';
}

function between(at: Reader): FoundOperator {
  at.take('BETWEEN');
  at.takeOne(['SYMMETRIC', 'ASYMMETRIC']);
  return 'binary';
}

function is(at: Reader): FoundOperator {
  at.take('IS');
  at.take('NOT');
  if (at.take('DISTINCT', 'FROM')) return 'binary';
  if (at.take('JSON')) at.takeOne(['VALUE', 'OBJECT', 'ARRAY', 'SCALAR']);
  else if (at.takeOne(['NULL', 'TRUE', 'FALSE', 'UNKNOWN', 'EMPTY']) === undefined)
    throw at.unexpected('`NULL`, `TRUE`, `FALSE` or `DISTINCT FROM`');
  return 'postfix';
}

function operand(at: Reader): void {
  while (prefix(at));
  primary(at);
  postfixes(at);
}

const PREFIXES: ReadonlySet<string> = new Set(['-', '+', 'NOT']);

function prefix(at: Reader): boolean {
  if (!PREFIXES.has(at.key())) return false;
  if (at.takeMark('-') || at.takeMark('+')) return true;
  return at.take('NOT');
}

const POSTFIXES: ReadonlySet<string> = new Set<Mark>(['[', '.', '::']);

/** `[index]`, `.field` of an expression that is not a plain name, `::type`. */
function postfixes(at: Reader): void {
  while (POSTFIXES.has(at.key())) {
    if (at.takeMark('[')) {
      at.nested(() => expression(at));
      at.expectMark(']');
    } else if (at.key() === '.') {
      // In the printed text the dot would be part of the number.
      if (at.last?.kind === 'number') throw at.unexpected('an operator or a clause');
      at.expectMark('.');
      at.emit({ kind: 'name', parts: [at.name('the name of a field')] });
    } else if (at.takeMark('::')) readType(at);
  }
}

function primary(at: Reader): void {
  const { kind, key } = at.peek();
  switch (kind) {
    case 'number':
      at.emit({ kind: 'number', text: at.skip().text });
      return;
    case 'string':
      return strings(at);
    case 'mark':
      return markedOperand(at, key);
    case 'quoted':
      return nameOrCall(at);
    case 'word':
      return wordOperand(at, key);
    default:
      throw at.unexpected('an expression');
  }
}

/** One string or several adjacent ones, which the engine concatenates. */
function strings(at: Reader): void {
  while (at.peek().kind === 'string') {
    const { text, prefix: before } = at.skip();
    at.emit({ kind: 'string', text, prefix: before });
  }
}

function markedOperand(at: Reader, key: string): void {
  if (key === '(') emitInParentheses(at, parenthesized(at));
  else if (key === '{') braces(at);
  else if (!at.takeMark('?')) throw at.unexpected('an expression');
}

/** `( … )`: a query, an expression, or a row. @returns what is between the parentheses */
function parenthesized(at: Reader): Query | Sequence {
  return at.inParentheses(() => {
    if (queryAhead(at)) return at.grammar.query(at);
    const inner = at.key() === '(' ? parenthesized(at) : undefined;
    if (inner?.kind === 'query' && (tailAhead(at) || at.key() === ')')) {
      return at.grammar.queryTail(at, { kind: 'query-in-parentheses', query: inner });
    }
    return at.sequence(() => {
      if (inner === undefined) expression(at);
      else {
        emitInParentheses(at, inner);
        postfixes(at);
        operators(at);
      }
      while (at.takeMark(',')) expression(at);
    });
  });
}

function emitInParentheses(at: Reader, content: Query | Sequence): void {
  at.mark('(');
  at.emit(content);
  at.mark(')');
}

function wordOperand(at: Reader, key: string): void {
  const read = STARTS.get(key);
  if (read?.(at) === true) return;
  const called = at.key(1) === '(';
  if (called && RESERVED_FUNCTIONS.has(key)) return call(at);
  if (!called && at.key(1) !== '.' && CONSTANTS.has(key)) return at.bare();
  if (RESERVED.has(key)) throw at.unexpected('an expression');
  nameOrCall(at);
}

/** A column, `t.*`, or a call. */
function nameOrCall(at: Reader): void {
  if (at.key(1) === '(') return call(at);
  const parts = [at.name('an expression')];
  while (at.key() === '.' && at.key(1) !== '*') {
    at.skip();
    parts.push(at.name('the rest of a name'));
  }
  const isAll = at.acceptMark('.');
  if (isAll) at.requireMark('*');
  at.emit({ kind: 'column', parts, isAll, scope: at.scope });
  if (at.key() === '(')
    throw at.unexpected('a function must have a name without dots: an operator or the end of the expression');
}

/** Rules by first word. Each returns false without reading if the word is a plain name here. */
const STARTS: ReadonlyMap<string, (at: Reader) => boolean> = new Map<string, (at: Reader) => boolean>([
  ['DATE', (at) => datetime(at, 'DATE')],
  ['TIME', (at) => datetime(at, 'TIME')],
  ['TIMESTAMP', (at) => datetime(at, 'TIMESTAMP')],
  ['INTERVAL', interval],
  ['CASE', caseOf],
  ['EXISTS', (at) => existence(at, 'EXISTS')],
  ['UNIQUE', (at) => existence(at, 'UNIQUE')],
  ['ROW', row],
  ...COLLECTIONS.map((word) => [word, (at: Reader) => collection(at, word)] as const),
]);

function caseOf(at: Reader): boolean {
  at.take('CASE');
  at.nested(() => {
    if (at.key() !== 'WHEN') expression(at);
    while (at.take('WHEN')) {
      at.list(() => expression(at));
      at.expect('THEN');
      expression(at);
    }
    if (at.take('ELSE')) expression(at);
  });
  at.expect('END');
  return true;
}

function existence(at: Reader, word: Keyword): boolean {
  if (at.key(1) !== '(') return false;
  at.take(word);
  const content = parenthesized(at);
  if (content.kind !== 'query') throw at.unexpected(`a query within the parentheses of \`${word}\``);
  emitInParentheses(at, content);
  return true;
}

function row(at: Reader): boolean {
  if (at.key(1) !== '(') return false;
  at.take('ROW');
  at.parentheses(() => {
    if (at.key() !== ')') at.list(() => expression(at));
  });
  return true;
}

/** `ARRAY[…]`, `MAP[…]`, or the same with a query in parentheses. */
function collection(at: Reader, word: (typeof COLLECTIONS)[number]): boolean {
  if (at.key(1) === '[') {
    at.take(word);
    at.takeMark('[');
    at.nested(() => {
      if (at.key() !== ']') at.list(() => expression(at));
    });
    at.expectMark(']');
    return true;
  }
  if (at.key(1) !== '(') return false;
  at.take(word);
  at.parentheses(() => {
    if (queryAhead(at)) at.query();
    else if (at.key() !== ')') at.list(() => expression(at));
  });
  return true;
}
