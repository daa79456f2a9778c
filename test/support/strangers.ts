import { connect, type Socket } from 'node:net';
import { once } from './once.ts';

/** Another address of this machine than that of other callers. */
export const STRANGER = '127.0.0.2';
const SILENT_ADDRESSES = [STRANGER, '127.0.0.3', '127.0.0.4'];

/** Connections of clients that are not what a server expects, until they leave. */
export class Strangers {
  readonly sockets: Socket[] = [];
  /** Responses to what is pipelined. */
  answers = 0;

  /** Opens connections that stay open until the strangers leave, or the gateway closes them. */
  async open(port: number, count: number, localAddress = STRANGER): Promise<Socket[]> {
    const opened = Array.from({ length: count }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      this.sockets.push(socket);
      return socket;
    });
    await Promise.all(opened.filter((socket) => socket.connecting).map((socket) => once(socket, 'connect')));
    return opened;
  }

  /** Connections that send nothing, from several addresses, each of which may have a part of all connections. */
  async beSilent(port: number, count: number): Promise<void> {
    const each = Math.ceil(count / SILENT_ADDRESSES.length);
    for (const address of SILENT_ADDRESSES) await this.open(port, each, address);
  }

  /** Sends `count` requests at once on each connection. @param repeats sends them again when all have their responses */
  async pipeline(port: number, connections: number, count: number, path: string, repeats = false): Promise<void> {
    const requests = `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(count);
    for (const socket of await this.open(port, connections)) {
      let answers = 0;
      socket.on('data', (bytes) => {
        const found = String(bytes).split('HTTP/1.1 ').length - 1;
        answers += found;
        this.answers += found;
        if (!repeats || answers < count) return;
        answers = 0;
        socket.write(requests);
      });
      socket.write(requests);
    }
  }

  /** Queries whose bodies begin and do not continue. @param framing `content-length: …` or `transfer-encoding: chunked` */
  async uploadIdly(port: number, bearerToken: string, count: number, framing: string): Promise<void> {
    const head = `POST /query/sql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearerToken}\r\n${framing}\r\n\r\n`;
    for (const socket of await this.open(port, count))
      socket.write(`${head}${framing.includes('chunked') ? '9\r\n' : ''}{"sql":"S`);
  }

  /** Closes their connections, also those that the gateway has closed. */
  leave(): void {
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }
}
