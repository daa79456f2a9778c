import { once } from './once.ts';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response instead of that of the server. */
export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** Forwards requests to a server, except those that it answers itself. */
export class RefusingProxy {
  /** Requests that match are answered with the next of `refusals`, as long as there is one. */
  readonly #matches: (request: IncomingMessage) => boolean;
  readonly #server: Server;
  readonly refusals: Refusal[] = [];

  private constructor(target: string, matches: (request: IncomingMessage) => boolean) {
    this.#matches = matches;
    this.#server = createServer((incoming, outgoing) => this.#handle(target, incoming, outgoing));
  }

  static async start(target: string, matches: (request: IncomingMessage) => boolean): Promise<RefusingProxy> {
    const proxy = new RefusingProxy(target, matches);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #handle(target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const refusal = this.#matches(incoming) ? this.refusals.shift() : undefined;
    if (refusal !== undefined) {
      incoming.resume();
      outgoing.writeHead(refusal.status, { 'content-type': 'application/json' }).end(refusal.body);
      return;
    }
    const { method, url = '/', headers } = incoming;
    const forwarded = request(new URL(url, target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  }
}
