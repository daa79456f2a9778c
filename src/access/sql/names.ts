import { isDatabaseName, isDefaultDatabase, tableName, type TableName } from '../../pinot/table-name.ts';

const TYPE_SUFFIX = /^(.+)_(OFFLINE|REALTIME)$/i;

/** A table name as it is written, in its two parts. */
export interface WrittenName {
  /** Undefined where the name has no prefix. */
  readonly database: string | undefined;
  /** May have a type suffix. */
  readonly table: string;
}

/**
 * The engine refuses to create a table whose name has a blank.
 * @param name its parts joined by dots, because not every version distinguishes `"a.b"` from `a.b`
 * @returns undefined if it is not a table name
 */
export function writtenName(name: string): WrittenName | undefined {
  const parts = name.split('.', 3);
  if (parts.length > 2 || parts.some((part) => !/^\S+$/.test(part))) return undefined;
  if (parts.length === 2 && !isDatabaseName(parts[0] as string)) return undefined;
  return parts.length === 2
    ? { database: parts[0], table: parts[1] as string }
    : { database: undefined, table: parts[0] as string };
}

/** The tables that a name in a database may mean. @param table may have a type suffix */
export function meaningsOf(database: string, table: string): readonly TableName[] {
  const found = TYPE_SUFFIX.exec(table);
  if (found === null) return [tableName(database, table)];
  const [, raw = '', suffix = ''] = found;
  // The engine recognises only upper-case suffixes; a lower-case one may be part of the table name.
  return suffix === suffix.toUpperCase()
    ? [tableName(database, raw)]
    : [tableName(database, raw), tableName(database, table)];
}

/** Whether two names of databases mean the same one to every part of the engine: some parts ignore the case of both, some only that of `default`. */
export function isSameDatabase(a: string, b: string): boolean {
  return a === b || (isDefaultDatabase(a) && isDefaultDatabase(b));
}
