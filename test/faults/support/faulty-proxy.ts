import { readFile } from 'node:fs/promises';
import {
  Agent as HttpAgent,
  createServer as createHttpServer,
  type IncomingMessage,
  request as requestHttp,
  type RequestListener,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, createServer as createHttpsServer, request as requestHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { ControlPlane } from '../../support/control-plane.ts';
import { once } from '../../support/once.ts';

/**
 * What happens to a request: it passes, gets an error status, waits before it passes, gets no response, or its connection is reset.
 * `lost-answer`: the server executes it, but its response is lost. `half-answer`: the connection is reset after a part of the response.
 */
export type Fault = 'none' | 500 | 429 | 503 | 'slow' | 'silent' | 'reset' | 'lost-answer' | 'half-answer';

const SLOW_MS = 2_000;
const HALF_BYTES = 600;

interface Tls {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly ca: Buffer;
}

/** An HTTP proxy in front of one server. Each change of the fault closes all connections, also those of watches. */
export class FaultyProxy {
  #fault: Fault = 'none';
  readonly #server: Server;
  readonly #target: URL;
  readonly #agent: HttpAgent;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(target: string, tls: Tls | undefined) {
    this.#target = new URL(target);
    const listener: RequestListener = (incoming, outgoing) => this.#handle(incoming, outgoing);
    this.#agent =
      tls === undefined ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ ca: tls.ca, keepAlive: true });
    this.#server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static start(target: string): Promise<FaultyProxy> {
    return FaultyProxy.#listen(new FaultyProxy(target, undefined));
  }

  /** In front of the kube-apiserver, with its certificate. */
  static async ofApi(plane: ControlPlane): Promise<FaultyProxy> {
    const read = (file: string): Promise<Buffer> => readFile(join(plane.description.directory, 'pki', file));
    const tls = { key: await read('apiserver.key'), cert: await read('apiserver.crt'), ca: await read('ca.crt') };
    return FaultyProxy.#listen(new FaultyProxy(plane.url, tls));
  }

  static async #listen(proxy: FaultyProxy): Promise<FaultyProxy> {
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(fault: Fault): void {
    this.#fault = fault;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.set('reset');
    for (const timer of this.#timers) clearTimeout(timer);
    this.#agent.destroy();
    await once(this.#server.close(), 'close');
  }

  #handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const fault = this.#fault;
    if (fault === 'reset') incoming.socket.destroy();
    else if (fault === 'silent') incoming.resume();
    else if (typeof fault === 'number') reject(incoming, outgoing, fault);
    else if (fault === 'slow') {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        // Its sender has given up.
        if (outgoing.destroyed) return;
        this.#pass(incoming, outgoing, 'none');
      }, SLOW_MS);
      this.#timers.add(timer);
    } else this.#pass(incoming, outgoing, fault);
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse, fault: 'none' | 'lost-answer' | 'half-answer'): void {
    const { method, url: path, headers } = incoming;
    const { protocol, hostname: host, port } = this.#target;
    const options: RequestOptions = { host, port, method, path, headers, agent: this.#agent };
    const request = protocol === 'https:' ? requestHttps : requestHttp;
    const passed = request(options, (answer) => {
      answer.on('error', () => outgoing.destroy());
      if (fault === 'lost-answer') answer.resume().on('end', () => incoming.socket.destroy());
      else {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        if (fault === 'half-answer') answer.once('data', (bytes: Buffer) => half(bytes, outgoing));
        else answer.pipe(outgoing);
      }
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }
}

function half(bytes: Buffer, outgoing: ServerResponse): void {
  outgoing.write(bytes.subarray(0, Math.min(HALF_BYTES, bytes.length / 2)), () => outgoing.destroy());
}

function reject(incoming: IncomingMessage, outgoing: ServerResponse, code: number): void {
  incoming.resume();
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Injected', message: 'injected', code };
  outgoing.writeHead(code, { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) });
  outgoing.end(JSON.stringify(body));
}
