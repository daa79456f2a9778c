import type { Socket } from 'node:net';
import type { FileRows } from '../../query/result-store.ts';
import type { FileSender } from './file-sender.ts';

/** Read and written at once where the system takes no more by itself. */
const PIECE_BYTES = 64 * 1024;
/** Sent before others have their turn. */
const TURN_BYTES = 4 * 1024 * 1024;
const MAX_KEPT = 32;

/** Memory that is used again. */
const kept: Buffer[] = [];

/** Told once of the end; of none where the connection has gone. */
export interface FileBodyEnds {
  readonly sent: () => void;
  /** Where the file could not be read: what follows would stand in a wrong place. */
  readonly failed: (error: unknown) => void;
}

/**
 * Bytes of a file on their way to a socket, no faster than its client takes them: by the system alone as long as the socket has room, else a piece
 * by the usual way, which also waits for room.
 */
export class FileBody {
  readonly #socket: Socket;
  readonly #rows: FileRows;
  readonly #fileSender: FileSender;
  readonly #ends: FileBodyEnds;
  #at: number;
  #buffer: Buffer | undefined;

  constructor(socket: Socket, rows: FileRows, fileSender: FileSender, ends: FileBodyEnds) {
    this.#socket = socket;
    this.#rows = rows;
    this.#fileSender = fileSender;
    this.#ends = ends;
    this.#at = rows.from;
  }

  readonly send = (): void => {
    // Its file may be closed as soon as the connection has gone.
    if (this.#socket.destroyed) return;
    const { to } = this.#rows;
    const turn = Math.min(to, this.#at + TURN_BYTES);
    while (this.#at < turn) {
      const sent = this.#sendNow(turn);
      if (sent === 0) return void this.#sendPiece();
      this.#at += sent;
    }
    if (this.#at < to) return void setImmediate(this.send);
    if (this.#buffer !== undefined && kept.length < MAX_KEPT) kept.push(this.#buffer);
    this.#ends.sent();
  };

  #sendNow(to: number): number {
    if (this.#socket.writableLength > 0) return 0;
    return this.#rows.file.send(this.#at, to, (file, from, end) =>
      this.#fileSender.file(this.#socket, file, from, end),
    );
  }

  async #sendPiece(): Promise<void> {
    this.#buffer ??= kept.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
    let piece: Buffer;
    try {
      const end = Math.min(this.#rows.to, this.#at + PIECE_BYTES);
      piece = await this.#rows.file.readInto(this.#buffer, this.#at, end);
    } catch (error) {
      if (!this.#socket.destroyed) this.#ends.failed(error);
      return;
    }
    this.#at += piece.length;
    this.#socket.write(piece, this.send);
  }
}
