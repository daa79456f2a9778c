import { getJson, requestJson } from './controller.ts';
import {
  databaseOfTable,
  DEFAULT_DATABASE,
  isDatabaseName,
  isDefaultDatabase,
  tableNameOf,
  type TableName,
} from './table-name.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

export interface BrokerAddressing {
  /** `http` or `https`: the controller reports only host and port. */
  readonly scheme: string;
  /** Maps an advertised `host:port` to one that is reachable from here. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** What the controller lists for one database. */
export interface BrokerListing {
  /** Base URLs of the live brokers, by table with type; logical tables have none. */
  readonly brokersOf: ReadonlyMap<string, readonly string[]>;
  readonly logicalTables: readonly TableName[];
}

/** The lists of all databases. */
export interface Listings {
  /** False for versions before 1.2, which respond to `GET /databases` with 404. */
  readonly hasDatabases: boolean;
  /** The key is the database. A database that could not be read has its previous listing. */
  readonly byDatabase: ReadonlyMap<string, BrokerListing>;
  /** Why databases could not be read, by database. */
  readonly failures: ReadonlyMap<string, EngineError>;
}

/** Databases that are read at the same time, with at most two requests each. */
const CONCURRENCY = 4;
/** Time limit of one request. A database that does not respond delays the others by at most this time. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Time limit of all requests, and its growth with each database. A database that was not read by then counts as failed. */
const TOTAL_TIMEOUT_MS = 20_000;
const TOTAL_TIMEOUT_PER_DATABASE_MS = 100;
const MAX_TOTAL_TIMEOUT_MS = 60_000;
/** Databases that are read; further ones count as failed. */
const MAX_DATABASES = 10_000;

interface ListingOptions {
  readonly addressing: BrokerAddressing;
  /** Result of the last call; its listings replace those of databases that cannot be read now. */
  readonly previous: Listings | undefined;
  readonly signal: AbortSignal;
}

/**
 * Reads the tables and brokers of every database: without the header `Database`, the lists have the default database only.
 * @throws {EngineError} if the databases cannot be listed, or none of them can be read
 */
export async function readListings(
  controller: EngineEndpoint,
  { addressing, previous, signal }: ListingOptions,
): Promise<Listings> {
  const [databases, allLogicalTables] = await Promise.all([
    listNames(controller, { path: '/databases', signal: limited(signal) }, 'databases'),
    listAllLogicalTables(controller, signal),
  ]);
  const logicalTables = allLogicalTables && Map.groupBy(allLogicalTables, databaseOfTable);
  // `GET /databases` counts only physical tables.
  const others = databases === undefined ? [] : [...databases, ...(logicalTables?.keys() ?? [])];
  const names = new Set([
    DEFAULT_DATABASE,
    ...others.filter((name) => !isDefaultDatabase(name) && isDatabaseName(name)),
  ]);
  const read = await readEach(controller, [...names], { addressing: new Addresses(addressing), logicalTables, signal });
  const kept = [...read.failures.keys()].flatMap((name) => {
    const listing = previous?.byDatabase.get(name);
    return listing === undefined ? [] : [[name, listing] as const];
  });
  const [failure] = read.failures.values();
  if (failure !== undefined && read.byDatabase.size === 0) throw failure;
  return {
    hasDatabases: databases !== undefined,
    byDatabase: new Map([...read.byDatabase, ...kept]),
    failures: read.failures,
  };
}

interface ReadTogether {
  readonly addressing: Addresses;
  /** The key is the database; undefined if they must be read for each database. */
  readonly logicalTables: ReadonlyMap<string, readonly TableName[]> | undefined;
  readonly signal: AbortSignal;
}

async function readEach(
  controller: EngineEndpoint,
  databases: readonly string[],
  { signal, ...shared }: ReadTogether,
): Promise<{ readonly byDatabase: Map<string, BrokerListing>; readonly failures: Map<string, EngineError> }> {
  const byDatabase = new Map<string, BrokerListing>();
  const failures = new Map<string, EngineError>();
  const totalMs = Math.min(MAX_TOTAL_TIMEOUT_MS, TOTAL_TIMEOUT_MS + databases.length * TOTAL_TIMEOUT_PER_DATABASE_MS);
  const together = { ...shared, signal: AbortSignal.any([signal, AbortSignal.timeout(totalMs)]) };
  const tooMany = new EngineError('overloaded', `the cluster has more than ${MAX_DATABASES} databases`);
  for (const database of databases.slice(MAX_DATABASES)) failures.set(database, tooMany);
  const tooLate = new EngineError('timeout', `the databases of the cluster were not read within ${totalMs} ms`);
  const waiting = databases.slice(0, MAX_DATABASES).values();
  const readNext = async (): Promise<void> => {
    for (const database of waiting) {
      if (together.signal.aborted && !signal.aborted) {
        failures.set(database, tooLate);
        continue;
      }
      try {
        byDatabase.set(database, await readListing(controller, database, together));
      } catch (error) {
        if (!(error instanceof EngineError) || signal.aborted) throw error;
        failures.set(database, together.signal.aborted ? tooLate : error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
  return { byDatabase, failures };
}

async function readListing(
  controller: EngineEndpoint,
  database: string,
  { addressing, logicalTables, signal }: ReadTogether,
): Promise<BrokerListing> {
  const headers = isDefaultDatabase(database) ? {} : { database };
  const [brokers, own] = await Promise.all([
    getJson(controller, '/tables/livebrokers', limited(signal), headers),
    logicalTables === undefined ? listLogicalTables(controller, headers, signal) : (logicalTables.get(database) ?? []),
  ]);
  if (typeof brokers !== 'object' || brokers === null || Array.isArray(brokers)) {
    throw new EngineError('bad-response', 'the controller returned no list of live brokers: an object was expected');
  }
  return { brokersOf: addressing.urlsByTable(brokers), logicalTables: own };
}

/** Reads the logical tables of one database. Older versions have none. */
async function listLogicalTables(
  controller: EngineEndpoint,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly TableName[]> {
  const request = { path: '/logicalTables', headers, signal: limited(signal) };
  return ((await listNames(controller, request, 'logical tables')) ?? []).map(tableNameOf);
}

/**
 * The logical tables of all databases, also of those that have no other tables, from the engine's property store.
 * @returns undefined where the store has no such node, as in older versions, or cannot be read, for example because the gateway's credential of the
 * engine has no `GetZnode`
 */
async function listAllLogicalTables(
  controller: EngineEndpoint,
  signal: AbortSignal,
): Promise<readonly TableName[] | undefined> {
  // One limit for both requests, because there is another way.
  const limit = limited(signal);
  try {
    const cluster = await requestJson(controller, { path: '/cluster/info', signal: limit });
    const { clusterName } = (cluster.value ?? {}) as { readonly clusterName?: unknown };
    if (cluster.status !== 200 || typeof clusterName !== 'string') return undefined;
    const node = encodeURIComponent(`/${clusterName}/PROPERTYSTORE/LOGICAL/TABLE`);
    const request = { path: `/zk/ls?path=${node}`, signal: limit };
    return (await listNames(controller, request, 'logical tables'))?.map(tableNameOf);
  } catch (error) {
    if (!(error instanceof EngineError) || signal.aborted) throw error;
    return undefined;
  }
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
    throw new EngineError(
      'bad-response',
      `the controller did not list its ${what}: it responded with status ${status}`,
    );
  }
  return value.filter((name) => typeof name === 'string');
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
}

/** Base URLs of brokers. Equal lists are one object, because thousands of tables have the same brokers. */
class Addresses {
  readonly #addressing: BrokerAddressing;
  readonly #lists = new Map<string, readonly string[]>();

  constructor(addressing: BrokerAddressing) {
    this.#addressing = addressing;
  }

  /** @param response `{<table with type>: [{host, port, instanceName}]}`. Invalid entries are ignored; the other brokers stay usable. */
  urlsByTable(response: object): ReadonlyMap<string, readonly string[]> {
    const byTable = new Map<string, readonly string[]>();
    for (const [table, entries] of Object.entries(response)) {
      if (Array.isArray(entries)) byTable.set(table, this.#urls(entries));
    }
    return byTable;
  }

  #urls(entries: readonly unknown[]): readonly string[] {
    const urls = entries.map((entry) => brokerUrl(entry, this.#addressing)).filter((url) => url !== undefined);
    const key = urls.join(' ');
    const known = this.#lists.get(key);
    if (known === undefined) this.#lists.set(key, urls);
    return known ?? urls;
  }
}

function brokerUrl(entry: unknown, { scheme, addresses }: BrokerAddressing): string | undefined {
  const { host, port } = (entry ?? {}) as { host?: unknown; port?: unknown };
  if (typeof host !== 'string' || !Number.isInteger(Number(port))) return undefined;
  const advertised = `${host.includes(':') ? `[${host}]` : host}:${Number(port)}`;
  return `${scheme}://${addresses[advertised] ?? advertised}`;
}
