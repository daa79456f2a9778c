import { errorMessage } from '../platform/plain-error.ts';
import { untilAborted } from '../platform/until-aborted.ts';
import { brokerMapOf, brokersServingAll, hasMeaning, isKnown, meaningsOf, type BrokerMap } from './broker-map.ts';
import { ForcedReads } from './forced-reads.ts';
import { readListings, type BrokerAddressing, type Listings } from './table-listings.ts';
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

/** Minimum interval between reads that requests cause: unknown tables, which may be new, and failing brokers. */
const FORCED_READ_MS = 2_000;
/** The same after queries whose brokers all failed. */
const FAILED_BROKERS_READ_MS = 250;
/** Minimum interval while no map was ever read. */
const FAILED_READ_MS = 250;
/** The interval is at least this many times the duration of the last read, so that reading a large cluster never takes most of the time. */
const REST_FACTOR = 5;
/** Maximum wait of a request for a read: the first one, or one that its unknown name caused. */
const MAX_WAIT_MS = 10_000;
/** The same after its brokers failed: the last map may still be of use. */
const MAX_FAILOVER_WAIT_MS = 2_000;
/** Reads for routing, which are not on behalf of a caller, are counted together. */
const ROUTING = '';
/** Databases that a message about a failed read names. */
const MAX_REPORTED = 5;

/** Broker map with background refresh. */
export class BrokerRouting {
  readonly #options: BrokerRoutingOptions;
  readonly #forced: ForcedReads;
  readonly #closed = new AbortController();
  #listings: Listings | undefined;
  #map: BrokerMap | undefined;
  /** When the last read ended, successfully or not. */
  #readAt = -Infinity;
  #readMs = 0;
  #reading: Promise<BrokerMap> | undefined;
  /** Why the last read failed; undefined if it did not. */
  #failure: unknown;

  constructor(options: BrokerRoutingOptions) {
    this.#options = options;
    this.#forced = new ForcedReads(options.now, options.refreshMs);
  }

  /**
   * Base URLs of the brokers that serve all of the tables. Unknown tables are ignored, because any broker gives the correct error for them.
   * @throws {EngineError} no-broker if no broker serves all tables or none is live; errors of the controller if no map was read yet
   */
  async candidates(tables: readonly TableName[]): Promise<readonly string[]> {
    const map = await this.#current();
    const serves = (one: BrokerMap): boolean => one.brokers.length > 0 && tables.every((table) => isKnown(one, table));
    return requireBrokers(serves(map) ? map : await this.#forceRead(map, ROUTING, serves), tables);
  }

  /** Same as `candidates` without waiting; undefined if the map must be read first. */
  knownCandidates(tables: readonly TableName[]): readonly string[] | undefined {
    const map = this.#map;
    if (map === undefined || this.#age() >= this.#options.refreshMs) return undefined;
    for (const table of tables) if (!isKnown(map, table)) return undefined;
    const serving = brokersServingAll(map, tables);
    return serving.length === 0 ? undefined : serving;
  }

  /**
   * See `KnownTables`. Usually without a promise, because each query needs it.
   * @throws {EngineError} errors of the controller if no map was read yet, or the database of a name was never read
   */
  actualTables(
    names: readonly TableName[],
    caller: string = ROUTING,
  ): readonly TableName[] | Promise<readonly TableName[]> {
    const known = this.#known();
    return known !== undefined && hasMeanings(known, names)
      ? tablesMeant(known, names)
      : this.#readTables(names, caller);
  }

  async #readTables(names: readonly TableName[], caller: string): Promise<readonly TableName[]> {
    const map = await this.#current();
    const has = (one: BrokerMap): boolean => hasMeanings(one, names);
    // A table may be new, so the map is read again before its name counts as unknown.
    return tablesMeant(has(map) ? map : await this.#forceRead(map, caller, has), names);
  }

  /** Returns without waiting; undefined if no map was read yet. */
  tableNames(): readonly TableName[] | undefined {
    const map = this.#map;
    if (this.#age() >= (map === undefined ? FORCED_READ_MS : this.#options.refreshMs)) this.#readInBackground();
    return map && allTables(map);
  }

  isLogical(table: TableName): boolean {
    return this.#map?.logicalTables.has(table) === true;
  }

  /** See `KnownTables`. @throws {EngineError} if the lists cannot be read now, or not those of each database */
  async currentTables(maxAgeMs: number): Promise<readonly TableName[]> {
    // A read in progress may have begun before the latest table was created.
    await this.#reading?.catch(() => undefined);
    const map =
      this.#map !== undefined && this.#age() < maxAgeMs && this.#failure === undefined ? this.#map : await this.#read();
    const [failure] = this.#listings?.failures.values() ?? [];
    if (failure !== undefined) throw failure;
    return allTables(map);
  }

  /** Brokers that serve all of the tables after all known ones failed: others may have started since the map was read. May be empty. */
  async candidatesAfterFailure(tables: readonly TableName[]): Promise<readonly string[]> {
    const map = this.#map;
    const due = this.#age() >= Math.max(FAILED_BROKERS_READ_MS, this.#readMs);
    const fresh = due
      ? await untilAborted(this.#read(), AbortSignal.timeout(MAX_FAILOVER_WAIT_MS)).catch(() => map)
      : map;
    return fresh === undefined ? [] : brokersServingAll(fresh, tables);
  }

  /** Brokers that serve all of the tables by the last map, without waiting. It is refreshed in the background, because one of them failed. */
  candidatesNow(tables: readonly TableName[]): readonly string[] {
    this.refreshSoon();
    return this.#map === undefined ? [] : brokersServingAll(this.#map, tables);
  }

  /** Refreshes the map after a broker was unreachable, since its address may have changed. */
  refreshSoon(): void {
    if (this.#mayForce()) this.#readInBackground();
  }

  close(): void {
    this.#closed.abort();
  }

  #age(): number {
    return this.#options.now() - this.#readAt;
  }

  async #current(): Promise<BrokerMap> {
    const known = this.#known();
    if (known !== undefined) return known;
    // Requests must not overload an unavailable controller.
    if (this.#reading === undefined && this.#age() < FAILED_READ_MS) throw this.#failure;
    return untilAborted(this.#read(), AbortSignal.timeout(MAX_WAIT_MS), tooSlow);
  }

  /** The map, also an old one, which is then refreshed in the background; undefined if none was read yet. */
  #known(): BrokerMap | undefined {
    if (this.#map !== undefined && this.#age() >= this.#options.refreshMs) this.#readInBackground();
    return this.#map;
  }

  #mayForce(): boolean {
    return this.#age() >= Math.max(FORCED_READ_MS, REST_FACTOR * this.#readMs);
  }

  /**
   * Reads the map again on behalf of a caller, unless that happened recently.
   * @param has whether a map has the names of the caller
   * @returns the old map if it may not be read again, or cannot be read
   */
  async #forceRead(map: BrokerMap, caller: string, has: (map: BrokerMap) => boolean): Promise<BrokerMap> {
    const begins = this.#reading === undefined;
    if (begins && !(this.#mayForce() && this.#forced.allows(caller))) return map;
    try {
      const fresh = await untilAborted(this.#read(), AbortSignal.timeout(MAX_WAIT_MS));
      if (begins) this.#forced.note(caller, has(fresh));
      return fresh;
    } catch {
      if (begins) this.#forced.note(caller, false);
      return map;
    }
  }

  #readInBackground(): void {
    this.#read().catch((error: unknown) => this.#options.onProblem(errorMessage(error)));
  }

  #read(): Promise<BrokerMap> {
    return (this.#reading ??= this.#readNow());
  }

  async #readNow(): Promise<BrokerMap> {
    const { controller, now } = this.#options;
    const signal = this.#closed.signal;
    const begunAt = now();
    try {
      const listings = await readListings(controller, { addressing: this.#options, previous: this.#listings, signal });
      this.#map = brokerMapOf(listings);
      this.#listings = listings;
      this.#failure = undefined;
      this.#reportFailures(listings);
      return this.#map;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      // The time counts after a failure, too, so that queries do not overload an unavailable controller.
      this.#readAt = now();
      this.#readMs = this.#readAt - begunAt;
      this.#reading = undefined;
    }
  }

  #reportFailures({ failures }: Listings): void {
    const [first] = failures.values();
    if (first === undefined) return;
    const named = [...failures.keys()].slice(0, MAX_REPORTED).map((name) => `\`${name}\``);
    const more = failures.size > MAX_REPORTED ? ` and ${failures.size - MAX_REPORTED} more` : '';
    this.#options.onProblem(
      `the tables of the databases ${named.join(', ')}${more} cannot be listed, the last known ones stay in use: ${first.message}`,
    );
  }
}

function tooSlow(): EngineError {
  return new EngineError('timeout', `the lists of tables and brokers were not read within ${MAX_WAIT_MS} ms`);
}

function hasMeanings(map: BrokerMap, names: readonly TableName[]): boolean {
  return names.every((name) => hasMeaning(map, name));
}

function tablesMeant(map: BrokerMap, names: readonly TableName[]): readonly TableName[] {
  return [...new Set(names.flatMap((name) => meaningsOf(map, name)))];
}

function allTables({ spellings }: BrokerMap): readonly TableName[] {
  return [...spellings.values()].flatMap((names) => Array.from(names));
}

function requireBrokers(map: BrokerMap, tables: readonly TableName[]): readonly string[] {
  const candidates = brokersServingAll(map, tables);
  if (candidates.length > 0) return candidates;
  const names = tables.map((table) => `\`${table}\``).join(', ');
  const what = tables.length === 0 ? 'is live' : `serves ${tables.length === 1 ? names : `all of ${names}`}`;
  throw new EngineError('no-broker', `no broker ${what}`);
}
