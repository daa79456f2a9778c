import {
  brokersServingAll,
  hasMeaning,
  isKnown,
  meaningsOf,
  readBrokerMap,
  type BrokerAddressing,
  type BrokerMap,
} from './broker-map.ts';
import type { TableName } from './table-name.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

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
  async candidates(tables: readonly TableName[]): Promise<readonly string[]> {
    let map = await this.#current();
    const unknown = tables.some((table) => !isKnown(map, table));
    if ((unknown || map.brokers.length === 0) && this.#age() >= UNKNOWN_TABLE_REFRESH_MS) {
      map = await this.#read().catch(() => map);
    }
    return requireBrokers(map, tables);
  }

  /** Same as `candidates` without waiting; undefined if the map must be read first. */
  knownCandidates(tables: readonly TableName[]): readonly string[] | undefined {
    const map = this.#map;
    if (map === undefined || this.#age() >= this.#options.refreshMs) return undefined;
    for (const table of tables) if (!isKnown(map, table)) return undefined;
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

  /** See `KnownTables`. @throws {EngineError} errors of the controller if no map was read yet */
  async actualTables(names: readonly TableName[]): Promise<readonly TableName[]> {
    let map = this.#map ?? (await this.#read());
    if (names.every((name) => hasMeaning(map, name))) {
      if (this.#age() >= this.#options.refreshMs) this.#readInBackground();
    } else if (this.#age() >= UNKNOWN_TABLE_REFRESH_MS) {
      // The table may be new, so the map is read again before the name counts as unknown.
      map = await this.#read().catch(() => map);
    }
    return [...new Set(names.flatMap((name) => meaningsOf(map, name)))];
  }

  /** Without waiting; undefined if no map was read yet. */
  tableNames(): readonly TableName[] | undefined {
    const dueAfterMs = this.#map === undefined ? UNKNOWN_TABLE_REFRESH_MS : this.#options.refreshMs;
    if (this.#readAt === 0 || this.#age() >= dueAfterMs) this.#readInBackground();
    return this.#map && [...this.#map.spellings.values()].flatMap((spellings) => Array.from(spellings));
  }

  /** Brokers that serve all of the tables after all known ones failed: others may have started since the map was read. May be empty. */
  async candidatesAfterFailure(tables: readonly TableName[]): Promise<readonly string[]> {
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
      this.#map = await readBrokerMap(this.#options.controller, this.#options, signal);
      return this.#map;
    } finally {
      // Also after a failure, so that queries do not overload an unavailable controller.
      this.#readAt = this.#options.now();
      this.#reading = undefined;
    }
  }
}

function requireBrokers(map: BrokerMap, tables: readonly TableName[]): readonly string[] {
  const candidates = brokersServingAll(map, tables);
  if (candidates.length > 0) return candidates;
  const what = tables.length === 0 ? 'is live' : `serves ${tables.map((table) => `\`${table}\``).join(', ')} together`;
  throw new EngineError('no-broker', `no broker ${what} at present`);
}
