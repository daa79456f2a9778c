import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that a test can cut like a network: open connections are reset, new ones are refused until mend(). */
export class CuttableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      if (this.#cut) {
        client.resetAndDestroy();
        return;
      }
      const upstream = connect(targetPort, '127.0.0.1');
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => {}); // a reset is what a cut does
        socket.on('close', () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream).pipe(client);
    });
  }

  /** @param url of the server behind it */
  static async start(url: string): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(Number(new URL(url).port));
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size / 2;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  mend(): void {
    this.#cut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
