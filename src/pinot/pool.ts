import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';

export interface PoolOptions {
  /** Maximum open connections. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** Maximum idle time in a response body, in milliseconds; a request may override it. */
  readonly bodyTimeoutMs: number;
  /** PEM certificates of trusted CAs; default: those of the system. */
  readonly ca?: string | undefined;
}

/** undici's default of 16 KiB is too small for responses with many or long headers. */
const MAX_HEAD_BYTES = 64 * 1024;

/** An exchange that may wait for a connection. */
export interface PooledExchange extends Dispatcher.DispatchHandler {
  readonly options: Dispatcher.DispatchOptions;
  /** Set before the request is written. */
  link: EngineLink | undefined;
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
 * in its queue until a connection is free.
 */
export class EnginePool {
  readonly #pool: Pool;
  readonly #connections: number;
  readonly #waiting = new Set<PooledExchange>();
  #running = 0;

  /** @param url scheme, host and port */
  constructor(url: string, { connections, connectTimeoutMs, bodyTimeoutMs, ca }: PoolOptions) {
    this.#connections = connections;
    this.#pool = new Pool(url, {
      connections,
      // The engine speaks HTTP/1.1. One request per connection, so that a slow query does not delay others.
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      // `Delivery` applies this timeout, because it includes the wait for a connection.
      headersTimeout: 0,
      bodyTimeout: bodyTimeoutMs,
      connect: buildConnector({ allowH2: false, timeout: connectTimeoutMs, ...(ca !== undefined && { ca }) }),
      factory: (origin, options) => new LinkedClient(origin, options),
    });
  }

  /** Exchanges that are running or waiting. */
  get size(): number {
    return this.#running + this.#waiting.size;
  }

  get load(): { readonly used: number; readonly waiting: number } {
    return { used: this.#running, waiting: this.#waiting.size };
  }

  /** Dispatches the exchange when a connection is free. Each `enter` must be followed by exactly one successful `withdraw` or one `leave`. */
  enter(exchange: PooledExchange): void {
    if (this.#running >= this.#connections) this.#waiting.add(exchange);
    else {
      this.#running++;
      this.dispatch(exchange);
    }
  }

  /** Dispatches an exchange again that already has a place. */
  dispatch(exchange: PooledExchange): void {
    this.#pool.dispatch(exchange.options, exchange);
  }

  /** Removes a waiting exchange. @returns false if it was not waiting */
  withdraw(exchange: PooledExchange): boolean {
    return this.#waiting.delete(exchange);
  }

  /** Frees the place of an exchange that undici has finished. */
  leave(): void {
    this.#running--;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.enter(next);
  }

  /** Fails all running and waiting exchanges. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
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
