import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Reading from a connection pauses at this many waiting requests. */
const PAUSE_AT = 16;
/** A connection with more waiting requests is closed. One socket read can contain many small requests, so pausing alone does not bound them. */
const MAX_WAITING = 1_000;

interface Connection {
  readonly waiting: { readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** True while a pause is scheduled. */
  pausing: boolean;
}

/**
 * Serves the requests of each connection one at a time: the next pipelined request starts when the previous response has been handed over to the
 * operating system. Otherwise all responses that wait for an earlier one would be in memory.
 */
export function serveSequentially(serve: Listener): Listener {
  const connections = new WeakMap<Socket, Connection>();

  const start = (request: IncomingMessage, response: ServerResponse, connection: Connection): void => {
    const { socket } = request;
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
    if (following === undefined) connections.delete(socket);
    else start(following.request, following.response, connection);
  };

  return (request, response) => {
    const { socket } = request;
    const busy = connections.get(socket);
    if (busy === undefined) {
      const connection = { waiting: [], pausing: false };
      connections.set(socket, connection);
      return start(request, response, connection);
    }
    if (socket.destroyed) return;
    busy.waiting.push({ request, response });
    if (busy.waiting.length > MAX_WAITING) socket.destroy();
    else if (busy.waiting.length >= PAUSE_AT) pauseSoon(socket, busy);
  };
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
