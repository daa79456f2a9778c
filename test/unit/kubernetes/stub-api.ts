import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import type { Role } from '../../../src/resources/kinds.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { role } from '../../builders/resources.ts';
import { until } from '../../support/until.ts';
import { once } from '../../support/once.ts';

export interface StubRequest {
  readonly kind: 'list' | 'watch';
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
}
type Behaviour = (response: ServerResponse, request: StubRequest, socket: Socket) => void;

/** A collection of the Kubernetes API. Tests can script the responses to the next requests. */
export class StubApi {
  readonly requests: StubRequest[] = [];
  /** Open watches, oldest first. */
  readonly watches: ServerResponse[] = [];
  version = 100;
  readonly #objects = new Map<string, Role>();
  readonly #scripts = { list: [] as Behaviour[], watch: [] as Behaviour[] };
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(): Promise<StubApi> {
    const api = new StubApi();
    await once(api.#server.listen(0, '127.0.0.1'), 'listening');
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Sets the responses to the next requests of a kind, one each. */
  script(kind: 'list' | 'watch', ...behaviours: Behaviour[]): void {
    this.#scripts[kind].push(...behaviours);
  }

  count(kind: 'list' | 'watch'): number {
    return this.requests.filter((request) => request.kind === kind).length;
  }

  last(kind: 'list' | 'watch'): URLSearchParams {
    const found = this.requests.findLast((request) => request.kind === kind);
    if (found === undefined) throw new Error(`no ${kind} yet`);
    return found.query;
  }

  /** Stores an object and sends an event to the open watches. */
  put(name: string, policies: string[] = []): Role {
    const type = this.#objects.has(name) ? 'MODIFIED' : 'ADDED';
    const object = this.putSilently(name, policies);
    this.send({ type, object });
    return object;
  }

  /** Stores an object without an event. */
  putSilently(name: string, policies: string[] = []): Role {
    this.version++;
    const uid = this.#objects.get(name)?.metadata.uid ?? `uid-${name}-${this.version}`;
    const object = stamped(role(name, { policies }), uid, this.version);
    this.#objects.set(name, object);
    return object;
  }

  remove(name: string): void {
    const object = this.removeSilently(name);
    this.send({ type: 'DELETED', object });
  }

  removeSilently(name: string): Role {
    const object = this.#objects.get(name);
    if (object === undefined) throw new Error(`there is no ${name}`);
    this.#objects.delete(name);
    this.version++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
  }

  bookmark(version = ++this.version): void {
    this.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version) } } });
  }

  send(event: unknown): void {
    this.sendRaw(`${JSON.stringify(event)}\n`);
  }

  sendRaw(text: string): void {
    for (const watch of this.watches) watch.write(text);
  }

  endWatches(): void {
    for (const watch of this.watches) watch.end();
  }

  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  serveList(response: ServerResponse, { query }: StubRequest): void {
    const all = [...this.#objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const limit = Number(query.get('limit') ?? all.length);
    const from = Number(query.get('continue') ?? 0);
    const items = all.slice(from, from + limit);
    const next = from + items.length < all.length ? String(from + items.length) : undefined;
    json(response, 200, { metadata: { resourceVersion: String(this.version), continue: next }, items });
  }

  serveWatch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    this.watches.push(response);
    response.on('close', () => this.watches.splice(this.watches.indexOf(response), 1));
  }

  async close(): Promise<void> {
    this.#server.close();
    this.resetConnections();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://stub');
    const kind = url.searchParams.has('watch') ? 'watch' : 'list';
    const stubbed = { kind, query: url.searchParams, authorization: request.headers.authorization } as const;
    this.requests.push(stubbed);
    const behaviour = this.#scripts[kind].shift();
    if (behaviour !== undefined) behaviour(response, stubbed, request.socket);
    else if (kind === 'watch') this.serveWatch(response);
    else this.serveList(response, stubbed);
  }
}

function stamped(object: Role, uid: string, version: number): Role {
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(version) } };
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function failure(code: number, reason: string, extra: object = {}): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `stub says ${reason}`,
    ...extra,
  };
}

/** Loads a configuration for the stub. @param token read at each load */
export function configFor(url: string, token?: () => string): () => KubeConfig {
  return () => {
    const config = new KubeConfig();
    // KubeConfig allows plain HTTP only where TLS is not verified anyway.
    const user = token === undefined ? { name: 'user' } : { name: 'user', token: token() };
    config.loadFromClusterAndUser({ name: 'stub', server: url, skipTLSVerify: true }, user);
    return config;
  };
}

/** Timers of this length and longer are time-outs. They fire only when a test calls `expire()`. */
const TIME_OUT_MS = 10_000;
/** Timers below that fire this many times sooner. */
const SPEED = 1000;

/**
 * A clock whose time passes by its timers alone: each one that fires moves it by its delay. So the load of the machine does not matter.
 * Timers below 10 s fire soon, in the order of their times.
 */
export class TimerClock implements Clock {
  /** All delays that were scheduled, milliseconds. */
  readonly waits: number[] = [];
  readonly pending = new Set<{ readonly ms: number; readonly fire: () => void }>();
  chance = 0.5;
  #elapsed = 0;

  now(): number {
    return 1_800_000_000_000 + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  random(): number {
    return this.chance;
  }

  schedule(callback: () => void, ms: number): () => void {
    this.waits.push(ms);
    const at = this.#elapsed + ms;
    let timer: NodeJS.Timeout | undefined;
    const entry = {
      ms,
      fire: () => {
        cancel();
        this.#elapsed = Math.max(this.#elapsed, at);
        callback();
      },
    };
    const cancel = () => {
      clearTimeout(timer);
      this.pending.delete(entry);
    };
    this.pending.add(entry);
    if (ms < TIME_OUT_MS) timer = setTimeout(entry.fire, ms / SPEED);
    return cancel;
  }

  jump(ms: number): void {
    this.#elapsed += ms;
  }

  /** Waits for a timer of exactly this delay and fires it. */
  async expire(ms: number): Promise<void> {
    await until(`a timer of ${ms} ms`, () => [...this.pending].some((timer) => timer.ms === ms));
    for (const timer of [...this.pending]) if (timer.ms === ms) timer.fire();
  }
}
