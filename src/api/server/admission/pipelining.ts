import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Place } from '../../../platform/fair-queue.ts';
import { cutConnection } from '../cut-connection.ts';
import { type Connection, connectionOf, type Exchanged } from './connection.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests of a connection that may wait behind the one in service. Nothing more is parsed then, and reading pauses. */
const MAX_WAITING = 8;
/** Bytes that are parsed together, at least: a request has 18 or more. */
const MIN_PART_BYTES = 64;
/** The same within a body, which is usually long. */
const MIN_PART_OF_BODY_BYTES = 512;
/** At most. A part ends with the head of a request or with this size. */
const MAX_PART_BYTES = 16_384;
const HEAD_END = '\r\n\r\n';

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
    if (connection.isHeld && connection.waiting.length < MAX_WAITING) {
      connection.isHeld = false;
      socket.resume();
    }
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
 * Parses what a connection sends in parts with few requests. One read from a socket can contain thousands of them: parsed together, they would hold
 * the event loop and fill the memory before the first one is served. The rest waits, and is parsed when requests have been served.
 * @param hold called when bytes wait to be parsed. @returns their place, until they have been parsed; undefined closes the connection
 */
export function parseInParts(socket: Socket, connection: Connection, hold: () => Place | undefined): void {
  const [parse] = socket.listeners('data') as [((bytes: Buffer) => void) | undefined];
  if (parse === undefined) return;
  const unparsed: Buffer[] = [];
  let place: Place | undefined;
  let isParsing = false;
  const isOpen = (): boolean => !socket.destroyed && !connection.isEnded;
  const parseWhilePossible = (): void => {
    while (unparsed.length > 0 && isOpen() && !socket.isPaused() && connection.waiting.length < MAX_WAITING) {
      const bytes = unparsed[0] as Buffer;
      const size = partSize(bytes, connection.last?.complete === false);
      if (size === bytes.length) unparsed.shift();
      else unparsed[0] = bytes.subarray(size);
      parse(size === bytes.length ? bytes : bytes.subarray(0, size));
    }
  };
  const advance = (): void => {
    if (isParsing) return;
    isParsing = true;
    parseWhilePossible();
    isParsing = false;
    if (!isOpen()) unparsed.length = 0;
    if (unparsed.length === 0) {
      place?.release();
      place = undefined;
      return;
    }
    // Otherwise a body or a response is not taken by its reader, and Node itself pauses.
    if (connection.waiting.length < MAX_WAITING) return;
    place ??= hold();
    connection.isHeld = true;
    if (place === undefined) socket.destroy();
    else socket.pause();
  };
  // With a listener for `data`, Node hands over what it reads instead of parsing it without a call.
  socket.on('data', (bytes: Buffer) => {
    unparsed.push(bytes);
    advance();
  });
  socket.off('data', parse);
  socket.on('resume', advance);
  socket.once('close', () => {
    unparsed.length = 0;
    place?.release();
  });
}

/** A part that ends with the head of a request, behind the minimum. */
function partSize(bytes: Buffer, isBody: boolean): number {
  const min = isBody ? MIN_PART_OF_BODY_BYTES : MIN_PART_BYTES;
  if (bytes.length <= min) return bytes.length;
  const most = bytes.subarray(0, MAX_PART_BYTES);
  const end = most.indexOf(HEAD_END, min - HEAD_END.length, 'latin1');
  return end < 0 ? most.length : end + HEAD_END.length;
}

/**
 * Lets `reject` respond to bytes that are not valid HTTP when all earlier requests of the connection have their responses. Written at once, the
 * error would be a part of the response that is being sent. A request whose own body is invalid gets the error at once, or is cut if its response
 * has begun. Nothing more is parsed.
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
