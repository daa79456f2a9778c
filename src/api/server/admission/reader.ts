import type { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';
import { connectionOf } from './connection.ts';
import type { Transfer } from './min-rate.ts';

/**
 * A client may be behind the minimum rate of the reader of a response by this time. Longer than for a body: bytes leave the process in bursts, because
 * the operating system asks for more only when a third of its buffer is free again.
 */
export const READER_GRACE_SECONDS = 30;

/** What Node knows of a TCP connection, and hands over to no one else: how much of a large write the operating system has taken. */
interface Handle {
  /** Includes what the operating system has not taken yet. */
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/** The responses of a connection, which are sent one after the other. What the client does not take of them is in memory. */
export class ReaderTransfer implements Transfer {
  readonly #socket: Socket;
  readonly #transport: Socket & { readonly _handle?: Handle | null };

  /** @param socket that of TLS where there is TLS */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#transport = connectionOf(socket).transport;
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  get waitsForClient(): boolean {
    // Otherwise the response is not ready yet, or its next part.
    return this.#socket.writableLength > 0;
  }

  get bytes(): number {
    const handle = this.#transport._handle;
    if (handle) return handle.bytesWritten - handle.writeQueueSize;
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  end(): void {
    const response = connectionOf(this.#socket).current?.response;
    if (response === undefined) this.#socket.destroy();
    else cutConnection(response);
  }
}
