import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Place } from '../../../platform/fair-queue.ts';
import { clientNetwork } from '../client-network.ts';

export interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What is known about a connection of a client. */
export class Connection {
  /** Of the other end of the connection: the client, or a proxy. */
  readonly network: string;
  /** The TCP connection; below it for TLS. */
  readonly transport: Socket;
  /** The request in service; undefined between two requests. */
  current: Exchanged | undefined;
  /** Pipelined requests behind it. */
  readonly waiting: Exchanged[] = [];
  /** The last request that was parsed. */
  last: IncomingMessage | undefined;
  /** True from its first request on: the rates at which it sends bodies and reads responses are watched. */
  isWatched = false;
  /** True when what it sends is discarded. */
  isEnded = false;
  /** Responds to bytes that are not valid HTTP, after all responses. */
  reject: (() => void) | undefined;
  /** The connections in the same state. For `Connections`, as `place`. */
  among: Set<Connection> | undefined;
  /** Its place among all connections. */
  place: Place | undefined;
  /** The caller of its last request, with the place among the caller's connections. */
  caller: { readonly srn: string; readonly place: Place } | undefined;

  constructor(transport: Socket) {
    this.transport = transport;
    this.network = clientNetwork(transport.remoteAddress ?? '');
  }
}

const connections = new WeakMap<Socket, Connection>();

/** @param socket of a request: that of TLS where there is TLS */
export function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection = new Connection(socket);
  connections.set(socket, connection);
  return connection;
}

/** Names the connection of a socket of TLS by its TCP connection. */
export function setConnection(secured: Socket, connection: Connection): void {
  connections.set(secured, connection);
}
