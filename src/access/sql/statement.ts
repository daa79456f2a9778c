import { Cursor } from './cursor.ts';
import { QueryParser } from './parser.ts';
import { SqlRefusal, tokenize } from './tokens.ts';

/** What one text names. */
export interface Statement {
  /** As spelt in the place of a table, parts joined by dots. */
  readonly tables: ReadonlySet<string>;
  /** As spelt in `LOOKUP`, which no database is put before. */
  readonly lookups: ReadonlySet<string>;
  /** Values of the option `database`. */
  readonly databases: ReadonlySet<string>;
  /** How many rows the text itself asks for at most; undefined where it does not say. */
  readonly limit: number | undefined;
  /** Whether an option asks for the multi-stage engine. */
  readonly multistage: boolean;
}

/** `IN_SUBQUERY` within `IN_SUBQUERY` within … */
const MAX_TEXTS = 8;

const EXPLAIN_WORDS = new Set([
  'IMPLEMENTATION',
  'PLAN',
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
]);

/**
 * Reads a text: options and one query, `EXPLAIN` before it where wanted.
 * @throws {SqlRefusal}
 */
export function readStatement(sql: string): Statement {
  const names = { tables: new Set<string>(), lookups: new Set<string>() };
  const options = { databases: new Set<string>(), multistage: false };
  const found = { ...names, options };
  const texts = [sql];
  let limit: number | undefined;
  for (let index = 0; index < texts.length; index++) {
    if (index >= MAX_TEXTS) throw new SqlRefusal(`it holds more than ${MAX_TEXTS - 1} queries as strings`);
    const ownLimit = readText(texts[index] as string, found, (text) => texts.push(text));
    if (index === 0) limit = ownLimit;
  }
  return { ...names, ...options, limit };
}

/** What the options of a text say that matters here. */
interface Options {
  readonly databases: Set<string>;
  multistage: boolean;
}

interface Found {
  readonly tables: Set<string>;
  readonly lookups: Set<string>;
  readonly options: Options;
}

/** @returns the outermost limit */
function readText(sql: string, found: Found, onQuery: (sql: string) => void): number | undefined {
  const at = new Cursor(tokenize(sql));
  const parser = new QueryParser(at, (name) => found.tables.add(name), {
    onTable: (name) => found.lookups.add(name),
    onQuery,
  });
  let queries = 0;
  while (at.peek().kind !== 'end') {
    if (at.take(';')) continue;
    if (at.key() === 'SET') readSet(at, found.options);
    else {
      if (++queries > 1) throw at.unexpected('the end was expected: one text holds one query');
      readExplain(at);
      parser.query();
      while (at.key() === 'OPTION') readOption(at, found.options);
    }
    if (at.peek().kind !== 'end' && at.key() !== ';') throw at.unexpected('the end or `;` was expected');
  }
  if (queries === 0) throw new SqlRefusal('it holds no query');
  return parser.limit;
}

function readExplain(at: Cursor): void {
  if (!at.take('EXPLAIN')) return;
  while (at.takeOne(EXPLAIN_WORDS));
  at.expect('FOR');
}

/** `SET key = value`: an option of the query. */
function readSet(at: Cursor, options: Options): void {
  at.expect('SET');
  const key = optionName(at);
  at.expect('=');
  while (at.take('-') || at.take('+'));
  const value = at.next();
  if (value.kind !== 'string' && value.kind !== 'number' && value.kind !== 'word') {
    throw new SqlRefusal(`the option \`${key}\` must be set to one value`);
  }
  noteOption(key, value.text, options);
}

/** `OPTION(key = value, …)` at the end. The engine cuts it off before it reads the rest, up to the first `)`. */
function readOption(at: Cursor, options: Options): void {
  at.expect('OPTION');
  at.expect('(');
  for (let first = true; !at.take(')'); first = false) {
    if (!first) at.expect(',');
    const key = optionName(at);
    at.expect('=');
    const start = at.peek();
    let length = 0;
    for (; at.key() !== ',' && at.key() !== ')'; length++) {
      const { kind, text } = at.next();
      if (kind === 'end' || text.includes('(') || text.includes(')')) throw at.unexpected('a value was expected');
    }
    if (length > 1 && key.toLowerCase() === 'database') throw new SqlRefusal('the option `database` must be one word');
    noteOption(key, start.text, options);
  }
}

function optionName(at: Cursor): string {
  const parts: string[] = [];
  do {
    const { kind, text } = at.next();
    if (kind !== 'word' && kind !== 'quoted') throw new SqlRefusal('an option must have a name');
    parts.push(text);
  } while (at.take('.'));
  return parts.join('.');
}

/** Takes note of an option that matters here, wherever it stands. */
export function noteOption(key: string, value: string, options: Options): void {
  const name = key.toLowerCase();
  if (name === 'database') options.databases.add(value);
  else if (name === 'usemultistageengine' && value.toLowerCase() === 'true') options.multistage = true;
}
