const TYPE_SUFFIX = /^(.+)_(OFFLINE|REALTIME)$/i;
const DEFAULT_DATABASE = 'default';

/**
 * Adds the table names that a name in the text may refer to.
 * @param name its parts joined by dots, because not every version distinguishes `"a.b"` from `a.b`
 * @param databases from the options: the single-stage engine uses only the header's database, the multi-stage engine also these
 * @returns false if it is not a table name
 */
export function addNames(
  name: string,
  header: string | undefined,
  databases: Iterable<string>,
  names: Set<string>,
): boolean {
  const parts = name.split('.', 3);
  if (parts.length > 2 || parts.some((part) => part === '' || part.trim() !== part)) return false;
  if (parts.length === 2) {
    addRawNames(parts[0] as string, parts[1] as string, names);
    return true;
  }
  addRawNames(header ?? DEFAULT_DATABASE, name, names);
  for (const database of databases) addRawNames(database, name, names);
  return true;
}

function addRawNames(database: string, table: string, names: Set<string>): void {
  const prefix = database === '' || database.toLowerCase() === DEFAULT_DATABASE ? '' : `${database}.`;
  const [, raw, suffix] = TYPE_SUFFIX.exec(table) ?? [];
  if (raw === undefined || suffix === undefined) names.add(prefix + table);
  else {
    names.add(prefix + raw);
    // The engine recognises only upper-case suffixes; a lower-case one may be part of the table name.
    if (suffix !== suffix.toUpperCase()) names.add(prefix + table);
  }
}
