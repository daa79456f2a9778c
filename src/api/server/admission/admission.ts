import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import type { QueueMetrics } from '../../../platform/fair-queue.ts';
import { clientNetwork } from '../client-network.ts';
import { clientAddress, type Trust } from '../request/client-address.ts';
import { type Connection, connectionOf, type Exchanged } from './connection.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { BODIES, disconnectStalledReaders, MinRate, RESPONSES } from './min-rate.ts';
import { boundedPipelining } from './pipelining.ts';
import { Turns } from './turns.ts';

/** Bytes a second that a client must move on average. 0 for no minimum. */
export interface MinRates {
  /** Of a request body that it sends. */
  readonly body: number;
  /** Of a response that it reads. */
  readonly reader: number;
}

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly connections: ConnectionLimits;
  readonly minRates?: MinRates | undefined;
  readonly trust?: Trust | undefined;
  readonly metrics?: QueueMetrics | undefined;
}

const MIN_RATES: MinRates = { body: 1024, reader: 1024 };

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves a request; it waited so long for its turn. */
export type Serve = (request: IncomingMessage, response: ServerResponse, waitedMs: number) => void;

/** Decides what a connection may do: whether it may be open, how many of its requests are parsed, and when its next request starts. */
export class Admission {
  readonly #connections: Connections;
  readonly #turns: Turns;
  readonly #trust: Trust | undefined;
  readonly #bodies: MinRate;
  readonly #readers: MinRate;
  readonly #disconnectsStalled: boolean;
  readonly #onRefused: (limit: string) => void;
  /** The server is about to close. */
  #isClosing = false;

  constructor({ clock, connections, minRates = MIN_RATES, trust, metrics }: AdmissionOptions) {
    this.#trust = trust;
    const onRefused = (limit: string): void => metrics?.onRefusal(limit, 'full');
    this.#onRefused = onRefused;
    const isProxy = (address: string): boolean => trust?.(address, 0) ?? false;
    this.#connections = new Connections({ limits: connections, clock, isProxy, onRefused });
    this.#turns = new Turns({ clock, observer: metrics });
    this.#bodies = new MinRate(BODIES, { clock, bytesPerSecond: minRates.body, onRefused });
    this.#readers = new MinRate(RESPONSES, { clock, bytesPerSecond: minRates.reader, onRefused });
    this.#disconnectsStalled = minRates.reader > 0;
    const pipelining = { name: 'pipelined-requests', total: Infinity, used: 0, waiting: 0 };
    metrics?.watch(...this.#connections.states, this.#turns, pipelining, this.#bodies, this.#readers);
  }

  /** For the server that it is attached to. */
  get serverOptions(): Pick<ServerOptions, 'IncomingMessage' | 'shouldUpgradeCallback'> {
    return boundedPipelining(() => this.#onRefused('pipelined-requests'));
  }

  /** Limits the connections of a server that is not listening yet. */
  attach(server: Server): void {
    this.#connections.attach(server);
    if (this.#disconnectsStalled) disconnectStalledReaders(server, () => this.#onRefused('reader-rate'));
  }

  /**
   * A listener that starts requests when it is their turn, those of a connection one at a time: the next pipelined request starts when the previous response
   * has been handed over to the operating system. Otherwise all responses that wait for an earlier one would be in memory.
   */
  listener(serve: Serve): Listener {
    return (request, response) => {
      const connection = connectionOf(request.socket);
      connection.last = request;
      if (connection.current === undefined) this.#start(connection, { request, response }, serve);
      else if (!request.socket.destroyed) connection.waiting.push({ request, response });
    };
  }

  /** From now on responses close their connections. */
  announceClose(): void {
    this.#isClosing = true;
    for (const { response } of this.#connections.exchanged()) announceClose(response);
  }

  /** Starts no further request until the returned function is called. */
  hold(): () => void {
    return this.#turns.hold();
  }

  /** Closes connections that have not sent a whole request head. */
  closeSilent(): void {
    this.#connections.closeSilent();
  }

  /** Counts the connection of an authenticated request. @throws {HttpError} 429 */
  countCaller({ socket }: IncomingMessage, srn: string): void {
    this.#connections.countCaller(connectionOf(socket), srn);
  }

  #start(connection: Connection, exchanged: Exchanged, serve: Serve): void {
    const { request, response } = exchanged;
    connection.current = exchanged;
    this.#connections.begin(connection);
    if (this.#isClosing) announceClose(response);
    this.#watchRates(connection, request.socket);
    const place = this.#turns.enter(this.#networkOf(connection, request), (waitedMs) =>
      serve(request, response, waitedMs),
    );
    response.once('close', () => {
      if (place.state === 'waiting') place.release();
      this.#next(connection, request.socket, serve);
    });
  }

  #next(connection: Connection, socket: Socket, serve: Serve): void {
    if (socket.destroyed || !socket.writable) {
      connection.waiting.length = 0;
      return;
    }
    const following = connection.waiting.shift();
    if (following !== undefined) return this.#start(connection, following, serve);
    connection.current = undefined;
    this.#connections.end(connection);
    connection.reject?.();
    connection.reject = undefined;
  }

  #watchRates(connection: Connection, socket: Socket): void {
    // Tests have requests without a connection.
    if (connection.isWatched || !(socket instanceof Socket)) return;
    connection.isWatched = true;
    this.#bodies.watch(socket);
    this.#readers.watch(socket);
  }

  #networkOf({ network }: Connection, request: IncomingMessage): string {
    return this.#trust === undefined ? network : clientNetwork(clientAddress(request, this.#trust));
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
