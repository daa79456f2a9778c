import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Transfer } from './min-rate.ts';

/** A client may be behind the minimum rate of a body by this time. */
export const BODY_GRACE_SECONDS = 10;

/** The body of a request. One that is too slow ends as a server of Node ends those that do not arrive in time. */
export class BodyTransfer implements Transfer {
  readonly unseen = 0;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get isOver(): boolean {
    return this.#request.complete || this.#request.socket.destroyed;
  }

  get waitsForClient(): boolean {
    // Otherwise its reader, such as the controller, is slower.
    return this.#request.readableLength === 0 && !this.#request.socket.isPaused();
  }

  get bytes(): number {
    return this.#request.socket.bytesRead;
  }

  /** The listener of `clientError` responds. */
  end(): void {
    const { socket } = this.#request;
    const { server } = socket as Socket & { readonly server?: Server };
    const error = Object.assign(new Error('the body of the request arrives too slowly'), {
      code: 'ERR_HTTP_REQUEST_TIMEOUT',
    });
    if (server?.emit('clientError', error, socket) !== true) socket.destroy();
  }
}

/** Node completes a request after its listener, also one without a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
