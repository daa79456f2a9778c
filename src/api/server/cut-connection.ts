import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

type Cuttable = Pick<ServerResponse, 'destroy'> & Partial<Pick<ServerResponse, 'req' | 'socket'>>;

/** A response without a length then ends with its connection (RFC 9112 section 6.3). */
const isHttp10 = ({ httpVersion }: Pick<IncomingMessage, 'httpVersion'>): boolean => httpVersion === '1.0';

/**
 * Closes the connection of an incomplete response, so that the client detects it. Where only the end of the connection ends a response,
 * a reset distinguishes an incomplete one; with TLS the missing `close_notify` does.
 */
export function cutConnection(response: Cuttable): void {
  const { req, socket } = response;
  if (req !== undefined && isHttp10(req) && socket instanceof Socket && !(socket instanceof TLSSocket)) {
    socket.resetAndDestroy();
  }
  response.destroy();
}

const openResponses = new WeakMap<Server, Set<ServerResponse>>();

/** Keeps the responses to HTTP/1.0 until they are closed, for `cutOpenResponses`. */
export function trackOpenResponses(server: Server): void {
  const open = new Set<ServerResponse>();
  openResponses.set(server, open);
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!isHttp10(request)) return;
    open.add(response);
    response.once('close', () => open.delete(response));
  });
}

/** Cuts the connections that `closeAllConnections` would close as if their responses were complete. */
export function cutOpenResponses(server: Server): void {
  for (const response of openResponses.get(server) ?? []) cutConnection(response);
}
