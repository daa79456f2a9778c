import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import type { Clock } from '../../../platform/clock.ts';
import { LOG_LIMITS, RateLimiter } from '../../../platform/rate-limiter.ts';
import { withErrorListener } from '../../../platform/stream-errors.ts';
import { transportOf } from '../cut-connection.ts';
import { errorBody } from '../errors.ts';
import { connectionOf } from './connection.ts';
import { rejectAfterResponses } from './pipelining.ts';

export interface RejectsOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'schedule'>;
  readonly log: Pick<Logger, 'info'>;
  /** Counts what was rejected, by the code of Node.js. */
  readonly onRejected?: ((reason: string) => void) | undefined;
}

type Response = readonly [status: number, message: string];

const BAD_REQUEST: Response = [400, 'the request is not valid HTTP/1.1'];
const RESPONSES: Readonly<Record<string, Response>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: [431, 'the headers of the request are too large'],
};
const CONNECT_CODE = 'CONNECT';
const NO_TUNNELS: Response = [405, '`CONNECT` is not allowed: this is not a proxy'];
const LINGER_MS = 5_000;
/** The client has gone, which is no mistake. */
const DISCONNECTS: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);
/** Codes are those of Node.js and OpenSSL; anything else is `other`. */
const CODE = /^[A-Z][A-Z0-9_]{0,79}$/;

/**
 * Responds to what is rejected before it becomes a request: bytes that are not valid HTTP, requests that do not arrive in time, CONNECT, and failed
 * handshakes of TLS. Node has no response object for them, so the response is written to the socket. Each gets a line in the log, a limited number
 * for each code and client.
 */
export class Rejects {
  readonly #options: RejectsOptions;
  readonly #lines: RateLimiter;

  constructor(options: RejectsOptions) {
    this.#options = options;
    this.#lines = new RateLimiter(options.clock, LOG_LIMITS);
  }

  attach(server: Server): void {
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      this.#record(CONNECT_CODE, socket);
      // Node no longer listens to its errors.
      this.#reject(withErrorListener(socket), NO_TUNNELS);
    });
  }

  /** The listener of `clientError`; Node emits it for handshakes of TLS, too. */
  readonly clientError = (error: Error & { code?: string }, socket: Socket): void => {
    const code = codeOf(error);
    // A consequence of the first one.
    if (connectionOf(socket).isEnded && !DISCONNECTS.has(code)) return;
    this.#record(code, socket);
    const hasNoHttp = socket instanceof TLSSocket && transportOf(socket) === undefined;
    if (DISCONNECTS.has(code) || hasNoHttp || !socket.writable) socket.destroy();
    else this.#reject(socket, RESPONSES[code] ?? BAD_REQUEST);
  };

  #reject(socket: Socket, [status, message]: Response): void {
    rejectAfterResponses(socket, () => {
      const answer = errorBody(status, message, '/', this.#options.clock.now());
      const body = JSON.stringify(answer);
      socket.end(
        `HTTP/1.1 ${status} ${answer.error}\r\nContent-Type: application/json; charset=utf-8\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
      // A client that does not end its side would keep the connection. A time-out of the socket would begin again with each byte.
      const cancel = this.#options.clock.schedule(() => socket.destroy(), LINGER_MS);
      socket.once('close', cancel);
    });
  }

  #record(code: string, socket: Socket): void {
    if (DISCONNECTS.has(code)) return;
    this.#options.onRejected?.(code);
    const { remoteAddress: clientAddress = '' } = socket;
    const suppressed = this.#lines.admit(`${code} ${clientAddress}`);
    if (suppressed !== undefined) this.#options.log.info({ code, clientAddress, suppressed }, 'a client was rejected');
  }
}

function codeOf({ code = '' }: { readonly code?: string }): string {
  return CODE.test(code) ? code : 'other';
}
