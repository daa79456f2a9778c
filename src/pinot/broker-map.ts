import { getJson, requestJson } from './controller.ts';
import {
  DEFAULT_DATABASE,
  isDefaultDatabase,
  partsOf,
  tableNameOf,
  type TableName,
  isDatabaseName,
} from './table-name.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

/** Which brokers serve which tables of all databases, as reported by the controller. */
export interface BrokerMap {
  /** Base URLs of every live broker. */
  readonly brokers: readonly string[];
  /** Brokers that serve the whole table, by lower-case name. */
  readonly byTable: ReadonlyMap<string, readonly string[]>;
  /** All existing spellings of a name, by lower-case name. */
  readonly spellings: ReadonlyMap<string, ReadonlySet<TableName>>;
  /**
   * Whether the engine has databases, as from version 1.2 on. In older versions `x.t` means the table `t` where there is no table `x.t`;
   * in newer ones it never does.
   */
  readonly hasDatabases: boolean;
}

export interface BrokerAddressing {
  /** `http` or `https`: the controller reports only host and port. */
  readonly scheme: string;
  /** Maps an advertised `host:port` to one that is reachable from here. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** What the controller lists for one database. */
interface Listing {
  /** Response to `GET /tables/livebrokers`. */
  readonly brokers: unknown;
  readonly logicalTables: readonly string[];
}

/** Databases that are read at the same time, with two requests each. */
const CONCURRENCY = 4;

/**
 * Reads the tables and brokers of every database: without the header `Database`, the lists have the default database only.
 * @throws {EngineError} errors of the controller
 */
export async function readBrokerMap(
  controller: EngineEndpoint,
  addressing: BrokerAddressing,
  signal: AbortSignal,
): Promise<BrokerMap> {
  const databases = await listDatabases(controller, signal);
  const others = (databases ?? []).filter((name) => !isDefaultDatabase(name) && isDatabaseName(name));
  // The default database has tables that the list does not count, such as logical ones.
  const waiting = [DEFAULT_DATABASE, ...others].values();
  const listings: Listing[] = [];
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const readNext = async () => {
    for (const database of waiting) listings.push(await readListing(controller, database, either));
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
  } finally {
    // After an error the other requests would be in the way of the next attempt.
    stop.abort(new Error('the list of tables is not needed any more'));
  }
  return joinListings(listings, addressing, databases !== undefined);
}

/** @returns undefined for a version without databases, which responds with 404 */
async function listDatabases(controller: EngineEndpoint, signal: AbortSignal): Promise<readonly string[] | undefined> {
  return listNames(controller, { path: '/databases', signal }, 'databases');
}

async function readListing(controller: EngineEndpoint, database: string, signal: AbortSignal): Promise<Listing> {
  const headers = isDefaultDatabase(database) ? {} : { database };
  const [brokers, logicalTables] = await Promise.all([
    getJson(controller, '/tables/livebrokers', signal, headers),
    listNames(controller, { path: '/logicalTables', headers, signal }, 'logical tables'),
  ]);
  // Older versions have no logical tables.
  return { brokers, logicalTables: logicalTables ?? [] };
}

/** @returns undefined for status 404 */
async function listNames(
  controller: EngineEndpoint,
  request: Parameters<typeof requestJson>[1],
  what: string,
): Promise<readonly string[] | undefined> {
  const { status, value } = await requestJson(controller, request);
  if (status === 404) return undefined;
  if (status !== 200 || !Array.isArray(value)) {
    throw new EngineError('bad-answer', `the controller did not list its ${what}: it answered with status ${status}`);
  }
  return value.filter((name) => typeof name === 'string');
}

/** Reads `{<tableNameWithType>: [{host, port, instanceName}]}`. Invalid entries are ignored; the other brokers stay usable. */
function joinListings(listings: readonly Listing[], addressing: BrokerAddressing, hasDatabases: boolean): BrokerMap {
  const brokers = new Set<string>();
  const byTable = new Map<string, readonly string[]>();
  const spellings = new Map<string, Set<TableName>>();
  const spell = (name: TableName) => {
    const key = name.toLowerCase();
    spellings.set(key, (spellings.get(key) ?? new Set()).add(name));
  };
  for (const { brokers: answer, logicalTables } of listings) {
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
      throw new EngineError('bad-answer', 'the controller did not say which brokers are live: an object was expected');
    }
    for (const name of logicalTables) spell(tableNameOf(name));
    for (const [tableWithType, list] of Object.entries(answer)) {
      if (!Array.isArray(list)) continue;
      const urls = list.map((entry) => brokerUrl(entry, addressing)).filter((url) => url !== undefined);
      for (const url of urls) brokers.add(url);
      const name = tableNameOf(tableWithType);
      spell(name);
      byTable.set(name.toLowerCase(), commonBrokers(byTable.get(name.toLowerCase()), urls));
    }
  }
  return { brokers: [...brokers], byTable, spellings, hasDatabases };
}

/** Only common brokers of the offline and the realtime table serve a hybrid table completely. If there are none, the engine must reject the partial query. */
function commonBrokers(known: readonly string[] | undefined, urls: readonly string[]): readonly string[] {
  if (known === undefined) return urls;
  const common = known.filter((url) => urls.includes(url));
  return common.length > 0 ? common : [...new Set([...known, ...urls])];
}

function brokerUrl(entry: unknown, { scheme, addresses }: BrokerAddressing): string | undefined {
  const { host, port } = (entry ?? {}) as { host?: unknown; port?: unknown };
  if (typeof host !== 'string' || !Number.isInteger(Number(port))) return undefined;
  const advertised = `${host.includes(':') ? `[${host}]` : host}:${Number(port)}`;
  return `${scheme}://${addresses[advertised] ?? advertised}`;
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

/** All tables that the engine may resolve the name to; an unknown name as it is. The map can lack a new table for some seconds. */
export function meaningsOf(map: BrokerMap, name: TableName): readonly TableName[] {
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
