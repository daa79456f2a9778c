import { getJson, requestJson } from './controller.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

/** Which brokers serve which tables, as the controller says. */
export interface BrokerMap {
  /** Base URLs of every live broker. */
  readonly brokers: readonly string[];
  /** By table name, lower case, without its type; the brokers that serve all of it. */
  readonly byTable: ReadonlyMap<string, readonly string[]>;
  /** By table name, lower case; the spellings that there are. */
  readonly spellings: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface BrokerAddressing {
  /** `http` or `https`: the controller says only host and port. */
  readonly scheme: string;
  /** From an advertised `host:port` to one that can be reached from here. */
  readonly addresses: Readonly<Record<string, string>>;
}

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/;

/**
 * Reads `GET /tables/livebrokers`, the same in 0.11 and 1.5: `{<tableNameWithType>: [{host, port, instanceName}]}`.
 * Entries it cannot read are left out; they make no broker unusable.
 * @param logicalTables names of tables that stand for others; any broker takes a query on them
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
    byTable.set(table, both(byTable.get(table), urls));
  }
  return { brokers: [...brokers], byTable, spellings };
}

/** A hybrid table is served in whole by the brokers of both its halves; where there are none, half an answer is the engine's to refuse. */
function both(known: readonly string[] | undefined, urls: readonly string[]): readonly string[] {
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
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Beyond this age the map is read again in the background while the old one serves on. */
  readonly refreshMs: number;
  /** Told when the controller cannot be asked and the old map serves on. */
  readonly onProblem: (message: string) => void;
}

/** A question about a table that the map lacks reads it again, but no more often than this: it may be new. */
const UNKNOWN_TABLE_REFRESH_MS = 2_000;
/** How long the map may take to arrive. */
const READ_TIMEOUT_MS = 10_000;

/** The map of brokers, read once and then kept fresh behind the questions. */
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
   * Base URLs of the brokers that serve all of the tables; a table that no broker knows restricts nothing, since any broker says so best.
   * @throws {EngineError} no-broker where no broker serves all of them or none is live; as the controller, before its first answer
   */
  async candidates(tables: readonly string[]): Promise<readonly string[]> {
    let map = await this.#current();
    const unknown = tables.some((table) => !map.byTable.has(table.toLowerCase()));
    if ((unknown || map.brokers.length === 0) && this.#age() >= UNKNOWN_TABLE_REFRESH_MS) {
      map = await this.#read().catch(() => map);
    }
    return brokersOf(map, tables);
  }

  /** Without waiting: undefined where the map must be read first. The hot path. */
  candidatesNow(tables: readonly string[]): readonly string[] | undefined {
    const map = this.#map;
    if (map === undefined || this.#age() >= this.#options.refreshMs) return undefined;
    for (const table of tables) if (!map.byTable.has(table.toLowerCase())) return undefined;
    const serving = serversOf(map, tables);
    return serving.length === 0 ? undefined : serving;
  }

  /** Whether a live broker is one that is looked for; where none is, the map is read again first. @throws {EngineError} as `candidates` */
  async hasBroker(isIt: (url: string) => boolean): Promise<boolean> {
    const map = await this.#current();
    if (map.brokers.some(isIt)) return true;
    if (this.#age() < UNKNOWN_TABLE_REFRESH_MS) return false;
    return (await this.#read().catch(() => map)).brokers.some(isIt);
  }

  /** @throws {EngineError} as the controller, before its first answer */
  async actualTables(names: readonly string[]): Promise<readonly string[]> {
    const map = this.#map ?? (await this.#read());
    const found = new Set<string>();
    if (names.every((name) => addMeanings(name, map, found))) {
      if (this.#age() >= this.#options.refreshMs) this.#readInBackground();
      return [...found];
    }
    // It may be a table that was made since: only where there really is none of that name is the name taken as it is.
    const fresh = this.#age() >= UNKNOWN_TABLE_REFRESH_MS ? await this.#read().catch(() => map) : map;
    found.clear();
    for (const name of names) if (!addMeanings(name, fresh, found)) addUnknown(name, found);
    return [...found];
  }

  /** Without waiting: undefined where the map is not there yet, grows old or knows nothing of a name. The hot path. */
  actualTablesNow(names: readonly string[]): readonly string[] | undefined {
    const map = this.#map;
    if (map === undefined || this.#age() >= this.#options.refreshMs) return undefined;
    const found = new Set<string>();
    return names.every((name) => addMeanings(name, map, found)) ? [...found] : undefined;
  }

  /** A broker could not be reached: the map is read again soon, since it may have moved. */
  doubt(): void {
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
      // Also after a failure: while the controller is away it is not asked by every query.
      this.#readAt = this.#options.now();
      this.#reading = undefined;
    }
  }
}

/** The brokers that serve all of the tables; none where there is none. */
function serversOf(map: BrokerMap, tables: readonly string[]): readonly string[] {
  let candidates = map.brokers;
  for (const table of tables) {
    const serving = map.byTable.get(table.toLowerCase());
    if (serving !== undefined) candidates = candidates.filter((url) => serving.includes(url));
  }
  return candidates;
}

function brokersOf(map: BrokerMap, tables: readonly string[]): readonly string[] {
  const candidates = serversOf(map, tables);
  if (candidates.length > 0) return candidates;
  const what = tables.length === 0 ? 'is live' : `serves ${tables.map((table) => `\`${table}\``).join(', ')} together`;
  throw new EngineError('no-broker', `no broker ${what} at present`);
}

/** Adds what the engine may mean by a name. False where there is no such table. */
function addMeanings(name: string, { spellings }: BrokerMap, found: Set<string>): boolean {
  const meant = spellings.get(name.toLowerCase()) ?? spellings.get(afterDatabase(name).toLowerCase());
  for (const spelling of meant ?? []) found.add(spelling);
  return meant !== undefined;
}

function addUnknown(name: string, found: Set<string>): void {
  for (const meaning of [name, name.toLowerCase(), afterDatabase(name)]) found.add(meaning);
}

function afterDatabase(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** Older versions know no logical tables and answer 404. */
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
