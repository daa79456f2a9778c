import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import type { QueueMetrics } from '../../../platform/fair-queue.ts';
import { clientNetwork } from '../client-network.ts';
import { clientAddress, type Trust } from '../request/client-address.ts';
import { BODY_GRACE_SECONDS, BodyTransfer } from './body-rate.ts';
import { type Connection, connectionOf, type Exchanged } from './connection.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { MinRate } from './min-rate.ts';
import { boundedPipelining, type Listener, serveSequentially } from './pipelining.ts';
import { disconnectStalledReaders, READER_GRACE_SECONDS, ReaderTransfer } from './reader.ts';
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
    const bodies = { name: 'body-rate', bytesPerSecond: minRates.body, graceSeconds: BODY_GRACE_SECONDS };
    this.#bodies = new MinRate({ ...bodies, clock, onRefused });
    this.#disconnectsStalled = minRates.reader > 0;
    const readers = { name: 'reader-rate', bytesPerSecond: minRates.reader, graceSeconds: READER_GRACE_SECONDS };
    this.#readers = new MinRate({ ...readers, clock, onRefused });
    const pipelining = { name: 'pipelined-requests', total: Infinity, used: 0, waiting: 0 };
    metrics?.watch(...this.#connections.states, this.#turns.state, pipelining, this.#bodies, this.#readers);
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

  /** A listener that starts requests when it is their turn. */
  listener(serve: Serve): Listener {
    return serveSequentially(serve, {
      enter: (connection, exchanged, begin) => this.#turns.enter(this.#networkOf(connection, exchanged), begin),
      onBegin: (connection, { request, response }) => {
        this.#connections.begin(connection);
        if (this.#isClosing) announceClose(response);
        this.#watchRates(connection, request);
      },
      onIdle: (connection) => this.#connections.end(connection),
    });
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

  #watchRates(connection: Connection, { socket }: IncomingMessage): void {
    // Tests have requests without a connection.
    if (connection.isWatched || !(socket instanceof Socket)) return;
    connection.isWatched = true;
    this.#bodies.watch(new BodyTransfer(socket));
    this.#readers.watch(new ReaderTransfer(socket));
  }

  #networkOf({ network }: Connection, { request }: Exchanged): string {
    return this.#trust === undefined ? network : clientNetwork(clientAddress(request, this.#trust));
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
