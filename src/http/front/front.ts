import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { FrontConnection, type ConnectionParts } from './connection.ts';
import type { Lane } from './lane.ts';
import type { FileSender } from './file-sender.ts';

/** Node waits that much longer than it tells clients. */
const GRACE_MS = 1_000;

/**
 * Stands before Node's HTTP server: connections begin here, and lanes answer the requests that they take without any of what a server for requests of all kinds does.
 * For everything else Node's server is as it is.
 */
export class Front {
  readonly #server: Server;
  readonly #connections = new Map<Socket, FrontConnection>();
  readonly #lanes: readonly Lane[];
  readonly #onDefect: (error: unknown) => void;
  readonly #fileSender: FileSender | undefined;
  #closing = false;
  #ended = false;

  /**
   * Nothing happens before `install`.
   * @param onDefect told of what a lane throws; its request goes the long way
   * @param fileSender how files are sent; they are read and written where absent
   */
  constructor(server: Server, lanes: readonly Lane[], onDefect: (error: unknown) => void, fileSender?: FileSender) {
    this.#server = server;
    this.#lanes = lanes;
    this.#onDefect = onDefect;
    this.#fileSender = fileSender;
  }

  /** Listens in the place of Node's server. Its `closeIdleConnections` and `closeAllConnections` then count those here, too. */
  install(): void {
    const server = this.#server;
    const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
    const [accept, ...others] = server.listeners(event) as ((this: Server, socket: Socket) => void)[];
    if (accept === undefined || others.length > 0) throw new TypeError('the server accepts in a way that is not known');
    const { keepAliveTimeout: keepAliveMs } = server;
    // None is a connection that is kept for good, of which nothing is told.
    const idleMs = keepAliveMs > 0 ? keepAliveMs + GRACE_MS : 0;
    const keepAlive = keepAliveMs > 0 ? `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n` : '';
    const parts: ConnectionParts = {
      lanes: this.#lanes,
      times: { idleMs, said: `Connection: keep-alive\r\n${keepAlive}` },
      accept: (socket) => accept.call(server, socket),
      fileSender: this.#fileSender,
      closing: () => this.#closing,
      onDefect: this.#onDefect,
      released: () => this.#afterAnswer(),
    };
    server.removeListener(event, accept);
    server.on(event, (socket: Socket) => {
      this.#connections.set(socket, new FrontConnection(socket, parts));
      socket.once('close', () => {
        this.#connections.delete(socket);
        this.#afterAnswer();
      });
    });
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#connections.get(request.socket)?.onRequest(request, response);
    });
    // Without this, Node's server would close connections that it shares with a lane, which it takes for idle.
    server.on('timeout', (socket: Socket) => {
      if (this.#connections.get(socket)?.busy !== true) socket.destroy();
    });
    this.#mindCloses();
  }

  /** From here on all requests go the long way. */
  close(): void {
    this.#closing = true;
  }

  #mindCloses(): void {
    const server = this.#server;
    const closeIdle = server.closeIdleConnections.bind(server);
    const closeAll = server.closeAllConnections.bind(server);
    server.closeIdleConnections = () => {
      this.#closing = true;
      this.#ended = true;
      const connections = [...this.#connections.values()];
      for (const connection of connections) connection.closeIdle();
      // Node's server would take a shared connection for idle on which a lane answers, or a request has begun.
      if (!connections.some(({ busy, shared }) => busy && shared)) closeIdle();
    };
    server.closeAllConnections = () => {
      this.#closing = true;
      for (const socket of this.#connections.keys()) socket.destroy();
      closeAll();
    };
  }

  /** Whoever wants idle connections closed wants that also of those that become idle. */
  #afterAnswer(): void {
    if (this.#ended) this.#server.closeIdleConnections();
  }
}
