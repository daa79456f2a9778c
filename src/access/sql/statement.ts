import { Cursor } from './cursor.ts';
import { QueryParser } from './parser.ts';
import { SqlRefusal, tokenize, type Token } from './tokens.ts';

/** What one text names. */
export interface Statement {
  /** As spelt in the place of a table, parts joined by dots. */
  readonly tables: ReadonlySet<string>;
  /** As spelt in `LOOKUP`, which no database is put before. */
  readonly lookups: ReadonlySet<string>;
  /** Values of the option `database`. */
  readonly databases: ReadonlySet<string>;
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
  const found = { tables: new Set<string>(), lookups: new Set<string>(), databases: new Set<string>() };
  const texts = [sql];
  for (let index = 0; index < texts.length; index++) {
    if (index >= MAX_TEXTS) throw new SqlRefusal(`it holds more than ${MAX_TEXTS - 1} queries as strings`);
    readText(texts[index] as string, found, (text) => texts.push(text));
  }
  return found;
}

interface Found {
  readonly tables: Set<string>;
  readonly lookups: Set<string>;
  readonly databases: Set<string>;
}

function readText(sql: string, found: Found, onQuery: (sql: string) => void): void {
  const at = new Cursor(tokenize(sql));
  const parser = new QueryParser(at, (name) => found.tables.add(name), {
    onTable: (name) => found.lookups.add(name),
    onQuery,
  });
  let queries = 0;
  while (at.peek().kind !== 'end') {
    if (at.take(';')) continue;
    if (at.key() === 'SET') readSet(at, found.databases);
    else {
      if (++queries > 1) throw at.unexpected('the end was expected: one text holds one query');
      readExplain(at);
      parser.query();
      while (at.key() === 'OPTION') readOption(at, found.databases);
    }
    if (at.peek().kind !== 'end' && at.key() !== ';') throw at.unexpected('the end or `;` was expected');
  }
  if (queries === 0) throw new SqlRefusal('it holds no query');
}

function readExplain(at: Cursor): void {
  if (!at.take('EXPLAIN')) return;
  while (at.takeOne(EXPLAIN_WORDS));
  at.expect('FOR');
}

/** `SET key = value`: an option of the query. */
function readSet(at: Cursor, databases: Set<string>): void {
  at.expect('SET');
  const key = optionName(at);
  at.expect('=');
  while (at.take('-') || at.take('+'));
  const value = at.next();
  if (value.kind !== 'string' && value.kind !== 'number' && value.kind !== 'word') {
    throw new SqlRefusal(`the option \`${key}\` must be set to one value`);
  }
  noteDatabase(key, value, databases);
}

/** `OPTION(key = value, …)` at the end. The engine cuts it off before it reads the rest, up to the first `)`. */
function readOption(at: Cursor, databases: Set<string>): void {
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
    noteDatabase(key, start, databases);
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

function noteDatabase(key: string, value: Token, databases: Set<string>): void {
  if (key.toLowerCase() === 'database') databases.add(value.text);
}
