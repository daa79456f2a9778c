import type { Slices } from '../../../platform/long-work.ts';
import type { Keyword } from '../keywords.ts';
import { tokenizing, type Token } from '../lexer.ts';
import { position, SqlRefusal } from '../refusal.ts';
import type {
  DescribeStatement,
  Option,
  OptionClause,
  QueryStatement,
  Script,
  SetStatement,
  Statement,
  TextLeaf,
} from '../tree.ts';
import { expression } from './expression.ts';
import { tableName } from './parts.ts';
import { queryTail, readQuery } from './query.ts';
import { Reader, type Budget, type Grammar } from './reader.ts';

const GRAMMAR: Grammar = { expression, query: readQuery, queryTail };

/** As many are split and parsed in one part of the work, of one text or of several short ones within strings. */
const TOKENS_AT_ONCE = 4096;

/**
 * Parses a complete text and the texts within its strings, in parts: options and one query, optionally with `EXPLAIN`, or `DESCRIBE`.
 * @throws {SqlRefusal}
 */
export function* readingScript(sql: string, budget: Budget): Slices<Script> {
  const tokens = yield* tokenizing(sql, budget);
  if (budget.tokens - budget.tokensOfLastPart > TOKENS_AT_ONCE) {
    budget.tokensOfLastPart = budget.tokens;
    yield;
  }
  const at = new Reader(tokens, budget, GRAMMAR);
  const script = parse(at, sql.length);
  for (const text of at.texts) yield* readingText(text, budget);
  return script;
}

/** Parses the query within a string. */
function* readingText(text: TextLeaf, budget: Budget): Slices<void> {
  budget.depth = text.depth;
  try {
    text.script = yield* readingScript(text.sql, budget);
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    const { line, column } = position(text.sql, error.at);
    throw new SqlRefusal(`within this string, at line ${line}, column ${column}: ${error.message}`, text.at);
  }
}

function parse(at: Reader, length: number): Script {
  const { limits } = at.budget;
  const options: Option[] = [];
  const statements: Statement[] = [];
  let queries = 0;
  while (at.peek().kind !== 'end') {
    if (at.key() === ';') {
      at.skip();
      continue;
    }
    if (statements.length >= limits.statements)
      throw at.refusal(`the text has more than ${limits.statements} statements`);
    if (at.key() === 'SET') statements.push(setStatement(at, options));
    else if (++queries > 1) throw at.unexpected('the end of the text (one query at a time)');
    else statements.push(statement(at, options));
    if (at.peek().kind !== 'end' && at.key() !== ';')
      throw at.unexpected('an operator, a clause, `;` or the end of the text');
  }
  if (queries === 0) throw new SqlRefusal('the text has no query', length);
  return { kind: 'script', statements, options };
}

function statement(at: Reader, options: Option[]): DescribeStatement | QueryStatement {
  if (at.accept('DESCRIBE')) return describe(at);
  const words = explain(at);
  const query = readQuery(at);
  const clauses: OptionClause[] = [];
  while (at.key() === 'OPTION') clauses.push(optionClause(at));
  for (const clause of clauses) options.push(...clause.options);
  return { kind: 'statement', explain: words, query, options: clauses };
}

/** `DESCRIBE [TABLE] t [column]` */
function describe(at: Reader): DescribeStatement {
  const hasTableWord = at.accept('TABLE');
  const table = tableName(at);
  return { kind: 'describe', hasTableWord, table, column: at.atName() ? at.name('a column') : undefined };
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

/** @returns the words between `EXPLAIN` and `FOR`; undefined without `EXPLAIN` */
function explain(at: Reader): readonly Keyword[] | undefined {
  if (!at.accept('EXPLAIN')) return undefined;
  const words: Keyword[] = [];
  for (let word = at.acceptOne(EXPLAIN_WORDS); word !== undefined; word = at.acceptOne(EXPLAIN_WORDS)) words.push(word);
  at.require('FOR');
  return words;
}

/** `SET key = value`. The engine accepts only literals. */
function setStatement(at: Reader, options: Option[]): SetStatement {
  at.require('SET');
  const { at: offset } = at.peek();
  const parts = [at.name('the name of an option')];
  while (at.key() === '.') {
    at.skip();
    parts.push(at.name('the rest of the name of an option'));
  }
  at.requireMark('=');
  const key = checkedKey(at, parts.join('.'));
  // The engine normalizes numbers: it would read `02024` as the database `2024`.
  if (key.toLowerCase() === 'database' && at.peek().kind !== 'string') throw at.unexpected('a string');
  const value = at.sequence(() => options.push({ key, value: setValue(at), at: offset }));
  return { kind: 'set', name: parts, value };
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
function optionClause(at: Reader): OptionClause {
  at.skip();
  if (at.key() !== '(') throw at.unexpected('`(`');
  at.skip();
  const options: Option[] = [];
  do options.push(optionOf(at));
  while (at.key() === ',' && at.skip().kind === 'mark');
  if (at.key() !== ')') throw at.unexpected('`,` or `)`');
  at.skip();
  return { kind: 'options', options };
}

const VALUE = /^[\w.:/$+|-]+$/;

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
      `the value of the option \`${key}\` has characters other than ASCII letters, digits and \`_.:/$+|-\`: use \`SET ${key} = '…'\``,
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
