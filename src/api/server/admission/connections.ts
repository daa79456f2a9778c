import type { Server } from 'node:http';
import { Server as TlsServer, type TLSSocket } from 'node:tls';
import type { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import { FairQueue, type QueueState } from '../../../platform/fair-queue.ts';
import { withErrorListener } from '../../../platform/stream-errors.ts';
import { transportOf } from '../cut-connection.ts';
import { HttpError } from '../errors.ts';
import { type Connection, connectionOf, type Exchanged, setConnection } from './connection.ts';

export interface ConnectionLimits {
  /** Connections that may be open at the same time. */
  readonly total: number;
  /** The part of them from one address (for IPv6: one /64); default: half. Not for trusted proxies. */
  readonly perAddress?: number;
  /** The part of them whose last request is of one caller; default: half. Not for trusted proxies. */
  readonly perCaller?: number;
}

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Whether connections from this address are those of a proxy, which has many clients. */
  readonly isProxy?: (address: string) => boolean;
  /** Counts what is refused or closed, by the name of the limit. */
  readonly onRefused?: (limit: string) => void;
}

/**
 * Limits the connections of a server. A connection above the limits is closed: a response would need the descriptor that is lacking. Where all are
 * open, a new connection replaces the one that has been without a request for the longest time, so that nobody can occupy the server with idle ones.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #perCaller: number;
  readonly #maxSilent: number;
  readonly #all: FairQueue;
  readonly #ofCallers: FairQueue;
  /** Have not sent a whole request head, in the order of their arrival. */
  readonly #silent = new Set<Connection>();
  /** Wait for a further request, the longest time first. */
  readonly #idle = new Set<Connection>();
  readonly #busy = new Set<Connection>();

  constructor(options: ConnectionsOptions) {
    const { limits, clock } = options;
    const { total, perAddress = Math.ceil(total / 2), perCaller = Math.ceil(total / 2) } = limits;
    this.#options = options;
    this.#perCaller = perCaller;
    this.#maxSilent = Math.ceil(total / 2);
    this.#all = new FairQueue({ name: 'connections', total, perKey: perAddress, maxWaiting: 0 }, clock);
    const ofCallers = { name: 'connections-of-caller', total: Number.POSITIVE_INFINITY, perKey: perCaller };
    this.#ofCallers = new FairQueue({ ...ofCallers, maxWaiting: 0 }, clock);
  }

  /** For metrics; they change. */
  get states(): readonly QueueState[] {
    const silent = this.#silent;
    const total = this.#maxSilent;
    return [
      this.#all,
      this.#ofCallers,
      // Its refusals are counted apart from those of `connections`, and its use is not that of one address.
      { name: 'connections-of-address', total: Infinity, used: 0, waiting: 0 },
      {
        name: 'silent-connections',
        total,
        waiting: 0,
        get used() {
          return silent.size;
        },
      },
    ];
  }

  /** Counts the connections of a server from now on. */
  attach(server: Server): void {
    // Node calls it at close(), too.
    server.closeIdleConnections = () => this.closeIdle();
    server.on('connection', (transport: Socket) => this.#admit(transport));
    if (!(server instanceof TlsServer)) return;
    server.on('secureConnection', (secured: TLSSocket) => {
      const transport = transportOf(secured);
      if (transport !== undefined) setConnection(secured, connectionOf(transport));
    });
  }

  /** The connection has a request. */
  begin(connection: Connection): void {
    this.#move(connection, this.#busy);
  }

  /** The connection has no request any more. */
  end(connection: Connection): void {
    this.#move(connection, this.#idle);
  }

  /** The requests in service. */
  *exchanged(): Generator<Exchanged> {
    for (const { current } of this.#busy) if (current !== undefined) yield current;
  }

  /**
   * Closes the connections that wait for a further request. Node counts a connection as idle when its response has been written, and would discard
   * what a slow client has not taken.
   */
  closeIdle(): void {
    for (const { last } of this.#idle) if (last?.complete === true) last.socket.destroy();
  }

  /** Closes the connections that have not sent a whole request head. */
  closeSilent(): void {
    for (const { transport } of this.#silent) withErrorListener(transport).destroy();
  }

  /**
   * Counts a connection among those of the caller of its request.
   * @throws {HttpError} 429
   */
  countCaller(connection: Connection, srn: string): void {
    const { caller } = connection;
    // Unknown ones are closed, or of a test without connections.
    if (caller?.srn === srn || !this.#busy.has(connection) || this.#isProxy(connection)) return;
    caller?.place.release();
    connection.caller = undefined;
    const place = this.#ofCallers.tryEnter(srn);
    if (typeof place !== 'string') {
      connection.caller = { srn, place };
      return;
    }
    this.#options.onRefused?.('connections-of-caller');
    const message = `limit of connections (${this.#perCaller}) of one caller exceeded: close some, or try again in 5 s`;
    throw new HttpError(429, message, { headers: { 'retry-after': '5', connection: 'close' } });
  }

  #isProxy({ transport }: Connection): boolean {
    return this.#options.isProxy?.(transport.remoteAddress ?? '') ?? false;
  }

  /** Closes a connection above the limits. */
  #admit(transport: Socket): void {
    const connection = connectionOf(transport);
    if (this.#all.used >= this.#all.total)
      this.#close('connections', this.#silent.size > 0 ? this.#silent : this.#idle);
    const most = this.#isProxy(connection) ? this.#all.total : undefined;
    const place = this.#all.tryEnter(connection.network, { most });
    if (typeof place === 'string') {
      this.#options.onRefused?.(place === 'full-of-key' ? 'connections-of-address' : 'connections');
      withErrorListener(transport).destroy();
      return;
    }
    connection.place = place;
    connection.among = this.#silent.add(connection);
    transport.once('close', () => this.#forget(connection));
    if (this.#silent.size > this.#maxSilent) this.#close('silent-connections', this.#silent);
  }

  /** Closes the first one. */
  #close(limit: string, among: ReadonlySet<Connection>): void {
    for (const connection of among) {
      this.#options.onRefused?.(limit);
      // The event comes later.
      this.#forget(connection);
      withErrorListener(connection.transport).destroy();
      return;
    }
  }

  #move(connection: Connection, to: Set<Connection>): void {
    // Closed already, or of a test without connections.
    if (connection.among === undefined) return;
    connection.among.delete(connection);
    connection.among = to.add(connection);
  }

  #forget(connection: Connection): void {
    connection.among?.delete(connection);
    connection.among = undefined;
    connection.place?.release();
    connection.caller?.place.release();
    connection.caller = undefined;
  }
}
