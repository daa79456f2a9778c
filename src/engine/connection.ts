import { BrokerRouting } from './broker-routing.ts';
import { NO_CREDENTIAL, type EngineCredential } from './credential.ts';
import { DEFAULT_ENDPOINT_LIMITS, PooledEndpoint, type EndpointLimits } from './endpoint.ts';
import { FailoverEndpoint, Suspects } from './failover.ts';
import { EngineError, type Engine, type EngineEndpoint, type KnownTables } from './types.ts';

export interface EngineOptions {
  /** Base URLs of the controllers, the preferred first; at least one. */
  readonly controllerUrls: readonly string[];
  /** Base URLs of brokers that all serve every table: then the controller is not asked which do. */
  readonly brokerUrls?: readonly string[];
  /** `http` or `https` for the brokers that the controller names; that of the first controller by default. */
  readonly brokerScheme?: string;
  /** From a broker's advertised `host:port` to the one that can be reached from here. */
  readonly addresses?: Readonly<Record<string, string>>;
  /** The gateway's own credential; none by default. See `credentialFromFile`. */
  readonly credential?: EngineCredential;
  /** Certificates of authorities that the engine's certificate may be signed by, PEM. */
  readonly ca?: string;
  readonly limits?: Partial<EndpointLimits>;
  /** Age of the map from tables to brokers at which it is read again; 30 s by default. */
  readonly brokerRefreshMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Told, without credentials, of what goes wrong in the background. */
  readonly onProblem?: (message: string) => void;
}

const BROKER_REFRESH_MS = 30_000;

/** Other base URLs of the cluster, such as servers: a bound against names that the engine itself hands out. */
const MAX_ENDPOINTS = 2_000;

/** Opens nothing yet: connections are made as they are needed. @throws {TypeError} for a base URL that is none */
export function createEngine(options: EngineOptions): Engine & KnownTables {
  return new PinotEngine(options);
}

class PinotEngine implements Engine, KnownTables {
  readonly controller: EngineEndpoint;
  readonly #options: EngineOptions;
  readonly #pools = new Map<string, PooledEndpoint>();
  readonly #suspects: Suspects;
  readonly #brokers: readonly string[] | undefined;
  readonly #routing: BrokerRouting;
  #turn = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    const now = options.now ?? (() => performance.now());
    this.#suspects = new Suspects(now);
    const controllers = options.controllerUrls.map(baseUrl);
    const [first] = controllers;
    if (first === undefined) throw new TypeError('at least one controller URL is needed');
    this.controller = this.#failover(controllers);
    this.#brokers = options.brokerUrls?.length ? options.brokerUrls.map(baseUrl) : undefined;
    this.#routing = new BrokerRouting({
      controller: this.controller,
      scheme: options.brokerScheme ?? new URL(first).protocol.slice(0, -1),
      addresses: options.addresses ?? {},
      now,
      refreshMs: options.brokerRefreshMs ?? BROKER_REFRESH_MS,
      onProblem: options.onProblem ?? (() => undefined),
    });
  }

  async brokerFor(tables: readonly string[], signal?: AbortSignal): Promise<EngineEndpoint> {
    const known = this.#brokers ?? this.#routing.candidatesNow(tables);
    if (known !== undefined) return this.#spread(known);
    if (signal?.aborted) throw new EngineError('aborted', 'the query was given up before a broker was chosen');
    return this.#spread(await unlessAborted(this.#routing.candidates(tables), signal));
  }

  brokerNow(tables: readonly string[]): EngineEndpoint | undefined {
    const known = this.#brokers ?? this.#routing.candidatesNow(tables);
    return known === undefined ? undefined : this.#spread(known);
  }

  async brokerAt(url: string, signal?: AbortSignal): Promise<EngineEndpoint | undefined> {
    const isIt = (broker: string): boolean => URL.canParse(broker) && new URL(broker).origin === url;
    const live = this.#brokers?.some(isIt) ?? (await unlessAborted(this.#routing.hasBroker(isIt), signal));
    return live ? this.#failover([url]) : undefined;
  }

  actualTablesNow(names: readonly string[]): readonly string[] | undefined {
    return this.#routing.actualTablesNow(names);
  }

  actualTables(names: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
    return unlessAborted(this.#routing.actualTables(names), signal);
  }

  endpoint(url: string): EngineEndpoint {
    return this.#pool(baseUrl(url));
  }

  async close(): Promise<void> {
    this.#routing.close();
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** The reachable broker with the fewest requests under way first; equals take turns. */
  #spread(urls: readonly string[]): EngineEndpoint {
    const [only] = urls;
    if (urls.length === 1 && only !== undefined && !this.#suspects.has(only)) {
      return new FailoverEndpoint([this.#pool(only)], this.#suspects);
    }
    const turn = this.#turn++ % urls.length;
    const pools = [...urls.slice(turn), ...urls.slice(0, turn)].map((url) => this.#pool(url));
    const weight = (pool: PooledEndpoint) => pool.outstanding + (this.#suspects.has(pool.url) ? 1e9 : 0);
    if (pools.some((pool) => this.#suspects.has(pool.url))) this.#routing.doubt();
    return new FailoverEndpoint(
      pools.sort((a, b) => weight(a) - weight(b)),
      this.#suspects,
    );
  }

  #failover(urls: readonly string[]): EngineEndpoint {
    return new FailoverEndpoint(
      urls.map((url) => this.#pool(url)),
      this.#suspects,
    );
  }

  #pool(url: string): PooledEndpoint {
    const known = this.#pools.get(url);
    if (known) return known;
    if (this.#pools.size >= MAX_ENDPOINTS) {
      throw new EngineError('overloaded', `more than ${MAX_ENDPOINTS} addresses of the engine are in use`);
    }
    const { credential = NO_CREDENTIAL, limits, ca } = this.#options;
    const pool = new PooledEndpoint(
      url,
      credential,
      { ...DEFAULT_ENDPOINT_LIMITS, ...limits },
      ca === undefined ? {} : { ca },
    );
    this.#pools.set(url, pool);
    return pool;
  }
}

/** Scheme, host and port of a URL. @throws {TypeError} where it is none or not of HTTP */
function baseUrl(text: string): string {
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`\`${text}\` must begin with \`http://\` or \`https://\``);
  }
  return url.origin;
}

/** The map of brokers is read for everyone, so that one caller's leaving does not end it. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new EngineError('aborted', 'the query was given up before a broker was chosen'));
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
