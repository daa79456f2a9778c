import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';
import { connectionOf } from './connection.ts';
import type { Transfer } from './min-rate.ts';

/**
 * A client may be behind the minimum rate of the reader of a response by this time. Longer than for a body: bytes leave the process in bursts, because
 * the operating system asks for more only when a third of its buffer is free again.
 */
export const READER_GRACE_SECONDS = 30;

/** The responses of a connection, which are sent one after the other. What the client does not take of them is in memory. */
export class ReaderTransfer implements Transfer {
  readonly #socket: Socket;

  /** @param socket that of TLS where there is TLS */
  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  get waitsForClient(): boolean {
    // Otherwise the response is not ready yet, or its next part.
    return this.#socket.writableLength > 0;
  }

  get bytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  get unseen(): number {
    // Node counts a write when the operating system has taken all of it.
    return this.#socket.writableLength;
  }

  end(): void {
    const response = connectionOf(this.#socket).current?.response;
    if (response === undefined) this.#socket.destroy();
    else cutConnection(response);
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
  stallMs = READER_GRACE_SECONDS * 1000,
): void {
  server.setTimeout(stallMs, (socket: Socket) => {
    const response = connectionOf(socket).current?.response;
    // Idle: Node then uses the keep-alive time-out.
    if (response === undefined) return socket.destroy();
    // Otherwise the response is not ready yet.
    if (socket.writableLength === 0) return;
    onStall();
    cutConnection(response);
  });
}
