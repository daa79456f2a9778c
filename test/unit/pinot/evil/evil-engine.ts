import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from '../../../support/once.ts';

/** Sends the invalid response on a connection. */
export type Play = (socket: Socket) => unknown;

/** When `play` starts: at the connection, after the head of the request, or after the whole request. */
export type Moment = 'connection' | 'head' | 'request';

/** A raw TCP server. It responds to `/next…` correctly with its path; any other path is handled by `play`. */
export class EvilEngine {
  readonly sockets: Socket[] = [];
  /** Requested paths in order. */
  readonly asked: string[] = [];
  readonly #server: Server;
  #play: Play;
  readonly #moment: Moment;
  #played = false;

  constructor(play: Play, moment: Moment = 'request') {
    this.#play = play;
    this.#moment = moment;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The most recent connection. */
  get socket(): Socket {
    const [socket] = this.sockets.slice(-1);
    if (socket === undefined) throw new Error('no connection was opened');
    return socket;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Sets the response to later requests. */
  set play(play: Play) {
    this.#play = play;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    this.sockets.push(socket);
    socket.setNoDelay(true).on('error', () => undefined);
    if (this.#moment === 'connection' && !this.#played) {
      this.#played = true;
      this.#play(socket);
    }
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text = this.#take(socket, text + chunk.toString('latin1'));
    });
  }

  /** @returns the unprocessed rest of the text */
  #take(socket: Socket, text: string): string {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return text;
    const path = /^\S+ (\S+)/.exec(text)?.[1] ?? '';
    const length = Number(/\r\ncontent-length: (\d+)/.exec(text)?.[1] ?? 0);
    if (this.#moment === 'head' && !path.startsWith('/next') && !this.#played) {
      this.#played = true;
      this.asked.push(path);
      this.#play(socket);
    }
    if (text.length < end + 4 + length) return text;
    this.#answer(socket, path);
    return this.#take(socket, text.slice(end + 4 + length));
  }

  #answer(socket: Socket, path: string): void {
    if (path.startsWith('/next')) socket.write(ownAnswer(path));
    else if (this.#moment === 'request') {
      this.asked.push(path);
      this.#play(socket);
    }
  }
}

/** A correct response with the path of its request. */
export function ownAnswer(path: string): string {
  const body = `own answer of ${path}`;
  return `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Sends the pieces one by one, each after the previous one was written. */
export function send(...pieces: readonly (string | Buffer)[]): Play {
  return async (socket) => {
    for (const piece of pieces) await written(socket, piece);
  };
}

/** Like `send`, then ends the connection. */
export function sendAndEnd(...pieces: readonly (string | Buffer)[]): Play {
  return async (socket) => {
    await send(...pieces)(socket);
    socket.end();
  };
}

/** Like `send`, then resets the connection after the other side has read the data. */
export function sendAndReset(...pieces: readonly (string | Buffer)[]): Play {
  return async (socket) => {
    await send(...pieces)(socket);
    // A reset discards unread data. Both sides run in this process, so each turn of the event loop reads the data that has arrived.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
  };
}

async function written(socket: Socket, piece: string | Buffer): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => {
    socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, () => resolve());
  });
  // Ensures that the other side reads the pieces separately.
  await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
}
