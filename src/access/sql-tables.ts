import { noteOption, readStatement } from './sql/statement.ts';
import { SqlRefusal } from './sql/tokens.ts';

export interface SqlTablesOptions {
  /** From the `database` header: it stands before every name without one. */
  readonly database?: string | undefined;
  /** From the options beside the text (`queryOptions` of the body), `key=value;key=value`. */
  readonly queryOptions?: string | undefined;
}

export type SqlTables =
  | {
      readonly ok: true;
      readonly tables: readonly string[];
      /** How many rows the text itself asks for at most; undefined where it does not say. */
      readonly limit: number | undefined;
      /** Whether an option asks for the multi-stage engine, which bounds the rows of no query by itself. */
      readonly multistage: boolean;
    }
  /** `reason` is for people: one clause that says what in the text could not be understood. */
  | { readonly ok: false; readonly reason: string };

const TYPE_SUFFIX = /^(.+)_(OFFLINE|REALTIME)$/i;

/**
 * The tables that a text reads if the engine accepts it: never fewer, in either of its query engines. See docs/adr/0007.
 *
 * Names are without type suffix; a table of another database than `default` is `<database>.<table>`, as the engine calls it. Letters are as the
 * text spells them, though the engine may compare without case: resolve the names against those that the engine knows before asking for access.
 * Where versions of the engine differ in what a name means, every meaning is listed.
 */
export function tablesOfSql(sql: string, options: SqlTablesOptions = {}): SqlTables {
  try {
    const { tables, lookups, databases, limit, multistage } = readStatement(sql);
    const beside = besideOptions(options.queryOptions);
    const optionDatabases = new Set([...databases, ...beside.databases]);
    const names = new Set<string>();
    for (const name of tables) addNames(name, options.database, optionDatabases, names);
    for (const name of lookups) {
      addNames(name, undefined, new Set(), names);
      addNames(name, options.database, optionDatabases, names);
    }
    return { ok: true, tables: [...names], limit, multistage: multistage || beside.multistage };
  } catch (error) {
    if (error instanceof SqlRefusal) return { ok: false, reason: error.message };
    throw error;
  }
}

/**
 * The names that a table's name in a path, a parameter or a body may stand for.
 * @returns undefined where it is no name of a table
 */
export function tableNames(name: string, database: string | undefined): readonly string[] | undefined {
  const names = new Set<string>();
  try {
    addNames(name, database, new Set(), names);
  } catch (error) {
    if (error instanceof SqlRefusal) return undefined;
    throw error;
  }
  return [...names];
}

/** The single-stage engine puts only the header's database before a name, the other one also that of the options: both are asked for. */
function addNames(
  name: string,
  header: string | undefined,
  optionDatabases: ReadonlySet<string>,
  names: Set<string>,
): void {
  const parts = name.split('.');
  if (parts.length > 2 || parts.some((part) => part.trim() === '')) {
    throw new SqlRefusal(`\`${name}\` is no name of a table: \`table\` or \`database.table\` was expected`);
  }
  if (parts.length === 2) {
    addRawNames(parts[0] as string, parts[1] as string, names);
    return;
  }
  addRawNames(header ?? DEFAULT_DATABASE, name, names);
  for (const database of optionDatabases) addRawNames(database, name, names);
}

const DEFAULT_DATABASE = 'default';

function addRawNames(database: string, table: string, names: Set<string>): void {
  const prefix = database === '' || database.toLowerCase() === DEFAULT_DATABASE ? '' : `${database}.`;
  const [, raw, suffix] = TYPE_SUFFIX.exec(table) ?? [];
  if (raw === undefined || suffix === undefined) names.add(prefix + table);
  else {
    names.add(prefix + raw);
    // The engine knows its suffixes in capitals; in small letters they may also be the end of a name.
    if (suffix !== suffix.toUpperCase()) names.add(prefix + table);
  }
}

/** What the options beside a text say. */
function besideOptions(queryOptions: string | undefined): { databases: Set<string>; multistage: boolean } {
  const found = { databases: new Set<string>(), multistage: false };
  for (const option of queryOptions?.split(';') ?? []) {
    const at = option.indexOf('=');
    if (at >= 0) noteOption(option.slice(0, at).trim(), option.slice(at + 1).trim(), found);
  }
  return found;
}
