import { atOnce, type Parts } from '../../../platform/parts.ts';
import type { Keyword } from '../keywords.ts';
import { tokenizing, type Token } from '../lexer.ts';
import { SqlRefusal } from '../refusal.ts';
import type { Option, Script } from '../tree.ts';
import { expression } from './expression.ts';
import { tableName } from './parts.ts';
import { queryTail, readQuery } from './query.ts';
import { Reader, type Budget, type Grammar } from './reader.ts';

const GRAMMAR: Grammar = { expression, query: readQuery, queryTail, script: readScript };

/** As many are split and parsed in one part. */
const TOKENS_AT_ONCE = 4096;

/**
 * Parses a complete text: options and one query, optionally with `EXPLAIN`, or `DESCRIBE`.
 * @throws {SqlRefusal}
 */
export function readScript(sql: string, budget: Budget): Script {
  return atOnce(readingScript(sql, budget));
}

/** `readScript` in parts. */
export function* readingScript(sql: string, budget: Budget): Parts<Script> {
  const tokens = yield* tokenizing(sql, budget);
  if (tokens.length > TOKENS_AT_ONCE) yield;
  return parse(tokens, budget, sql.length);
}

function parse(tokens: readonly Token[], budget: Budget, length: number): Script {
  const at = new Reader(tokens, budget, GRAMMAR);
  const options: Option[] = [];
  let limit: number | undefined;
  let queries = 0;
  let statements = 0;
  while (at.peek().kind !== 'end') {
    if (at.key() === ';') {
      at.skip();
      continue;
    }
    if (++statements > budget.limits.statements)
      throw at.refusal(`the text has more than ${budget.limits.statements} statements`);
    if (statements > 1) at.mark(';');
    if (at.key() === 'SET') options.push(setOption(at));
    else if (++queries > 1) throw at.unexpected('the end of the text (one query at a time)');
    else limit = statement(at, options);
    if (at.peek().kind !== 'end' && at.key() !== ';')
      throw at.unexpected('an operator, a clause, `;` or the end of the text');
  }
  if (queries === 0) throw new SqlRefusal('the text has no query', length);
  return { pieces: at.pieces, options, limit };
}

function statement(at: Reader, options: Option[]): number | undefined {
  if (at.take('DESCRIBE')) return describe(at);
  explain(at);
  const limit = readQuery(at);
  while (at.key() === 'OPTION') options.push(...optionClause(at));
  return limit;
}

/** `DESCRIBE [TABLE] t [column]` */
function describe(at: Reader): undefined {
  at.take('TABLE');
  tableName(at);
  if (at.atName()) at.emit({ kind: 'name', parts: [at.name('a column')] });
}

const EXPLAIN_WORDS: readonly Keyword[] = [
  ...([
    'PLAN',
    'IMPLEMENTATION',
    'INCLUDING',
    'EXCLUDING',
    'ALL',
    'ATTRIBUTES',
    'WITH',
    'WITHOUT',
    'TYPE',
    'AS',
    'XML',
    'JSON',
    'DOT',
  ] as const),
];

function explain(at: Reader): void {
  if (!at.take('EXPLAIN')) return;
  while (at.takeOne(EXPLAIN_WORDS) !== undefined);
  at.expect('FOR');
}

/** `SET key = value`. The engine accepts only literals. */
function setOption(at: Reader): Option {
  at.expect('SET');
  const { at: offset } = at.peek();
  const parts = [at.name('the name of an option')];
  while (at.key() === '.') {
    at.skip();
    parts.push(at.name('the rest of the name of an option'));
  }
  at.emit({ kind: 'name', parts });
  at.expectMark('=');
  const key = checkedKey(at, parts.join('.'));
  // The engine normalizes numbers: it would read `02024` as the database `2024`.
  if (key.toLowerCase() === 'database' && at.peek().kind !== 'string') throw at.unexpected('a string');
  return { key, value: setValue(at), at: offset };
}

/** The engine compares keys without case. Only ASCII, because versions could differ in the case rules for other letters. */
const KEY = /^[\w.$-]+$/;

function checkedKey(at: Reader, key: string): string {
  if (!KEY.test(key))
    throw at.refusal(
      `the option \`${key}\` has a name with characters other than ASCII letters, digits, \`_\`, \`.\`, \`$\` and \`-\``,
    );
  return key;
}

function setValue(at: Reader): string {
  const sign = at.takeMark('-') ? '-' : '';
  if (sign === '') at.takeMark('+');
  const { kind, text, key, prefix } = at.peek();
  if (kind === 'number') at.emit({ kind, text });
  else if (sign === '' && kind === 'string' && prefix === '') at.emit({ kind, text, prefix });
  else if (sign !== '' || kind !== 'word' || !SET_WORDS.has(key))
    throw at.unexpected('a string, a number, `TRUE`, `FALSE` or `NULL`');
  else at.emit({ kind: 'bare', text });
  at.skip();
  return sign + text;
}

const SET_WORDS: ReadonlySet<string> = new Set(['TRUE', 'FALSE', 'NULL']);

/** `OPTION(key=value, …)`. The engine extracts it with a regular expression before parsing, so keys and values must be plain words. */
function optionClause(at: Reader): Option[] {
  at.skip();
  if (at.key() !== '(') throw at.unexpected('`(`');
  at.skip();
  const options: Option[] = [];
  do options.push(optionOf(at));
  while (at.key() === ',' && at.skip().kind === 'mark');
  if (at.key() !== ')') throw at.unexpected('`,` or `)`');
  at.skip();
  at.emit({ kind: 'options', options });
  return options;
}

const VALUE = /^[\w.:/$+-]+$/;

function optionOf(at: Reader): Option {
  const { at: offset } = at.peek();
  const key = checkedKey(at, at.name('the name of an option'));
  if (at.key() !== '=') throw at.unexpected('`=`');
  at.skip();
  const start = at.peek();
  let value = '';
  while (at.key() !== ',' && at.key() !== ')') {
    const next = at.peek();
    value += optionToken(at);
    // The engine keeps blanks; printed without them, the value would be another one.
    if (next.at + optionText(next).length !== start.at + value.length)
      throw at.refusal(`the value of the option \`${key}\` has blanks or a comment in it`, next.at);
  }
  if (!VALUE.test(value.replaceAll("'", '')) || value.includes('--') || value.includes('//')) {
    throw at.refusal(
      `the value of the option \`${key}\` has characters other than ASCII letters, digits and \`_.:/$+-\``,
      start.at,
    );
  }
  return { key, value, at: offset };
}

function optionToken(at: Reader): string {
  const { kind, prefix } = at.peek();
  if (kind === 'end' || kind === 'quoted' || prefix !== '') throw at.unexpected('a plain value');
  return optionText(at.skip());
}

/** As it is written in the text. */
function optionText({ kind, text }: Token): string {
  return kind === 'string' ? `'${text.replaceAll("'", "''")}'` : text;
}
