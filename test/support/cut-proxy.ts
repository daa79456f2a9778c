import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { once } from './once.ts';

/**
 * How far a request gets when its sender is killed: not at all, half of its body, completely without reading the response, or delayed and delivered
 * later, when `deliver` is called.
 */
export type Cut = 'before' | 'midway' | 'after' | 'late';

export interface SeenRequest {
  readonly method: string;
  readonly bodyBytes: number;
  /** The `Range` header. */
  readonly range: string | undefined;
  /** 0 until the response has arrived. */
  answerBytes: number;
}

/** Forwards requests to a server, and kills the sender of a selected one. */
export class CutProxy {
  readonly #target: URL;
  readonly #server: Server;
  #cut: { readonly at: number; readonly how: Cut; readonly kill: () => Promise<void> } | undefined;
  #late: (() => Promise<unknown>) | undefined;
  #seen: SeenRequest[] = [];
  readonly #inProgress = new Set<Promise<void>>();

  constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => {
      // The sender may have ended already.
      const handled = this.#handle(incoming, outgoing).catch(() => void outgoing.destroy());
      this.#inProgress.add(handled);
      void handled.finally(() => this.#inProgress.delete(handled));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests since `arm` was called. */
  get seen(): readonly SeenRequest[] {
    return this.#seen;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  /** Counts requests from now on; at number `at` (from 0) the sender is killed. */
  arm(at: number, how: Cut, kill: () => Promise<void>): void {
    this.#seen = [];
    this.#late = undefined;
    this.#cut = { at, how, kill };
  }

  /** Forwards everything again. Resolves when the server has handled the requests that were forwarded before the sender was killed. */
  async disarm(): Promise<void> {
    this.#cut = undefined;
    await Promise.all(this.#inProgress);
  }

  /** Delivers the delayed request. @returns false if there is none */
  async deliver(): Promise<boolean> {
    const late = this.#late;
    this.#late = undefined;
    // Its object may be deleted: then the server rejects the request, or closes the connection.
    await late?.().catch(() => undefined);
    return late !== undefined;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const cut = this.#seen.length === this.#cut?.at ? this.#cut : undefined;
    const { method = '', headers: asked } = incoming;
    const seen = { method, bodyBytes: body.length, range: asked.range, answerBytes: 0 };
    this.#seen.push(seen);
    if (cut === undefined) {
      const { status, headers, content } = await this.#pass(incoming, body);
      seen.answerBytes = content.length;
      outgoing.writeHead(status, headers).end(content);
      return;
    }
    if (cut.how === 'midway') await this.#passHalf(incoming, body);
    if (cut.how === 'after') await this.#pass(incoming, body);
    if (cut.how === 'late') this.#late = () => this.#pass(incoming, body);
    await cut.kill();
  }

  #request(incoming: IncomingMessage): ReturnType<typeof request> {
    // The host stays that of the proxy, because it is signed.
    const { hostname: host, port } = this.#target;
    const { method, url: path } = incoming;
    const { expect: _, ...headers } = incoming.headers;
    return request({ host, port, method, path, headers: { ...headers, connection: 'close' } });
  }

  async #pass(
    incoming: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; content: Buffer }> {
    const passed = this.#request(incoming);
    // A server that rejects a request may close the connection before it has read everything.
    passed.on('error', () => undefined).end(body);
    const [answer] = (await once(passed, 'response')) as [IncomingMessage];
    const { location, ...headers } = answer.headers;
    delete headers['transfer-encoding'];
    const here = location?.replace(this.#target.origin, this.url);
    return {
      status: answer.statusCode ?? 500,
      headers: { ...headers, ...(here !== undefined && { location: here }) },
      content: await buffer(answer),
    };
  }

  async #passHalf(incoming: IncomingMessage, body: Buffer): Promise<void> {
    const passed = this.#request(incoming);
    passed.on('error', () => undefined);
    await new Promise((resolve) => passed.write(body.subarray(0, body.length / 2), resolve));
    passed.destroy();
  }
}
