import { IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';
import { type Connection, connectionOf, type Exchanged } from './connection.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests of a connection that may wait behind the one in service. A client that sends more of them is disconnected. */
const MAX_WAITING = 16;

export interface SequenceOptions {
  /** Starts the request of a connection now or later. @returns ends the wait */
  readonly enter: (connection: Connection, exchanged: Exchanged, begin: (waitedMs: number) => void) => () => void;
  readonly onBegin?: (connection: Connection, exchanged: Exchanged) => void;
  /** The connection has no further request. */
  readonly onIdle?: (connection: Connection) => void;
}

/**
 * Serves the requests of each connection one at a time: the next pipelined request starts when the previous response has been handed over to the
 * operating system. Otherwise all responses that wait for an earlier one would be in memory.
 */
export function serveSequentially(
  serve: (request: IncomingMessage, response: ServerResponse, waitedMs: number) => void,
  { enter, onBegin, onIdle }: SequenceOptions,
): Listener {
  const start = (exchanged: Exchanged, connection: Connection): void => {
    const { request, response } = exchanged;
    const { socket } = request;
    connection.current = exchanged;
    onBegin?.(connection, exchanged);
    const leave = enter(connection, exchanged, (waitedMs) => serve(request, response, waitedMs));
    response.once('close', () => {
      leave();
      next(socket, connection);
    });
  };
  const next = (socket: Socket, connection: Connection): void => {
    if (socket.destroyed || !socket.writable) {
      connection.waiting.length = 0;
      return;
    }
    const following = connection.waiting.shift();
    if (following !== undefined) return start(following, connection);
    connection.current = undefined;
    onIdle?.(connection);
    connection.reject?.();
    connection.reject = undefined;
  };

  return (request, response) => {
    const { socket } = request;
    const connection = connectionOf(socket);
    connection.last = request;
    if (connection.current === undefined) return start({ request, response }, connection);
    if (!socket.destroyed) connection.waiting.push({ request, response });
  };
}

/**
 * Options of a server that disconnects clients with too many pipelined requests. One read from a socket can contain thousands of them, and Node parses all of
 * them before it does anything else, which would hold the event loop and fill the memory. Its parser ends only at a request that upgrades its connection.
 * Node then disconnects the client, because nothing listens for upgrades.
 * @param onRefused called for each disconnected client
 */
export function boundedPipelining(onRefused: () => void): Required<PipeliningOptions> {
  return {
    IncomingMessage: BoundedRequest,
    shouldUpgradeCallback: ({ socket }) => {
      const isRefused = hasMost(socket);
      if (isRefused) onRefused();
      return isRefused;
    },
  };
}

type PipeliningOptions = Pick<ServerOptions<typeof BoundedRequest>, 'IncomingMessage' | 'shouldUpgradeCallback'>;

/** Node sets the property afterwards to what the client asked for. */
const UPGRADE: PropertyDescriptor = {
  get: () => true,
  set() {},
};

/** A request that its connection may not send upgrades it. */
class BoundedRequest extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket);
    if (hasMost(socket)) Object.defineProperty(this, 'upgrade', UPGRADE);
  }
}

function hasMost(socket: Socket): boolean {
  return connectionOf(socket).waiting.length >= MAX_WAITING;
}

/**
 * Lets `reject` respond to bytes that are not valid HTTP when all earlier requests of the connection have their responses. Written at once, the
 * error would be a part of the response that is being sent. A request whose own body is invalid gets the error at once, or is cut if its response
 * has begun. What comes after it is discarded.
 */
export function rejectAfterResponses(socket: Socket, reject: () => void): void {
  const connection = connectionOf(socket);
  connection.isEnded = true;
  const { current, waiting } = connection;
  if (current === undefined) return reject();
  if (!current.request.complete) return current.response.headersSent ? cutConnection(current.response) : reject();
  if (waiting.at(-1)?.request.complete === false) waiting.pop();
  connection.reject = reject;
}
