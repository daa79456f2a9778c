import { SQL_LIMITS, type SqlLimits } from './limits.ts';
import type { Steps } from './lexer.ts';
import { addNames } from './names.ts';
import { readScript } from './parser/script.ts';
import { parseOptions, printOptions } from './options-field.ts';
import { print } from './printer.ts';
import { requireKnownOption } from './query-options.ts';
import { position, SqlRefusal } from './refusal.ts';
import type { Option, Script, TableName } from './tree.ts';

export interface SqlContext {
  /** From the `Database` header: prefixes every table name without a database. */
  readonly database?: string | undefined;
  /** `queryOptions` of the request body, in the form `key=value;key=value`. */
  readonly queryOptions?: string | undefined;
  /** Default: `SQL_LIMITS`. */
  readonly limits?: SqlLimits | undefined;
}

export interface JudgedSql {
  readonly ok: true;
  /** The canonical text. Only this text may be sent to the engine. */
  readonly text: string;
  /** `queryOptions` in canonical form (`key=value;key=value`); undefined if there are none. */
  readonly queryOptions: string | undefined;
  /**
   * All tables that the text may read in any version and in either query engine.
   * Without type suffix; a table outside the database `default` is `<database>.<table>`. Names keep the spelling of the text, but the engine
   * may compare without case: resolve them against the existing tables before the access check.
   */
  readonly tables: readonly string[];
  /** Maximum number of rows from the text; undefined if it has no limit. */
  readonly limit: number | undefined;
  /** Whether an option selects the multi-stage engine, which has no default row limit. */
  readonly multistage: boolean;
}

export interface RefusedSql {
  readonly ok: false;
  /** One sentence: the error, its position (line, column, word), and what is expected. */
  readonly reason: string;
  /** Position of the error, from 1. */
  readonly line: number;
  readonly column: number;
}

/**
 * Parses a text, collects the tables that it reads, and prints canonical text. See docs/adr/0014.
 * @param steps counts the work; for tests
 */
export function judgeSql(sql: string, context: SqlContext = {}, steps: Steps = { count: 0 }): JudgedSql | RefusedSql {
  try {
    return judge(sql, context, steps);
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    const { line, column } = position(sql, error.at);
    return { ok: false, reason: `line ${line}, column ${column}: ${error.message}`, line, column };
  }
}

function judge(sql: string, { database, queryOptions, limits = SQL_LIMITS }: SqlContext, steps: Steps): JudgedSql {
  if (Buffer.byteLength(sql) > limits.bytes) throw new SqlRefusal(`the text is longer than ${limits.bytes} bytes`);
  const script = readScript(sql, { steps, limits, depth: 0, texts: 0, tables: 0, commonTables: 0 });
  const requestOptions = parseOptions('queryOptions', queryOptions, limits);
  const found: Found = { tables: [], lookups: [], options: [...requestOptions] };
  collect(script, found);
  for (const option of found.options) requireKnownOption(option);
  return {
    ok: true,
    text: print(script, limits.bytes * MAX_GROWTH),
    queryOptions: printOptions(requestOptions),
    tables: tableNamesOf(found, { database, limits }, steps),
    limit: script.limit,
    multistage: found.options.some(
      ({ key, value }) => key.toLowerCase() === 'usemultistageengine' && value.toLowerCase() === 'true',
    ),
  };
}

/** Times that a printed text may be longer than a text may be: names get quotes, marks get blanks, characters become escapes. */
const MAX_GROWTH = 4;

interface Found {
  readonly tables: TableName[];
  readonly lookups: TableName[];
  readonly options: Option[];
}

/** Collects tables and options from the pieces that are printed. */
function collect(script: Script, found: Found, within?: number): void {
  // Errors in a query within a string are reported at the position of the string.
  for (const option of script.options) found.options.push(within === undefined ? option : { ...option, at: within });
  const shown = (table: TableName): TableName => (within === undefined ? table : { ...table, at: within });
  for (const piece of script.pieces) {
    if (piece.kind === 'table') found.tables.push(shown(piece.table));
    else if (piece.kind === 'lookup') found.lookups.push(shown(piece.table));
    else if (piece.kind === 'text') collect(piece.script, found, within ?? piece.at);
  }
}

/** Maximum length of the option `database`, as of the header, in characters. */
const MAX_DATABASE_LENGTH = 128;

function tableNamesOf(
  { tables, lookups, options }: Found,
  { database: header, limits }: { readonly database: string | undefined; readonly limits: SqlLimits },
  steps: Steps,
): string[] {
  const databases = new Set(options.filter(({ key }) => key.toLowerCase() === 'database').map(({ value }) => value));
  if (databases.size > limits.databases)
    throw new SqlRefusal(`the option \`database\` has more than ${limits.databases} values`);
  // Each value stands before the name of each table: without a bound the work would be the product of both.
  if (databases.values().some(({ length }) => length > MAX_DATABASE_LENGTH))
    throw new SqlRefusal(`the option \`database\` has a value of more than ${MAX_DATABASE_LENGTH} characters`);
  const names = new Set<string>();
  const add = (table: TableName, database: string | undefined, others: Iterable<string>): void => {
    steps.count += 1 + databases.size;
    const name = table.parts.join('.');
    if (addNames(name, database, others, names)) return;
    throw new SqlRefusal(
      `invalid table name \`${name.slice(0, 100)}\`: it must be \`table\` or \`database.table\``,
      table.at,
    );
  };
  for (const table of tables) add(table, header, databases);
  for (const table of lookups) {
    // Some versions add no database to such a name.
    add(table, undefined, []);
    add(table, header, databases);
  }
  return [...names];
}
