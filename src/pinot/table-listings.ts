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

/** What the controller lists for one database. */
export interface Listing {
  /** `{<table with type>: [{host, port, instanceName}]}` */
  readonly brokers: Readonly<Record<string, unknown>>;
  readonly logicalTables: readonly TableName[];
}

/** The lists of all databases. */
export interface Listings {
  /** False for versions before 1.2, which respond to `GET /databases` with 404. */
  readonly hasDatabases: boolean;
  /** By database. Contains the previous listing of a database that could not be read. */
  readonly byDatabase: ReadonlyMap<string, Listing>;
  /** Why databases could not be read, by database. */
  readonly failures: ReadonlyMap<string, EngineError>;
}

/** Databases that are read at the same time, with at most two requests each. */
const CONCURRENCY = 4;
/** Time limit of one request. A database that does not answer costs the others no more than this. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Time limit of all requests, and its growth with each database. A database that was not read by then counts as failed. */
const TOTAL_TIMEOUT_MS = 20_000;
const TOTAL_TIMEOUT_PER_DATABASE_MS = 100;
const MAX_TOTAL_TIMEOUT_MS = 60_000;

/**
 * Reads the tables and brokers of every database: without the header `Database`, the lists have the default database only.
 * @param previous result of the last call; its listings replace those of databases that cannot be read now
 * @throws {EngineError} if the databases cannot be listed, or none of them can be read
 */
export async function readListings(
  controller: EngineEndpoint,
  previous: Listings | undefined,
  signal: AbortSignal,
): Promise<Listings> {
  const [databases, logicalTables] = await Promise.all([
    listNames(controller, { path: '/databases', signal: limited(signal) }, 'databases'),
    listAllLogicalTables(controller, signal),
  ]);
  // `GET /databases` counts only physical tables.
  const others = databases === undefined ? [] : [...databases, ...(logicalTables ?? []).map(databaseOfTable)];
  const names = new Set([
    DEFAULT_DATABASE,
    ...others.filter((name) => !isDefaultDatabase(name) && isDatabaseName(name)),
  ]);
  const read = await readEach(controller, [...names], { logicalTables, signal });
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
  /** Of all databases; undefined if they must be read for each database. */
  readonly logicalTables: readonly TableName[] | undefined;
  readonly signal: AbortSignal;
}

async function readEach(
  controller: EngineEndpoint,
  databases: readonly string[],
  { logicalTables, signal }: ReadTogether,
): Promise<{ readonly byDatabase: Map<string, Listing>; readonly failures: Map<string, EngineError> }> {
  const byDatabase = new Map<string, Listing>();
  const failures = new Map<string, EngineError>();
  const totalMs = Math.min(MAX_TOTAL_TIMEOUT_MS, TOTAL_TIMEOUT_MS + databases.length * TOTAL_TIMEOUT_PER_DATABASE_MS);
  const together = { logicalTables, signal: AbortSignal.any([signal, AbortSignal.timeout(totalMs)]) };
  const waiting = databases.values();
  const readNext = async (): Promise<void> => {
    for (const database of waiting) {
      try {
        byDatabase.set(database, await readListing(controller, database, together));
      } catch (error) {
        if (!(error instanceof EngineError) || signal.aborted) throw error;
        failures.set(database, error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
  return { byDatabase, failures };
}

async function readListing(
  controller: EngineEndpoint,
  database: string,
  { logicalTables, signal }: ReadTogether,
): Promise<Listing> {
  const headers = isDefaultDatabase(database) ? {} : { database };
  const [brokers, logical] = await Promise.all([
    getJson(controller, '/tables/livebrokers', limited(signal), headers),
    logicalTables ?? listLogicalTables(controller, headers, signal),
  ]);
  if (typeof brokers !== 'object' || brokers === null || Array.isArray(brokers)) {
    throw new EngineError('bad-answer', 'the controller returned no list of live brokers: an object was expected');
  }
  const own = logical.filter((name) => databaseOfTable(name) === database);
  return { brokers: brokers as Listing['brokers'], logicalTables: own };
}

/** Of one database. Older versions have no logical tables. */
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
  try {
    const cluster = await requestJson(controller, { path: '/cluster/info', signal: limited(signal) });
    const { clusterName } = (cluster.value ?? {}) as { readonly clusterName?: unknown };
    if (cluster.status !== 200 || typeof clusterName !== 'string') return undefined;
    const node = encodeURIComponent(`/${clusterName}/PROPERTYSTORE/LOGICAL/TABLE`);
    const request = { path: `/zk/ls?path=${node}`, signal: limited(signal) };
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
    throw new EngineError('bad-answer', `the controller did not list its ${what}: it answered with status ${status}`);
  }
  return value.filter((name) => typeof name === 'string');
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
}
