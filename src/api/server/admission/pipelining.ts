import { IncomingMessage, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';
import { connectionOf } from './connection.ts';

/** Requests of a connection that may wait behind the one in service. A client that sends more of them is disconnected. */
const MAX_WAITING = 16;

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
