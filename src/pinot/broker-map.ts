import type { Listings } from './table-listings.ts';
import { databaseOfTable, partsOf, tableNameOf, type TableName } from './table-name.ts';
import { EngineError } from './types.ts';

/** Which brokers serve which tables of all databases, as reported by the controller. */
export interface BrokerMap {
  /** Base URLs of every live broker. */
  readonly brokers: readonly string[];
  /** Brokers that serve the whole table, by lower-case name. */
  readonly byTable: ReadonlyMap<string, readonly string[]>;
  /** All existing spellings of a name, by lower-case name. */
  readonly spellings: ReadonlyMap<string, ReadonlySet<TableName>>;
  /** Tables that consist of others. */
  readonly logicalTables: ReadonlySet<TableName>;
  /**
   * Whether the engine has databases, as from version 1.2 on. In older versions `x.t` means the table `t` where there is no table `x.t`;
   * in newer ones it never does.
   */
  readonly hasDatabases: boolean;
  /** Why databases could never be read, by lower-case name. Names in them cannot be resolved. */
  readonly unread: ReadonlyMap<string, EngineError>;
}

export function brokerMapOf({ byDatabase, hasDatabases, failures }: Listings): BrokerMap {
  const brokers = new Set<string>();
  const byTable = new Map<string, readonly string[]>();
  const spellings = new Map<string, Set<TableName>>();
  const spell = (name: TableName) => {
    const key = name.toLowerCase();
    spellings.set(key, (spellings.get(key) ?? new Set()).add(name));
  };
  for (const { brokersOf, logicalTables } of byDatabase.values()) {
    for (const name of logicalTables) spell(name);
    for (const [tableWithType, urls] of brokersOf) {
      for (const url of urls) brokers.add(url);
      const name = tableNameOf(tableWithType);
      spell(name);
      byTable.set(name.toLowerCase(), commonBrokers(byTable.get(name.toLowerCase()), urls));
    }
  }
  const logicalTables = new Set([...byDatabase.values()].flatMap((listing) => listing.logicalTables));
  const unread = [...failures].filter(([database]) => !byDatabase.has(database));
  const unreadByName = new Map(unread.map(([database, error]) => [database.toLowerCase(), error]));
  return { brokers: [...brokers], byTable, spellings, logicalTables, hasDatabases, unread: unreadByName };
}

/** Only common brokers of the offline and the realtime table serve a hybrid table completely. If there are none, the engine must reject the partial query. */
function commonBrokers(known: readonly string[] | undefined, urls: readonly string[]): readonly string[] {
  if (known === undefined) return urls;
  const common = known.filter((url) => urls.includes(url));
  return common.length > 0 ? common : [...new Set([...known, ...urls])];
}

/** Brokers that serve all of the tables; may be empty. */
export function brokersServingAll(map: BrokerMap, tables: readonly TableName[]): readonly string[] {
  let candidates = map.brokers;
  for (const table of tables) {
    const serving = map.byTable.get(table.toLowerCase());
    if (serving !== undefined) candidates = candidates.filter((url) => serving.includes(url));
  }
  return candidates;
}

/** Whether the map has the table, in any letter case. */
export function isKnown({ spellings }: BrokerMap, name: TableName): boolean {
  return spellings.has(name.toLowerCase());
}

/** Whether the engine may resolve the name to a table of the map. */
export function hasMeaning(map: BrokerMap, name: TableName): boolean {
  return isKnown(map, name) || (!map.hasDatabases && isKnown(map, withoutDatabase(name)));
}

/**
 * All tables that the engine may resolve the name to; an unknown name as it is. The map can lack a new table for some seconds.
 * @throws {EngineError} if the database of the name could never be read: the engine may know the table in another letter case
 */
export function meaningsOf(map: BrokerMap, name: TableName): readonly TableName[] {
  requireRead(map, name);
  const own = map.spellings.get(name.toLowerCase());
  if (own !== undefined) return [...own];
  const written = [name, name.toLowerCase() as TableName];
  // A table `x.t` that the map does not have yet comes before `t` in the engine: the name may mean either.
  if (map.hasDatabases || withoutDatabase(name) === name) return written;
  return [...written, ...meaningsOf(map, withoutDatabase(name))];
}

function withoutDatabase(name: TableName): TableName {
  return partsOf(name)[1] as TableName;
}

function requireRead({ unread }: BrokerMap, name: TableName): void {
  const database = databaseOfTable(name);
  const error = unread.get(database.toLowerCase());
  if (error === undefined) return;
  const message = `the tables of the database \`${database}\` cannot be listed, so \`${name}\` cannot be resolved: ${error.message}`;
  throw new EngineError(error.code, message, { cause: error });
}
