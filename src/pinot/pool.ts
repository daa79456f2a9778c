import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { Clock } from '../platform/clock.ts';
import { FairQueue, type Place, type Refusal } from '../platform/fair-queue.ts';

export interface PoolOptions {
  /** Maximum open connections. */
  readonly connections: number;
  /** Maximum exchanges that wait for a connection. */
  readonly queue: number;
  /** The part of `connections` and `queue` that one caller may use: more than 0, at most 1. */
  readonly share: number;
  readonly connectTimeoutMs: number;
  /** Maximum idle time in a response body, in milliseconds; a request may override it. */
  readonly bodyTimeoutMs: number;
  /** PEM certificates of trusted CAs; default: those of the system. */
  readonly ca?: string | undefined;
  /** Certificate of this process, where the server requires one, PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  /** Whether the proxies of the environment apply; default: false. */
  readonly proxied?: boolean | undefined;
}

/** undici's default of 16 KiB is too small for responses with many or long headers. */
const MAX_HEAD_BYTES = 64 * 1024;

/** An exchange that may wait for a connection. */
export interface PooledExchange extends Dispatcher.DispatchHandler {
  readonly options: Dispatcher.DispatchOptions;
  /** The caller on whose behalf it is sent; the gateway itself is one caller, too. */
  readonly caller: string;
  /** Set before the request is written. */
  link: EngineLink | undefined;
  /** Set by `enter`. */
  place: Place | undefined;
  /** Called instead of the dispatch where too many wait. */
  onRefused(reason: Refusal): void;
}

/** Connection state that undici does not pass to its handlers. */
export interface EngineLink {
  /** Whether a response arrived earlier on the current connection. */
  answered: boolean;
  /** Whether the current connection failed, as opposed to a regular close. */
  readonly failed: boolean;
}

/**
 * All connections to one address. Exchanges beyond the number of connections wait here and not in undici, because undici keeps an aborted request
 * in its queue until a connection is free. Callers take turns, and one of them gets a part of the connections: its requests may all hang.
 */
export class EnginePool {
  /** By which an agent selects the proxy; a pool has one. */
  readonly #origin: { readonly origin: string } | undefined;
  readonly #pool: Dispatcher;
  readonly #queue: FairQueue;

  /** @param url scheme, host and port */
  constructor(url: string, options: PoolOptions, clock: Pick<Clock, 'monotonic' | 'schedule'>) {
    const { connections, queue, share } = options;
    const perKey = Math.max(1, Math.floor(connections * share));
    const maxWaitingOfKey = Math.ceil(queue * share);
    this.#queue = new FairQueue(
      { name: 'pool', total: connections, perKey, maxWaiting: queue, maxWaitingOfKey },
      clock,
    );
    this.#origin = options.proxied === true ? { origin: url } : undefined;
    this.#pool = openPool(url, options);
  }

  /** Exchanges that have a connection, or are about to get one. */
  get used(): number {
    return this.#queue.used;
  }

  /** Exchanges that wait for a connection. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Dispatches the exchange when a connection is free. The exchange releases its place when it leaves the queue, or when undici has finished it. */
  enter(exchange: PooledExchange): void {
    const place = this.#queue.enter(exchange.caller, {
      start: (given) => {
        exchange.place = given;
        this.dispatch(exchange);
      },
      refuse: (reason) => exchange.onRefused(reason),
    });
    exchange.place ??= place;
  }

  /** Dispatches an exchange again that already has a place. */
  dispatch(exchange: PooledExchange): void {
    const { options } = exchange;
    this.#pool.dispatch(this.#origin === undefined ? options : { ...options, ...this.#origin }, exchange);
  }

  /** Fails all running and waiting exchanges. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

function openPool(url: string, options: PoolOptions): Dispatcher {
  const { connections, connectTimeoutMs, bodyTimeoutMs, ca, client, proxied = false } = options;
  const tls = { allowH2: false, ...(ca !== undefined && { ca }), ...client };
  const pool = {
    connections,
    // The engine speaks HTTP/1.1. One request per connection, so that a slow query does not delay others.
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    // `Delivery` applies this timeout, because it includes the wait for a connection.
    headersTimeout: 0,
    bodyTimeout: bodyTimeoutMs,
    connect: buildConnector({ ...tls, timeout: connectTimeoutMs }),
  };
  const factory = (origin: URL, own: object): Dispatcher => new LinkedClient(origin, own);
  if (!proxied) return new Pool(url, { ...pool, factory });
  // Tunnels (`CONNECT`), also for `http`, so that both ends are those of a connection without a proxy.
  return new EnvHttpProxyAgent({
    ...pool,
    connectTimeout: connectTimeoutMs,
    requestTls: tls,
    proxyTunnel: true,
    factory: (origin, own: Pool.Options) => new Pool(origin, { ...pool, ...own, factory }),
    clientFactory: (proxy, own) => new Pool(proxy, { ...own, headersTimeout: connectTimeoutMs }),
  });
}

/** Sets the `link` of each exchange to the connection that it runs on. */
class LinkedClient extends Client implements EngineLink {
  answered = false;
  #socket: Socket | undefined;

  constructor(origin: URL, options: Client.Options) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (to: buildConnector.Options, callback: buildConnector.Callback) =>
        connect(to, (...result) => {
          this.answered = false;
          this.#socket = result[1] ?? undefined;
          callback(...result);
        }),
    });
  }

  get failed(): boolean {
    return this.#socket !== undefined && this.#socket.errored !== null;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: PooledExchange): boolean {
    handler.link = this;
    return super.dispatch(options, handler);
  }
}
