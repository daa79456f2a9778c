import {
  DEFAULT_DATABASE,
  isDatabaseName,
  isDefaultDatabase,
  qualified,
  tableName,
  type TableName,
} from '../../pinot/table-name.ts';
import { isSameDatabase, meaningsOf, writtenName, type WrittenName } from './names.ts';
import { SqlRefusal } from './refusal.ts';
import type { Option, TableReference } from './tree.ts';

/** The settings of a request that select a database, apart from prefixes of table names. */
export interface DatabaseContext {
  /** From the `Database` header. */
  readonly header: string | undefined;
  /** Options of the text and of the request. */
  readonly options: readonly Option[];
  /** Whether the multi-stage engine runs the text: only this engine obeys the option `database`. */
  readonly multistage: boolean;
}

/** Gives each table of a text its database. */
export interface Databases {
  /** The `Database` header with which the engine gives all names of the printed text these databases; undefined for none. */
  readonly header: string | undefined;
  /** Tables that may be read. */
  readonly tables: readonly TableName[];
  /** Parts of a table name in the printed text. */
  partsOf(table: TableReference): readonly string[];
  /** First argument of `LOOKUP` in the printed text. */
  lookupOf(table: TableReference): string;
  /** The tables that a reference may mean, of `tables`. */
  meaningsOf(table: TableReference, place: 'table' | 'lookup'): readonly TableName[];
}

/**
 * Decides which database each name means, by the rules of the engine: the prefix; without one the header; without both, in the multi-stage engine, the option.
 * @throws {SqlRefusal} for a name that is not a table name, and for databases that contradict each other
 */
export function resolveDatabases(
  tables: readonly TableReference[],
  lookups: readonly TableReference[],
  context: DatabaseContext,
): Databases {
  const option = optionValue(context.options);
  const asked = askedDatabase(context, option);
  // The single-stage engine ignores the option, so the text names one table and the engine reads another: both count.
  const ignored = context.multistage ? undefined : option;
  const meanings = (prefix: string | undefined, database: string, name: string): readonly TableName[] =>
    (prefix === undefined && ignored !== undefined ? [database, ignored] : [database]).flatMap((one) =>
      meaningsOf(one, name),
    );
  const found = new Set<TableName>();
  const used = new Set<string>();
  for (const table of tables) {
    const { database: prefix, table: name } = written(table);
    const database = databaseOf(table, prefix, asked);
    used.add(database);
    if (context.multistage && used.size > 1) throw twoDatabases(table, [...used]);
    for (const meaning of meanings(prefix, database, name)) found.add(meaning);
  }
  for (const meaning of lookups.flatMap(lookupMeanings)) found.add(meaning);
  const added = asked === undefined || isDefaultDatabase(asked.name) ? [] : [asked.name];
  return {
    header: headerFor(asked, [...used], ignored),
    tables: [...found],
    partsOf(table) {
      const { database, table: name } = written(table);
      if (database === undefined) return [...added, ...table.parts];
      // The multi-stage engine finds `"sales"."orders"`, and not `"sales.orders"`.
      return context.multistage ? [database, name] : table.parts;
    },
    lookupOf,
    meaningsOf(table, place) {
      if (place === 'lookup') return lookupMeanings(table);
      const { database: prefix, table: name } = written(table);
      return meanings(prefix, databaseOf(table, prefix, asked), name);
    },
  };
}

function databaseOf(table: TableReference, prefix: string | undefined, asked: AskedDatabase | undefined): string {
  const database = prefix ?? asked?.name ?? DEFAULT_DATABASE;
  if (asked !== undefined && !isSameDatabase(database, asked.name)) throw conflict(table, database, asked);
  return isDefaultDatabase(database) ? DEFAULT_DATABASE : database;
}

/** The servers resolve the first argument of `LOOKUP`; they get neither header nor option. They append `_OFFLINE` unless the name ends with it. */
function lookupMeanings(table: TableReference): readonly TableName[] {
  const { database = DEFAULT_DATABASE, table: name } = written(table);
  return [tableName(database, name.replace(/_OFFLINE$/, ''))];
}

function lookupOf(table: TableReference): string {
  const { database = DEFAULT_DATABASE, table: name } = written(table);
  return qualified(database, name);
}

/** @param ignored value of the option that the engine ignores: some versions refuse a header that contradicts it */
function headerFor(
  asked: AskedDatabase | undefined,
  [only, ...more]: readonly string[],
  ignored: string | undefined,
): string | undefined {
  const common = more.length === 0 && (ignored === undefined || ignored === only) ? only : undefined;
  const database = asked?.name ?? common ?? DEFAULT_DATABASE;
  return isDefaultDatabase(database) ? undefined : database;
}

interface AskedDatabase {
  readonly name: string;
  /** For error messages. */
  readonly source: string;
}

/** The database of names without a prefix; undefined where the request has none. */
function askedDatabase({ header, multistage }: DatabaseContext, option: string | undefined): AskedDatabase | undefined {
  if (header !== undefined) {
    if (multistage && option !== undefined && !isSameDatabase(header, option)) {
      throw new SqlRefusal(
        `the header \`Database\` names \`${header}\`, but the option \`database\` names \`${option}\``,
      );
    }
    return { name: header, source: 'the header `Database`' };
  }
  return multistage && option !== undefined ? { name: option, source: 'the option `database`' } : undefined;
}

function optionValue(options: readonly Option[]): string | undefined {
  let found: string | undefined;
  for (const { key, value, at } of options) {
    if (key.toLowerCase() !== 'database') continue;
    if (!isDatabaseName(value)) {
      throw new SqlRefusal(
        'the option `database` must hold one name of at most 128 letters, digits, `_` and `-`, such as `sales`',
        at,
      );
    }
    if (found !== undefined && found !== value) {
      throw new SqlRefusal(`the option \`database\` has two values: \`${found}\` and \`${value}\``, at);
    }
    found = value;
  }
  return found;
}

function written(table: TableReference): WrittenName {
  const name = table.parts.join('.');
  const found = writtenName(name);
  if (found !== undefined) return found;
  throw new SqlRefusal(
    `invalid table name \`${name.slice(0, 100)}\`: it must be \`table\` or \`database.table\``,
    table.at,
  );
}

function conflict(table: TableReference, database: string, { name, source }: AskedDatabase): SqlRefusal {
  return new SqlRefusal(
    `\`${table.parts.join('.').slice(0, 100)}\` is in the database \`${database.slice(0, 100)}\`, but ${source} names \`${name}\``,
    table.at,
  );
}

function twoDatabases(table: TableReference, databases: readonly string[]): SqlRefusal {
  return new SqlRefusal(
    `the multi-stage engine reads tables of one database in a query, not of ${databases.map((name) => `\`${name.slice(0, 100)}\``).join(' and ')}`,
    table.at,
  );
}
