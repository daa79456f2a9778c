import { WireConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';

export interface WirePoolOptions {
  /** Open connections at most. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** Certificates of authorities, PEM; those of the system where absent. */
  readonly ca?: string | undefined;
}

/** Shorter than what servers bear (Pinot: 30 s and more), so that a request rarely meets the end of its connection. */
const IDLE_MS = 4_000;
const TICK_MS = 1_000;

/** A bounded pool of connections to one address; who finds none free waits in line. */
export class WirePool {
  readonly #origin: URL;
  readonly #options: WirePoolOptions;
  readonly #connections = new Set<WireConnection>();
  /** The one that was used last is used next: the others grow idle. */
  readonly #free: WireConnection[] = [];
  readonly #waiting = new Set<Exchange>();
  #ticking: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, options: WirePoolOptions) {
    this.#origin = new URL(url);
    this.#options = options;
  }

  /** Sends a request as soon as a connection is free; `exchange` is told of all that comes of it. */
  send(exchange: Exchange): void {
    if (this.#closed) return exchange.onError(new Error('the pool is closed'));
    const connection = this.#free.pop() ?? this.#another();
    if (connection === undefined) this.#waiting.add(exchange);
    else connection.send(exchange);
  }

  /** Gives an exchange up: it is told of `reason`, wherever it stands. Does nothing for one that is over. */
  abort(exchange: Exchange, reason: Error): void {
    if (this.#waiting.delete(exchange)) exchange.onError(reason);
    else exchange.connection?.destroy(reason);
  }

  /** Ends everything; what is under way is told of it. */
  close(): void {
    this.#closed = true;
    const reason = new Error('the pool was closed');
    for (const exchange of this.#waiting) this.abort(exchange, reason);
    for (const connection of this.#connections) connection.destroy(reason);
  }

  #giveUp(exchange: Exchange): void {
    exchange.onDeadline();
    this.abort(exchange, new Error('no answer in time'));
  }

  #another(): WireConnection | undefined {
    if (this.#connections.size >= this.#options.connections) return undefined;
    const connection = new WireConnection({
      origin: this.#origin,
      ca: this.#options.ca,
      connectTimeoutMs: this.#options.connectTimeoutMs,
      onFree: (free) => this.#onFree(free),
      onClosed: (closed, again) => this.#onClosed(closed, again),
    });
    this.#connections.add(connection);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
    return connection;
  }

  #onFree(connection: WireConnection): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free.push(connection);
      return;
    }
    this.#waiting.delete(next);
    connection.send(next);
  }

  #onClosed(connection: WireConnection, again: Exchange | undefined): void {
    this.#connections.delete(connection);
    const at = this.#free.indexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
    if (this.#connections.size === 0) {
      clearInterval(this.#ticking);
      this.#ticking = undefined;
    }
    // By a new connection: the other kept ones may have been closed as well.
    const next = again ?? [...this.#waiting][0];
    if (next === undefined || this.#closed) return again?.onError(new Error('the pool was closed'));
    this.#waiting.delete(next);
    this.#another()?.send(next);
  }

  #tick(): void {
    const now = performance.now();
    for (const exchange of this.#waiting) {
      if (now > exchange.request.deadline) this.#giveUp(exchange);
    }
    for (const connection of this.#connections) {
      if (connection.late(now) && connection.exchange) this.#giveUp(connection.exchange);
      else if (connection.stalled(now))
        connection.destroy(new Error('the engine fell silent in the middle of its answer'));
      else if (connection.exchange === undefined && now - connection.activeAt > IDLE_MS) connection.destroy(IDLE);
    }
  }
}

const IDLE = new Error('idle');
