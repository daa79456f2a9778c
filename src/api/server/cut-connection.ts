import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Server as TlsServer, TLSSocket } from 'node:tls';
import { withErrorListener } from '../../platform/stream-errors.ts';

type Cuttable = Pick<ServerResponse, 'destroy'> & Partial<Pick<ServerResponse, 'req' | 'socket'>>;

/** A response without a length then ends with its connection (RFC 9112 section 6.3). */
const isHttp10 = ({ httpVersion }: Pick<IncomingMessage, 'httpVersion'>): boolean => httpVersion === '1.0';

/** The TCP connections below connections of TLS: only they can be reset. */
const transports = new WeakMap<TLSSocket, Socket>();

/**
 * Closes the connection of an incomplete response, so that the client detects it. Where only the end of the connection ends a response,
 * a reset distinguishes an incomplete one. With TLS the missing `close_notify` would not do: curl and nginx ignore that it is missing. nginx 1.22
 * takes even a reset for the end of a response over TLS; it detects incomplete responses only with HTTP/1.1.
 */
export function cutConnection(response: Cuttable): void {
  const { req, socket } = response;
  if (req !== undefined && isHttp10(req) && socket instanceof Socket) {
    const transport = socket instanceof TLSSocket ? transports.get(socket) : socket;
    transport?.resetAndDestroy();
  }
  response.destroy();
}

/** The TCP connection of a connection of TLS; undefined until its handshake is complete. */
export function transportOf(secured: TLSSocket): Socket | undefined {
  return transports.get(secured);
}

const openResponses = new WeakMap<Server, Set<ServerResponse>>();

/** Keeps what `cutConnection` and `cutOpenResponses` need: responses to HTTP/1.0 until they are closed, and the TCP connections of TLS. */
export function trackConnections(server: Server): void {
  const open = new Set<ServerResponse>();
  openResponses.set(server, open);
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!isHttp10(request)) return;
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  if (server instanceof TlsServer) trackTransports(server);
}

/** Node.js has no reference from a connection of TLS to that of TCP; both have the address of the client. */
function trackTransports(server: TlsServer): void {
  const connections = new Map<string, Socket>();
  server.on('connection', (transport: Socket) => {
    const address = addressOf(withErrorListener(transport));
    connections.set(address, transport);
    transport.once('close', () => {
      if (connections.get(address) === transport) connections.delete(address);
    });
  });
  server.on('secureConnection', (secured: TLSSocket) => {
    const transport = connections.get(addressOf(secured));
    if (transport !== undefined) transports.set(secured, transport);
  });
}

function addressOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return [localAddress, localPort, remoteAddress, remotePort].join(' ');
}

/** Cuts the connections that `closeAllConnections` would close as if their responses were complete. */
export function cutOpenResponses(server: Server): void {
  for (const response of openResponses.get(server) ?? []) cutConnection(response);
}
