import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { FileSender } from '../../../../src/http/front/file-sender.ts';
import { Front } from '../../../../src/http/front/front.ts';
import type { Lane, LaneRequest, LaneResponse } from '../../../../src/http/front/lane.ts';
import type { Certificate } from './certificate.ts';

/** A request as somebody got it. */
export interface Seen {
  readonly by: 'lane' | 'node';
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

type Take = (request: LaneRequest, response: LaneResponse, longWay: () => void) => boolean;

/** What each of them answers: who has seen what. */
export const answerOf = ({ by, method, url, body }: Seen): string => `${by} ${method} ${url} ${body}`;

const seenByLane = ({ method, url, body }: LaneRequest): Seen => ({
  by: 'lane',
  method,
  url,
  body: body.toString('latin1'),
});

/** A server with a front, a lane for all that begins with `/lane`, and a handler; all that is seen is recorded. */
export class FrontServer {
  /** In the order in which they were whole. */
  readonly seen: Seen[] = [];
  readonly defects: unknown[] = [];
  readonly server: Server;
  readonly front: Front;
  /** Of connections, as the server has them. */
  readonly sockets: Socket[] = [];
  take: Take = (request, response) => request.url.startsWith('/lane') && this.answer(request, response);
  handler: RequestListener = (request, response) => {
    void this.record(request).then((seen) => this.reply(response, answerOf(seen)));
  };
  readonly #clients: Client[] = [];
  readonly #secure: boolean;

  constructor(tls?: Certificate, keepAliveMs = 5_000, fileSender?: FileSender) {
    const listener: RequestListener = (request, response) => this.handler(request, response);
    this.#secure = tls !== undefined;
    this.server = tls ? createTlsServer(tls, listener) : createServer(listener);
    this.server.keepAliveTimeout = keepAliveMs;
    const lane: Lane = { take: (request, response, longWay) => this.take(request, response, longWay) };
    this.front = new Front(this.server, [lane], (error) => this.defects.push(error), fileSender);
    this.front.install();
    this.server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => this.sockets.push(socket));
  }

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  /** The answer of a lane, now. */
  answer(request: LaneRequest, response: LaneResponse): true {
    const seen = seenByLane(request);
    this.seen.push(seen);
    this.reply(response, answerOf(seen));
    return true;
  }

  reply(response: LaneResponse | ServerResponse, text: string, status = 200): void {
    response.writeHead(status, { 'content-length': Buffer.byteLength(text, 'latin1') });
    response.end(Buffer.from(text, 'latin1'));
  }

  /** Reads a request of Node's server to its end. */
  async record(request: IncomingMessage): Promise<Seen> {
    const { method = '', url = '' } = request;
    let body = '';
    request.setEncoding('latin1').on('data', (piece: string) => (body += piece));
    await once(request, 'end');
    const seen: Seen = { by: 'node', method, url, body };
    this.seen.push(seen);
    return seen;
  }

  async client(): Promise<Client> {
    const { port } = this.server.address() as AddressInfo;
    const to = { host: '127.0.0.1', port, allowHalfOpen: true };
    const socket = this.#secure ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
    await once(socket, this.#secure ? 'secureConnect' : 'connect');
    const isServed = ({ remotePort }: Socket): boolean => remotePort === socket.localPort;
    let served: Socket | undefined;
    while (served === undefined) {
      await turn();
      served = this.sockets.findLast(isServed);
    }
    const client = new Client(socket, served);
    this.#clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy();
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** A client that writes bytes, and reads answers of known length. */
export class Client {
  readonly socket: Socket;
  /** The other end. */
  readonly served: Socket;
  received = '';
  closed = false;
  /** Whether the server will send no more. */
  ended = false;
  #sent = 0;

  constructor(socket: Socket, served: Socket) {
    this.socket = socket.setNoDelay(true);
    this.served = served;
    socket.setEncoding('latin1').on('data', (piece: string) => (this.received += piece));
    socket.on('error', () => undefined).on('close', () => (this.closed = true));
    socket.on('end', () => (this.ended = true));
  }

  /** Resolves when the server has read all of it, or has gone. */
  async send(text: string): Promise<void> {
    if (text === '') return;
    // Of what is encrypted it cannot be told.
    this.#sent += this.served instanceof TLSSocket ? 0 : text.length;
    this.socket.write(text, 'latin1');
    while (this.served.bytesRead < this.#sent && !this.served.destroyed) await turn();
    await turn();
  }

  /** Resolves when the server has gone on all it can without a timer. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) await turn();
  }

  /** Whole answers until now. */
  get answers(): Answer[] {
    const answers: Answer[] = [];
    let rest = this.received;
    for (;;) {
      const end = rest.indexOf('\r\n\r\n') + 4;
      const head = rest.slice(0, end);
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (end < 4 || rest.length < end + length) return answers;
      answers.push({ status, head, body: rest.slice(end, end + length) });
      rest = rest.slice(end + length);
    }
  }

  /** Waits for the next ones. @returns as many, or fewer where the connection is over */
  async next(count = 1): Promise<Answer[]> {
    while (this.answers.length < count && !this.ended && !this.closed) await turn();
    const taken = this.answers.slice(0, count);
    this.received = this.received.slice(taken.reduce((sum, { head, body }) => sum + head.length + body.length, 0));
    return taken;
  }

  async ask(text: string): Promise<string> {
    await this.send(text);
    return (await this.next())[0]?.body ?? 'none';
  }

  /** Resolves when the server has ended the connection. */
  async over(): Promise<void> {
    while (!this.ended && !this.closed) await turn();
  }
}

/** A plain request. */
export function requestOf(url: string, body = '', headers = ''): string {
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  return `${body === '' ? 'GET' : 'POST'} ${url} HTTP/1.1\r\nHost: gateway\r\n${headers}${length}\r\n${body}`;
}
