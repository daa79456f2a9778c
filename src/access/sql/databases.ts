import { DEFAULT_DATABASE, isDefaultDatabase, qualified, type TableName } from '../../pinot/table-name.ts';
import { isSameDatabase, meaningsOf, writtenName, type WrittenName } from './names.ts';
import { SqlRefusal } from './refusal.ts';
import type { Option, TableReference } from './tree.ts';

/** What a request says about databases, other than by the prefixes of its names. */
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
  /** The value of the option `database` in the printed text. */
  readonly option: string;
  /** Tables that may be read. */
  readonly tables: readonly TableName[];
  /** Parts of a table name in the printed text. */
  partsOf(table: TableReference): readonly string[];
  /** First argument of `LOOKUP` in the printed text. */
  lookupOf(table: TableReference): string;
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
  const asked = askedDatabase(context);
  const found = new Set<TableName>();
  const used = new Set<string>();
  for (const table of tables) {
    const { database = asked?.name ?? DEFAULT_DATABASE, table: name } = written(table);
    if (asked !== undefined && !isSameDatabase(database, asked.name)) throw conflict(table, database, asked);
    used.add(isDefaultDatabase(database) ? DEFAULT_DATABASE : database);
    if (context.multistage && used.size > 1) throw twoDatabases(table, [...used]);
    for (const meaning of meaningsOf(database, name)) found.add(meaning);
  }
  // The servers resolve these names; they get neither header nor option.
  for (const table of lookups) {
    const { database = DEFAULT_DATABASE, table: name } = written(table);
    for (const meaning of meaningsOf(database, name)) found.add(meaning);
  }
  const [only, ...more] = used;
  const database = asked?.name ?? (more.length === 0 ? only : undefined) ?? DEFAULT_DATABASE;
  return {
    header: isDefaultDatabase(database) ? undefined : database,
    option: isDefaultDatabase(database) ? DEFAULT_DATABASE : database,
    tables: [...found],
    partsOf: (table) =>
      written(table).database === undefined && asked !== undefined && !isDefaultDatabase(asked.name)
        ? [asked.name, ...table.parts]
        : table.parts,
    lookupOf: (table) => {
      const { database: prefix = DEFAULT_DATABASE, table: name } = written(table);
      return qualified(prefix, name);
    },
  };
}

interface AskedDatabase {
  readonly name: string;
  /** For error messages. */
  readonly source: string;
}

/** The database of names without a prefix; undefined where the request has none. */
function askedDatabase({ header, options, multistage }: DatabaseContext): AskedDatabase | undefined {
  const option = optionValue(options);
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

/** The same names as in the `Database` header. */
const DATABASE = /^[\w-]{1,128}$/;

function optionValue(options: readonly Option[]): string | undefined {
  let found: string | undefined;
  for (const { key, value, at } of options) {
    if (key.toLowerCase() !== 'database') continue;
    if (!DATABASE.test(value)) {
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
