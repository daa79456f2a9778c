import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from '../once.ts';

/**
 * A TCP proxy that a test can cut like a network: open connections are reset, new ones are refused until mend(). Or stall: every connection
 * stays open and acknowledges what it gets, but nothing passes.
 */
export class CuttableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;
  #stalled = false;

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
      // Reads always, so that the peers do not notice a stall by a full window.
      client.on('data', (chunk) => this.#forward(chunk, client, upstream));
      upstream.on('data', (chunk) => this.#forward(chunk, upstream, client));
      client.on('end', () => upstream.end());
      upstream.on('end', () => client.end());
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

  /** What is sent from now on is lost, on open and new connections, until mend() resets them. */
  stall(): void {
    this.#stalled = true;
  }

  mend(): void {
    if (this.#stalled) this.cut();
    this.#cut = false;
    this.#stalled = false;
  }

  #forward(chunk: Buffer, from: Socket, to: Socket): void {
    if (this.#stalled || to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
