import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from './once.ts';

/** Forwards TCP connections to a server, and closes one of them in the middle of a response. */
export class TcpCut {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut: { readonly request: RegExp; readonly bytes: number } | undefined;
  /** What clients sent, which is not compressed. */
  sent = '';
  /** Clients that wait for the rest of a response. */
  readonly #held = new Set<Socket>();

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      /** Bytes of the response that still pass; undefined for a response that is not cut. */
      let left: number | undefined;
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
      }
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.end());
      client.on('data', (bytes) => {
        const text = bytes.toString('latin1');
        this.sent += text;
        if (this.#cut?.request.test(text) === true) {
          left = this.#cut.bytes;
          this.#cut = undefined;
        }
        upstream.write(bytes);
      });
      upstream.on('data', (bytes) => {
        if (left === undefined) return void client.write(bytes);
        const part = bytes.subarray(0, left);
        left -= part.length;
        if (left > 0) return void client.write(part);
        upstream.pause();
        this.#held.add(client);
        return void client.write(part);
      });
    });
  }

  static async start(target: string): Promise<TcpCut> {
    const proxy = new TcpCut(new URL(target));
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Holds back the response to the next request that matches, after so many bytes of it with its headers. */
  holdAfter(bytes: number, request: RegExp): void {
    this.#cut = { request, bytes };
  }

  /** Closes the connections whose response is held back. @returns their number */
  cutHeld(): number {
    const sockets = [...this.#held];
    this.#held.clear();
    for (const socket of sockets) socket.destroy();
    return sockets.length;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server.close(), 'close');
  }
}
