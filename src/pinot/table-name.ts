/** The database of table names without a prefix. */
export const DEFAULT_DATABASE = 'default';

declare const TABLE_NAME: unique symbol;

/**
 * One table: the pair of its database and its name, without type suffix. Each pair has one text: `deals` in the database `default`, `sales.deals` in `sales`.
 * Versions without databases have one pair for each table, too.
 */
export type TableName = string & { readonly [TABLE_NAME]: true };

/** What the engine accepts in the `Database` header. */
const DATABASE = /^[\w-]{1,128}$/;

/** Whether a database of this name can be requested. Tables of others cannot be listed, so their names cannot be resolved. */
export function isDatabaseName(name: string): boolean {
  return DATABASE.test(name);
}

/** Whether the engine takes the database for the default one: it ignores the case of this name only. */
export function isDefaultDatabase(database: string): boolean {
  return database.toLowerCase() === DEFAULT_DATABASE;
}

/** @param table without type suffix and without database */
export function tableName(database: string, table: string): TableName {
  return qualified(database, table) as TableName;
}

/** The name that means the same table with any `Database` header that the engine accepts. @param table may have a type suffix */
export function qualified(database: string, table: string): string {
  return isDefaultDatabase(database) ? table : `${database}.${table}`;
}

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

/** @param name as the engine prints it: with its database unless that is the default one; may have a type suffix */
export function tableNameOf(name: string): TableName {
  const [database, table] = partsOf(name.replace(TYPE_SUFFIX, '') as TableName);
  return tableName(database, table);
}

/** Database and name of a table. */
export function partsOf(name: TableName): readonly [database: string, table: string] {
  const dot = name.indexOf('.');
  return dot < 0 ? [DEFAULT_DATABASE, name] : [name.slice(0, dot), name.slice(dot + 1)];
}

/** The database of a table: `default` in lower case, others as they are written. */
export function databaseOfTable(name: TableName): string {
  return partsOf(name)[0];
}
