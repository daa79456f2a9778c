import { systemClock, type Clock } from '../platform/clock.ts';
import { ExpiringLruCache, LruCache } from '../platform/lru.ts';
import { mayUseProxy } from '../platform/proxies.ts';
import { untilAborted } from '../platform/until-aborted.ts';
import { addressOfUrl, Upstream, type UpstreamObserver, type UpstreamRole } from '../platform/upstreams.ts';
import { BrokerRouting } from './broker-routing.ts';
import { NO_CREDENTIAL, type EngineCredential } from './credential.ts';
import { DEFAULT_ENDPOINT_LIMITS, PooledEndpoint, type EndpointLimits } from './endpoint.ts';
import { type EndpointHealth, FailoverEndpoint, type MoreBrokers } from './failover.ts';
import { HangWatch, probeEndpoint } from './hang-watch.ts';
import { Suspects } from './suspects.ts';
import type { TableName } from './table-name.ts';
import { EngineError, type Engine, type EngineEndpoint, type KnownTables } from './types.ts';

export interface EngineOptions {
  /** Base URLs of the controllers in order of preference; at least one. */
  readonly controllerUrls: readonly string[];
  /** Base URLs of brokers that all serve every table. If set, the list of brokers of the controller is not used. */
  readonly brokerUrls?: readonly string[];
  /** Scheme of the brokers that the controller lists, without one; that of the first controller by default. */
  readonly brokerScheme?: 'http' | 'https' | undefined;
  /** Maps a broker's advertised `host:port` to one that is reachable from here. */
  readonly addresses?: Readonly<Record<string, string>>;
  /** The gateway's own credential; default: none. See `credentialFromFile`. */
  readonly credential?: EngineCredential;
  /** PEM certificates of the CAs that are trusted for the engine's certificate. */
  readonly ca?: string;
  readonly limits?: Partial<EndpointLimits>;
  /** Maximum age of the broker map before it is refreshed; default 30 s. */
  readonly brokerRefreshMs?: number;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Observes the requests to controllers and brokers. */
  readonly observer?: UpstreamObserver | undefined;
  /** Called with background errors, without credentials. */
  readonly onProblem?: (message: string) => void;
}

const BROKER_REFRESH_MS = 30_000;
const PROBE_PATH = '/health';
const PROBE_LIMITS = { connections: 1, queue: 1, share: 1 } as const;
/** A broker that rejects the credential is reported once in this time. */
const REPORT_AGAIN_MS = 60_000;
const MAX_REPORTED = 100;

/**
 * Limits the base URLs (such as servers) that the engine's responses can make the gateway connect to. Above it, the least recently used one without a request
 * is closed: brokers and servers can have a new address after each restart.
 */
export const MAX_ENDPOINTS = 2_000;

/** Opens no connection yet. @throws {TypeError} for an invalid base URL */
export function createEngine(options: EngineOptions): Engine & KnownTables {
  return new PinotEngine(options);
}

class PinotEngine implements Engine, KnownTables {
  readonly controller: EngineEndpoint;
  readonly #options: EngineOptions;
  readonly #clock: Clock;
  readonly #controllers: ReadonlySet<string>;
  readonly #pools = new LruCache<string, PooledEndpoint>({
    maxWeight: MAX_ENDPOINTS,
    isPinned: ({ url, outstanding }) => outstanding > 0 || this.#controllers.has(url),
    onEvict: (pool) => void pool.close(),
  });
  readonly #suspects: Suspects;
  readonly #health: EndpointHealth;
  /** Endpoints that are probed now. */
  readonly #probed = new Set<PooledEndpoint>();
  /** Brokers whose rejection of the credential was reported. */
  readonly #reported: ExpiringLruCache<string, true>;
  readonly #brokers: readonly string[] | undefined;
  readonly #routing: BrokerRouting;
  #nextIndex = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { clock = systemClock } = options;
    this.#clock = clock;
    this.#suspects = new Suspects(() => clock.monotonic());
    const controllers = options.controllerUrls.map(baseUrl);
    this.#controllers = new Set(controllers);
    const [first] = controllers;
    if (first === undefined) throw new TypeError('at least one controller URL is required');
    const hangs = new HangWatch({ clock, suspects: this.#suspects, probe: (url, ms) => this.#probe(url, ms) });
    this.#health = { suspects: this.#suspects, hangs };
    this.#reported = new ExpiringLruCache(clock, MAX_REPORTED);
    this.controller = this.#failover(controllers);
    this.#brokers = options.brokerUrls?.length ? options.brokerUrls.map(baseUrl) : undefined;
    this.#routing = new BrokerRouting({
      controller: this.controller,
      scheme: options.brokerScheme ?? new URL(first).protocol.slice(0, -1),
      addresses: options.addresses ?? {},
      now: () => clock.monotonic(),
      refreshMs: options.brokerRefreshMs ?? BROKER_REFRESH_MS,
      onProblem: options.onProblem ?? (() => undefined),
    });
  }

  async brokerFor(tables: readonly TableName[], signal?: AbortSignal): Promise<EngineEndpoint> {
    if (this.#suspects.any) this.#routing.refreshSoon();
    const known = this.#brokers ?? this.#routing.knownCandidates(tables);
    if (known !== undefined) return this.#balance(known, tables, signal);
    if (signal?.aborted) throw abortedByCaller();
    return this.#balance(await rejectOnAbort(this.#routing.candidates(tables), signal), tables, signal);
  }

  tableNames(): readonly TableName[] | undefined {
    return this.#routing.tableNames();
  }

  isLogical(table: TableName): boolean {
    return this.#routing.isLogical(table);
  }

  currentTables(maxAgeMs: number, signal?: AbortSignal): Promise<readonly TableName[]> {
    return rejectOnAbort(this.#routing.currentTables(maxAgeMs), signal);
  }

  async actualTables(
    names: readonly TableName[],
    signal?: AbortSignal,
    caller?: string,
  ): Promise<readonly TableName[]> {
    const found = this.#routing.actualTables(names, caller);
    // The usual case: nothing is awaited.
    return found instanceof Promise ? rejectOnAbort(found, signal) : found;
  }

  endpoint(url: string): EngineEndpoint {
    return this.#pool(baseUrl(url));
  }

  async close(): Promise<void> {
    this.#routing.close();
    await Promise.all([...this.#probed, ...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Orders the brokers: those with the fewest requests in progress first, round robin among equals. */
  #balance(urls: readonly string[], tables: readonly TableName[], signal: AbortSignal | undefined): EngineEndpoint {
    const turn = this.#nextIndex++ % urls.length;
    const pools = [...urls.slice(turn), ...urls.slice(0, turn)].map((url) => this.#observed(url));
    if (pools.length > 1) pools.sort((a, b) => a.outstanding - b.outstanding);
    return new FailoverEndpoint(pools, this.#health, this.#more(tables, signal));
  }

  #more(tables: readonly TableName[], signal: AbortSignal | undefined): MoreBrokers {
    const poolsOf = (urls: readonly string[]): PooledEndpoint[] => urls.map((url) => this.#observed(url));
    const isFixed = this.#brokers !== undefined;
    return {
      known: () => {
        try {
          return isFixed ? [] : poolsOf(this.#routing.candidatesNow(tables));
        } catch {
          // Too many addresses are in use.
          return [];
        }
      },
      afterFailure: async () =>
        isFixed ? [] : poolsOf(await rejectOnAbort(this.#routing.candidatesAfterFailure(tables), signal)),
      onRejection: (message, url) => this.#noteRejection(message, url),
    };
  }

  #noteRejection(message: string, url: string): void {
    this.#suspects.suspect(url);
    if (this.#reported.get(url) === true) return;
    this.#reported.set(url, true, REPORT_AGAIN_MS);
    this.#options.onProblem?.(`${message}, which another broker accepts`);
  }

  #failover(urls: readonly string[]): EngineEndpoint {
    return new FailoverEndpoint(
      urls.map((url) => this.#observed(url)),
      this.#health,
    );
  }

  /** A controller or broker. Other addresses have no metrics: there are many servers, and only health checks ask them. */
  #observed(url: string): PooledEndpoint {
    const pool = this.#pool(url);
    pool.upstream ??= this.#upstream(pool, this.#controllers.has(url) ? 'controller' : 'broker');
    return pool;
  }

  #upstream(pool: PooledEndpoint, role: UpstreamRole): Upstream {
    const { observer } = this.#options;
    const state = () => ({ ...pool.load, suspected: this.#suspects.has(pool.url) });
    return new Upstream({ role, address: addressOfUrl(pool.url), clock: this.#clock, observer, state });
  }

  async #probe(url: string, timeoutMs: number): Promise<void> {
    const endpoint = this.#endpointAt(url, PROBE_LIMITS);
    this.#probed.add(endpoint);
    try {
      await probeEndpoint(endpoint, PROBE_PATH, timeoutMs);
    } finally {
      this.#probed.delete(endpoint);
      void endpoint.close();
    }
  }

  #pool(url: string): PooledEndpoint {
    const known = this.#pools.get(url);
    if (known) return known;
    const pool = this.#endpointAt(url);
    this.#pools.set(url, pool);
    // Evicted at once where all others are in use.
    if (this.#pools.peek(url) === undefined) {
      throw new EngineError('overloaded', `limit of ${MAX_ENDPOINTS} engine addresses with requests exceeded`);
    }
    return pool;
  }

  #endpointAt(url: string, more: Partial<EndpointLimits> = {}): PooledEndpoint {
    const { credential = NO_CREDENTIAL, limits, ca } = this.#options;
    return new PooledEndpoint(
      url,
      credential,
      { ...DEFAULT_ENDPOINT_LIMITS, ...limits, ...more },
      { clock: this.#clock, ca, proxied: mayUseProxy(url), hangs: this.#health.hangs },
    );
  }
}

/** Scheme, host and port of a URL. @throws {TypeError} if it is not a valid HTTP URL */
function baseUrl(text: string): string {
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`\`${text}\` must begin with \`http://\` or \`https://\``);
  }
  return url.origin;
}

/** Aborts only this caller's wait, because other callers share the read of the broker map. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? promise : untilAborted(promise, signal, abortedByCaller);
}

function abortedByCaller(): EngineError {
  return new EngineError('aborted', 'query aborted before a broker was selected');
}
