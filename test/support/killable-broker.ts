import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { once } from './once.ts';

export type BrokerAnswer = (body: string, response: ServerResponse) => void | Promise<void>;

/** A broker that can be killed and started again on its port. It counts the queries that arrive. */
export class KillableBroker {
  answer: BrokerAnswer;
  queries = 0;
  #server: Server | undefined;
  #port = 0;

  constructor(answer: BrokerAnswer) {
    this.answer = answer;
  }

  get address(): { readonly host: string; readonly port: number; readonly instanceName: string } {
    return { host: '127.0.0.1', port: this.#port, instanceName: `Broker_127.0.0.1_${this.#port}` };
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Like SIGKILL: all connections break at once, in whatever state they are. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await text(request);
      this.queries++;
      await this.answer(body, response);
    } catch {
      // Killed in the middle of a request.
      response.destroy();
    }
  }
}
