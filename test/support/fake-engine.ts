import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from './once.ts';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Responder = (request: SeenRequest, response: ServerResponse) => void;

const LISTING = /^\/(?:databases|cluster\/info|tables\/livebrokers|logicalTables|zk\/ls\?path=%2F.*LOGICAL%2FTABLE)$/;

/** Whether the gateway asks for itself: for its lists of tables and brokers, or whether the engine has a path. */
export function isListing({ method, url }: Pick<SeenRequest, 'method' | 'url'>): boolean {
  return method === 'OPTIONS' || (method === 'GET' && LISTING.test(url));
}

/** An HTTP server on 127.0.0.1 that is controller and broker at once and records its requests. */
export class FakeEngine {
  readonly seen: SeenRequest[] = [];
  /** Answers by `METHOD /path`; else `otherwise`. */
  readonly answers = new Map<string, Responder>([
    ['GET /databases', (_request, response) => response.writeHead(404).end('{"code":404}')],
  ]);
  otherwise: Responder = (request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ path: request.url }));
  };
  readonly server: Server;

  constructor() {
    this.server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const { method = '', url = '', headers } = incoming;
        const request = { method, url, headers, body: Buffer.concat(chunks).toString() };
        this.seen.push(request);
        const answer = this.answers.get(`${method} ${url.split('?')[0]}`) ?? this.otherwise;
        answer(request, response);
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.url;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  json(call: string, value: unknown, status = 200): void {
    this.answers.set(call, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    });
  }

  /**
   * Lists all `tables` (with types) as served by this broker.
   * @param answer JSON, to every query; as before where absent
   */
  serve(tables: readonly string[], answer?: string): void {
    const broker = { host: '127.0.0.1', port: this.port, instanceName: `Broker_127.0.0.1_${this.port}` };
    this.json('GET /tables/livebrokers', Object.fromEntries(tables.map((table) => [table, [broker]])));
    this.json('GET /logicalTables', { code: 404 }, 404);
    if (answer === undefined) return;
    this.answers.set('POST /query/sql', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }
}
