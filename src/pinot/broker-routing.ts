import { getJson, requestJson } from './controller.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

/** Which brokers serve which tables, as reported by the controller. */
export interface BrokerMap {
  /** Base URLs of every live broker. */
  readonly brokers: readonly string[];
  /** Brokers that serve the whole table, by lower-case table name without type suffix. */
  readonly byTable: ReadonlyMap<string, readonly string[]>;
  /** All existing spellings of a table name, by lower-case name. */
  readonly spellings: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface BrokerAddressing {
  /** `http` or `https`: the controller reports only host and port. */
  readonly scheme: string;
  /** Maps an advertised `host:port` to one that is reachable from here. */
  readonly addresses: Readonly<Record<string, string>>;
}

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

/**
 * Reads `GET /tables/livebrokers`, the same in 0.11 and 1.5: `{<tableNameWithType>: [{host, port, instanceName}]}`.
 * Invalid entries are ignored; the other brokers stay usable.
 * @param logicalTables names of logical tables; any broker accepts queries on them
 */
export function readLiveBrokers(
  answer: unknown,
  addressing: BrokerAddressing,
  logicalTables: readonly string[] = [],
): BrokerMap {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new EngineError('bad-answer', 'the controller did not say which brokers are live: an object was expected');
  }
  const brokers = new Set<string>();
  const byTable = new Map<string, readonly string[]>();
  const spellings = new Map<string, Set<string>>();
  const spell = (name: string) => {
    const key = name.toLowerCase();
    spellings.set(key, (spellings.get(key) ?? new Set()).add(name));
  };
  for (const name of logicalTables) spell(name);
  for (const [tableWithType, list] of Object.entries(answer)) {
    if (!Array.isArray(list)) continue;
    const urls = list.map((entry) => brokerUrl(entry, addressing)).filter((url) => url !== undefined);
    for (const url of urls) brokers.add(url);
    const name = tableWithType.replace(TYPE_SUFFIX, '');
    const table = name.toLowerCase();
    spell(name);
    byTable.set(table, commonBrokers(byTable.get(table), urls));
  }
  return { brokers: [...brokers], byTable, spellings };
}

/** Only brokers of commonBrokers the offline and the realtime table serve a hybrid table completely. If there are none, the engine must reject the partial query. */
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

export interface BrokerRoutingOptions extends BrokerAddressing {
  readonly controller: EngineEndpoint;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Maximum age of the map; after it, the map is refreshed in the background while the old one stays in use. */
  readonly refreshMs: number;
  /** Called when the controller cannot be reached and the old map stays in use. */
  readonly onProblem: (message: string) => void;
}

/** Minimum interval between refreshes caused by unknown tables, which may be new. */
const UNKNOWN_TABLE_REFRESH_MS = 2_000;
/** Minimum interval between refreshes caused by queries whose brokers all failed. */
const FAILED_BROKERS_REFRESH_MS = 250;
/** Timeout for reading the map. */
const READ_TIMEOUT_MS = 10_000;

/** Broker map with background refresh. */
export class BrokerRouting {
  readonly #options: BrokerRoutingOptions;
  readonly #closed = new AbortController();
  #map: BrokerMap | undefined;
  #readAt = 0;
  #reading: Promise<BrokerMap> | undefined;

  constructor(options: BrokerRoutingOptions) {
    this.#options = options;
  }

  /**
   * Base URLs of the brokers that serve all of the tables. Unknown tables are ignored, because any broker gives the correct error for them.
   * @throws {EngineError} no-broker if no broker serves all tables or none is live; errors of the controller if no map was read yet
   */
  async candidates(tables: readonly string[]): Promise<readonly string[]> {
    let map = await this.#current();
    const unknown = tables.some((table) => !map.byTable.has(table.toLowerCase()));
    if ((unknown || map.brokers.length === 0) && this.#age() >= UNKNOWN_TABLE_REFRESH_MS) {
      map = await this.#read().catch(() => map);
    }
    return requireBrokers(map, tables);
  }

  /** Same as `candidates` without waiting; undefined if the map must be read first. */
  knownCandidates(tables: readonly string[]): readonly string[] | undefined {
    const map = this.#map;
    if (map === undefined || this.#age() >= this.#options.refreshMs) return undefined;
    for (const table of tables) if (!map.byTable.has(table.toLowerCase())) return undefined;
    const serving = brokersServingAll(map, tables);
    return serving.length === 0 ? undefined : serving;
  }

  /** Whether a live broker matches; reads the map again if none does. @throws {EngineError} as `candidates` */
  async hasBroker(matches: (url: string) => boolean): Promise<boolean> {
    const map = await this.#current();
    if (map.brokers.some(matches)) return true;
    if (this.#age() < UNKNOWN_TABLE_REFRESH_MS) return false;
    return (await this.#read().catch(() => map)).brokers.some(matches);
  }

  /** @throws {EngineError} errors of the controller if no map was read yet */
  async actualTables(names: readonly string[]): Promise<readonly string[]> {
    const map = this.#map ?? (await this.#read());
    const found = new Set<string>();
    if (names.every((name) => addMatches(name, map, found))) {
      if (this.#age() >= this.#options.refreshMs) this.#readInBackground();
      return [...found];
    }
    // The table may be new, so the map is read again before the name counts as unknown.
    const fresh = this.#age() >= UNKNOWN_TABLE_REFRESH_MS ? await this.#read().catch(() => map) : map;
    found.clear();
    for (const name of names) if (!addMatches(name, fresh, found)) addUnmatched(name, found);
    return [...found];
  }

  /** Brokers that serve all of the tables after all known ones failed: others may have started since the map was read. May be empty. */
  async candidatesAfterFailure(tables: readonly string[]): Promise<readonly string[]> {
    const map = this.#map;
    const fresh = this.#age() >= FAILED_BROKERS_REFRESH_MS ? await this.#read().catch(() => map) : map;
    return fresh === undefined ? [] : brokersServingAll(fresh, tables);
  }

  /** Refreshes the map after a broker was unreachable, since its address may have changed. */
  refreshSoon(): void {
    if (this.#age() >= UNKNOWN_TABLE_REFRESH_MS) this.#readInBackground();
  }

  close(): void {
    this.#closed.abort();
  }

  #age(): number {
    return this.#options.now() - this.#readAt;
  }

  #current(): Promise<BrokerMap> {
    if (this.#map === undefined) return this.#read();
    if (this.#age() >= this.#options.refreshMs) this.#readInBackground();
    return Promise.resolve(this.#map);
  }

  #readInBackground(): void {
    this.#read().catch((error: unknown) => this.#options.onProblem((error as Error).message));
  }

  #read(): Promise<BrokerMap> {
    return (this.#reading ??= this.#readNow());
  }

  async #readNow(): Promise<BrokerMap> {
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(READ_TIMEOUT_MS)]);
      const { controller } = this.#options;
      const [answer, logicalTables] = await Promise.all([
        getJson(controller, '/tables/livebrokers', signal),
        listLogicalTables(controller, signal),
      ]);
      this.#map = readLiveBrokers(answer, this.#options, logicalTables);
      return this.#map;
    } finally {
      // Also after a failure, so that queries do not overload an unavailable controller.
      this.#readAt = this.#options.now();
      this.#reading = undefined;
    }
  }
}

/** Brokers that serve all of the tables; may be empty. */
function brokersServingAll(map: BrokerMap, tables: readonly string[]): readonly string[] {
  let candidates = map.brokers;
  for (const table of tables) {
    const serving = map.byTable.get(table.toLowerCase());
    if (serving !== undefined) candidates = candidates.filter((url) => serving.includes(url));
  }
  return candidates;
}

function requireBrokers(map: BrokerMap, tables: readonly string[]): readonly string[] {
  const candidates = brokersServingAll(map, tables);
  if (candidates.length > 0) return candidates;
  const what = tables.length === 0 ? 'is live' : `serves ${tables.map((table) => `\`${table}\``).join(', ')} together`;
  throw new EngineError('no-broker', `no broker ${what} at present`);
}

/** Adds all tables that the engine may resolve the name to. @returns false if there is none */
function addMatches(name: string, { spellings }: BrokerMap, found: Set<string>): boolean {
  const meant = spellings.get(name.toLowerCase()) ?? spellings.get(afterDatabase(name).toLowerCase());
  for (const spelling of meant ?? []) found.add(spelling);
  return meant !== undefined;
}

function addUnmatched(name: string, found: Set<string>): void {
  for (const meaning of [name, name.toLowerCase(), afterDatabase(name)]) found.add(meaning);
}

function afterDatabase(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** Older versions have no logical tables and respond with 404. */
async function listLogicalTables(controller: EngineEndpoint, signal: AbortSignal): Promise<readonly string[]> {
  const { status, value } = await requestJson(controller, { path: '/logicalTables', signal });
  if (status === 404) return [];
  if (status !== 200 || !Array.isArray(value)) {
    throw new EngineError(
      'bad-answer',
      `the controller did not list its logical tables: it answered with status ${status}`,
    );
  }
  return value.filter((name) => typeof name === 'string');
}
