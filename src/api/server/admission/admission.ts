import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import { FairQueue, type Place, type QueueMetrics } from '../../../platform/fair-queue.ts';
import { clientNetwork } from '../client-network.ts';
import { clientAddress, type Trust } from '../request/client-address.ts';
import { BODY_GRACE_SECONDS, BodyTransfer, hasBody } from './body-rate.ts';
import { type Connection, connectionOf, type Exchanged } from './connection.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { MinRate } from './min-rate.ts';
import { type Listener, parseInParts, serveSequentially } from './pipelining.ts';
import { disconnectStalledReader, READER_GRACE_SECONDS, ReaderTransfer } from './reader.ts';
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
/** Connections that may have bytes that are not parsed because their pipelined requests wait: up to 200 KB each. */
const MAX_PIPELINING = 256;

/** Serves a request; it waited so long for its turn. */
export type Serve = (request: IncomingMessage, response: ServerResponse, waitedMs: number) => void;

/** Decides what a connection may do: whether it may be open, how much of it is read and parsed, and when its next request starts. */
export class Admission {
  readonly #connections: Connections;
  readonly #turns: Turns;
  readonly #trust: Trust | undefined;
  readonly #bodies: MinRate;
  readonly #readers: MinRate;
  readonly #disconnectsStalled: boolean;
  readonly #pipelining: FairQueue;
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
    const pipelining = { total: MAX_PIPELINING, perKey: MAX_PIPELINING / 2, maxWaiting: 0 };
    this.#pipelining = new FairQueue({ name: 'pipelined-requests', ...pipelining }, clock);
    metrics?.watch(...this.#connections.states, this.#turns.state, this.#pipelining, this.#bodies, this.#readers);
  }

  /** Limits the connections of a server that is not listening yet. */
  attach(server: Server): void {
    this.#connections.attach(server, (socket: Socket, connection: Connection) =>
      parseInParts(socket, connection, () => this.#holdBytes(connection)),
    );
  }

  /** A listener that starts requests when it is their turn. */
  listener(serve: Serve): Listener {
    return serveSequentially(serve, {
      enter: (connection, exchanged, begin) => this.#turns.enter(this.#networkOf(connection, exchanged), begin),
      onBegin: (connection, { request, response }) => {
        this.#connections.begin(connection);
        if (this.#isClosing) announceClose(response);
        this.#watchRates(connection, request, response);
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

  #watchRates(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // Tests have requests without a connection.
    if (!(socket instanceof Socket)) return;
    if (!request.complete && hasBody(request)) this.#bodies.watch(new BodyTransfer(request));
    if (this.#disconnectsStalled) disconnectStalledReader(response, () => this.#onRefused('reader-rate'));
    if (connection.isReaderWatched) return;
    connection.isReaderWatched = true;
    this.#readers.watch(new ReaderTransfer(socket));
  }

  #networkOf({ network }: Connection, { request }: Exchanged): string {
    return this.#trust === undefined ? network : clientNetwork(clientAddress(request, this.#trust));
  }

  #holdBytes({ network }: Connection): Place | undefined {
    let isRefused = false;
    const place = this.#pipelining.enter(network, { start: () => undefined, refuse: () => (isRefused = true) });
    if (!isRefused) return place;
    this.#onRefused('pipelined-requests');
    return undefined;
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
