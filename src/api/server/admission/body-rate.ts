import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { connectionOf } from './connection.ts';
import type { Transfer } from './min-rate.ts';

/** A client may be behind the minimum rate of a body by this time. */
export const BODY_GRACE_SECONDS = 10;

/** The bodies of the requests of a connection. One that is too slow ends as a server of Node ends those that do not arrive in time. */
export class BodyTransfer implements Transfer {
  readonly unseen = 0;
  readonly #socket: Socket;

  /** @param socket that of TLS where there is TLS */
  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  get waitsForClient(): boolean {
    const { last } = connectionOf(this.#socket);
    // Otherwise there is no body, or its reader, such as the controller, is slower.
    return last?.complete === false && last.readableLength === 0 && !this.#socket.isPaused();
  }

  get bytes(): number {
    return this.#socket.bytesRead;
  }

  /** The listener of `clientError` responds. */
  end(): void {
    const socket = this.#socket;
    const { server } = socket as Socket & { readonly server?: Server };
    const error = Object.assign(new Error('the body of the request arrives too slowly'), {
      code: 'ERR_HTTP_REQUEST_TIMEOUT',
    });
    if (server?.emit('clientError', error, socket) !== true) socket.destroy();
  }
}
