import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Reading from a connection pauses at this many waiting requests. */
const PAUSE_AT = 16;
/** A connection with more waiting requests is closed. One socket read can contain many small requests, so pausing alone does not bound them. */
const MAX_WAITING = 1_000;

interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  /** The request in service; undefined between two requests. */
  current: Exchanged | undefined;
  readonly waiting: Exchanged[];
  /** True while a pause is scheduled. */
  pausing: boolean;
  /** Responds to bytes that are not valid HTTP, after all responses. */
  reject?: () => void;
}

const connections = new WeakMap<Socket, Connection>();

function connect(socket: Socket): Connection {
  const connection = { current: undefined, waiting: [], pausing: false };
  connections.set(socket, connection);
  return connection;
}

/**
 * Serves the requests of each connection one at a time: the next pipelined request starts when the previous response has been handed over to the
 * operating system. Otherwise all responses that wait for an earlier one would be in memory.
 */
export function serveSequentially(serve: Listener): Listener {
  const start = (exchanged: Exchanged, connection: Connection): void => {
    const { request, response } = exchanged;
    const { socket } = request;
    connection.current = exchanged;
    response.once('close', () => next(socket, connection));
    serve(request, response);
  };
  const next = (socket: Socket, connection: Connection): void => {
    if (socket.destroyed || !socket.writable) {
      connection.waiting.length = 0;
      return;
    }
    const following = connection.waiting.shift();
    if (connection.waiting.length < PAUSE_AT && socket.isPaused()) socket.resume();
    if (following !== undefined) return start(following, connection);
    connection.current = undefined;
    connection.reject?.();
    delete connection.reject;
  };

  return (request, response) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? connect(socket);
    if (connection.current === undefined) return start({ request, response }, connection);
    if (socket.destroyed) return;
    connection.waiting.push({ request, response });
    if (connection.waiting.length > MAX_WAITING) socket.destroy();
    else if (connection.waiting.length >= PAUSE_AT) pauseSoon(socket, connection);
  };
}

/**
 * Lets `reject` respond to bytes that are not valid HTTP when all earlier requests of the connection have their responses. Written at once, the
 * error would be a part of the response that is being sent. A request whose own body is invalid gets the error at once, or is cut if its response
 * has begun.
 */
export function rejectAfterResponses(socket: Socket, reject: () => void): void {
  const connection = connections.get(socket);
  if (connection?.current === undefined) return reject();
  const { current, waiting } = connection;
  if (!current.request.complete) return current.response.headersSent ? cutConnection(current.response) : reject();
  if (waiting.at(-1)?.request.complete === false) waiting.pop();
  connection.reject = reject;
}

/** Node resumes a socket at the end of each message, so it can be paused only after all bytes read so far have been parsed. */
function pauseSoon(socket: Socket, connection: Connection): void {
  if (connection.pausing) return;
  connection.pausing = true;
  setImmediate(() => {
    connection.pausing = false;
    if (connection.waiting.length >= PAUSE_AT) socket.pause();
  });
}
