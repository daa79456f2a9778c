import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import type { QueueState } from '../../../platform/fair-queue.ts';
import { cutConnection } from '../cut-connection.ts';
import { connectionOf } from './connection.ts';

/** What the clients of connections send or take. Sockets are those of TLS where there is TLS. */
export interface Transfer {
  /** Of the limit. */
  readonly name: string;
  /** A client may be behind the rate by this time. */
  readonly graceSeconds: number;
  /** True while only the client could move further bytes. Other time does not count. */
  readonly waitsForClient: (socket: Socket) => boolean;
  /** Bytes moved so far, since any moment. */
  readonly bytes: (socket: Socket) => number;
  /** Bytes that may have moved, too, but are not counted yet. */
  readonly unseen: (socket: Socket) => number;
  /** Disconnects the client, which is too slow. */
  readonly end: (socket: Socket) => void;
}

/** The bodies of the requests of a connection. One that is too slow ends as a server of Node ends those that do not arrive in time. */
export const BODIES: Transfer = {
  name: 'body-rate',
  graceSeconds: 10,
  waitsForClient(socket) {
    const { last } = connectionOf(socket);
    // Otherwise there is no body, or its reader, such as the controller, is slower.
    return last?.complete === false && last.readableLength === 0 && !socket.isPaused();
  },
  bytes: ({ bytesRead }) => bytesRead,
  unseen: () => 0,
  /** The listener of `clientError` responds. */
  end(socket) {
    const { server } = socket as Socket & { readonly server?: Server };
    const error = Object.assign(new Error('the body of the request arrives too slowly'), {
      code: 'ERR_HTTP_REQUEST_TIMEOUT',
    });
    if (server?.emit('clientError', error, socket) !== true) socket.destroy();
  },
};

/**
 * The responses of a connection, which are sent one after the other. What the client does not take of them is in memory. The grace is longer than for a
 * body: bytes leave the process in bursts, because the operating system asks for more only when a third of its buffer is free again.
 */
export const RESPONSES: Transfer = {
  name: 'reader-rate',
  graceSeconds: 30,
  // Otherwise the response is not ready yet, or its next part.
  waitsForClient: ({ writableLength }) => writableLength > 0,
  bytes: ({ bytesWritten, writableLength }) => bytesWritten - writableLength,
  // Node counts a write when the operating system has taken all of it.
  unseen: ({ writableLength }) => writableLength,
  end(socket) {
    const response = connectionOf(socket).current?.response;
    if (response === undefined) socket.destroy();
    else cutConnection(response);
  },
};

export interface MinRateOptions {
  readonly clock: Pick<Clock, 'schedule' | 'monotonic'>;
  /** Bytes a second that a client must move on average. 0 for no minimum. */
  readonly bytesPerSecond: number;
  readonly onRefused: (limit: string) => void;
}

interface Watched {
  /** At the last check. */
  bytes: number;
  /** Bytes that the client is ahead of being too slow. */
  credit: number;
  at: number;
}

const CHECK_MS = 1_000;

/** Disconnects clients that send or read too slowly. Each of them holds a connection, and memory that others wait for. */
export class MinRate implements QueueState {
  readonly total = Infinity;
  readonly waiting = 0;
  readonly #transfer: Transfer;
  readonly #options: MinRateOptions;
  readonly #maxCredit: number;
  readonly #watched = new Map<Socket, Watched>();
  #isScheduled = false;

  constructor(transfer: Transfer, options: MinRateOptions) {
    this.#transfer = transfer;
    this.#options = options;
    this.#maxCredit = options.bytesPerSecond * transfer.graceSeconds;
  }

  get name(): string {
    return this.#transfer.name;
  }

  /** Connections that wait for their clients. */
  get used(): number {
    let used = 0;
    for (const socket of this.#watched.keys()) if (!socket.destroyed && this.#transfer.waitsForClient(socket)) used++;
    return used;
  }

  /** Watches a connection until it is closed. */
  watch(socket: Socket): void {
    const { bytesPerSecond, clock } = this.#options;
    if (bytesPerSecond === 0 || socket.destroyed) return;
    this.#watched.set(socket, { bytes: this.#transfer.bytes(socket), credit: this.#maxCredit, at: clock.monotonic() });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#watched.size === 0) return;
    this.#isScheduled = true;
    this.#options.clock.schedule(() => {
      this.#isScheduled = false;
      for (const [socket, watched] of this.#watched) this.#check(socket, watched);
      this.#schedule();
    }, CHECK_MS);
  }

  #check(socket: Socket, watched: Watched): void {
    const { bytesPerSecond: rate, clock, onRefused } = this.#options;
    const { name, bytes, unseen, waitsForClient, end } = this.#transfer;
    if (socket.destroyed) {
      this.#watched.delete(socket);
      return;
    }
    const [now, moved] = [clock.monotonic(), bytes(socket)];
    const required = waitsForClient(socket) ? (rate * (now - watched.at)) / 1000 : 0;
    watched.credit = Math.min(watched.credit + moved - watched.bytes - required, this.#maxCredit);
    watched.at = now;
    watched.bytes = moved;
    if (watched.credit + unseen(socket) >= 0) return;
    this.#watched.delete(socket);
    onRefused(name);
    end(socket);
  }
}

/**
 * Disconnects clients that take nothing at all of their responses for this long, or twice as long. Node sees for that how much of a large write the operating
 * system has taken, which the minimum rate cannot.
 * @param onStall called for each disconnected client
 */
export function disconnectStalledReaders(
  server: Server,
  onStall: () => void,
  stallMs = RESPONSES.graceSeconds * 1000,
): void {
  server.setTimeout(stallMs, (socket: Socket) => {
    const isIdle = connectionOf(socket).current === undefined;
    // Node then uses the keep-alive time-out. Without bytes to take, the response is not ready yet.
    if (!isIdle && !RESPONSES.waitsForClient(socket)) return;
    if (!isIdle) onStall();
    RESPONSES.end(socket);
  });
}
