import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { systemClock, type Clock } from '../platform/clock.ts';
import type { Upstream, UpstreamCall, UpstreamState } from '../platform/upstreams.ts';
import { AnswerBody, headersByName } from './answer-body.ts';
import type { EngineCredential } from './credential.ts';
import { Delivery } from './delivery.ts';
import { EndpointError, outcomeOfError } from './failures.ts';
import { requestHeaderList, withCredential } from './headers.ts';
import { EnginePool } from './pool.ts';
import type { AnswerHead, AnswerSink, EngineEndpoint, EngineRequest, EngineResponse } from './types.ts';

export interface EndpointLimits {
  /** Maximum open connections to one base URL. */
  readonly connections: number;
  /** Maximum requests waiting for a connection; further requests fail with `overloaded`. */
  readonly queue: number;
  readonly connectTimeoutMs: number;
  /** Time until the response headers arrive, including the wait for a connection. */
  readonly headersTimeoutMs: number;
  /** Maximum idle time within the response body. */
  readonly bodyTimeoutMs: number;
}

export const DEFAULT_ENDPOINT_LIMITS: EndpointLimits = {
  connections: 64,
  queue: 512,
  connectTimeoutMs: 3_000,
  // Longer than Pinot's default query timeout (10 s), because clients may raise it per query.
  headersTimeoutMs: 120_000,
  bodyTimeoutMs: 60_000,
};

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export function isStream(body: EngineRequest['body']): body is Readable {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}

export function isRepeatable(request: EngineRequest): boolean {
  return !isStream(request.body) && (request.repeatable ?? SAFE_METHODS.has(request.method));
}

/** One base URL behind a bounded pool of connections. */
export class PooledEndpoint implements EngineEndpoint {
  readonly url: string;
  /** Observes the requests; undefined for an address without metrics. */
  upstream: Upstream | undefined;
  readonly #pool: EnginePool;
  readonly #credential: EngineCredential;
  readonly #limits: EndpointLimits;
  readonly #clock: Clock;
  /** Requests that wait for the credential before they enter the pool. */
  #entering = 0;

  /** @param options `ca`: PEM certificates of trusted CAs; default: those of the system. `clock`: default: the system clock */
  constructor(
    url: string,
    credential: EngineCredential,
    limits: EndpointLimits,
    options: { readonly ca?: string; readonly clock?: Clock } = {},
  ) {
    this.url = url;
    this.#clock = options.clock ?? systemClock;
    this.#credential = credential;
    this.#limits = limits;
    const { connections, connectTimeoutMs, bodyTimeoutMs } = limits;
    this.#pool = new EnginePool(url, { connections, connectTimeoutMs, bodyTimeoutMs, ca: options.ca });
  }

  /** Requests in progress, including those waiting for a connection. */
  get outstanding(): number {
    return this.#entering + this.#pool.size;
  }

  get load(): Pick<UpstreamState, 'used' | 'waiting'> {
    return this.#pool.load;
  }

  async request(request: EngineRequest): Promise<EngineResponse> {
    const body = new AnswerBody();
    await this.deliver(request, body);
    const { status, rawHeaders } = body.head as AnswerHead;
    return { status, headers: headersByName(rawHeaders), body, url: this.url };
  }

  async deliver(request: EngineRequest, sink: AnswerSink): Promise<void> {
    // undici accepts an absolute URL here and would send it to that server.
    if (!request.path.startsWith('/')) {
      throw new EndpointError('bad-answer', `the path of the request to ${this.url} is invalid`, { reached: false });
    }
    const call = this.upstream?.begin(spanName(request), request.method, request.trail);
    const authorization = await this.#enter(call);
    const { headersTimeoutMs = this.#limits.headersTimeoutMs, signal } = request;
    const delivery = new Delivery(dispatchOptions(request, authorization, call?.headers), sink, {
      pool: this.#pool,
      clock: this.#clock,
      url: this.url,
      headersTimeoutMs,
      repeatable: isRepeatable(request),
      signal,
      answered: (status) => this.#noteStatus(status),
      call,
    });
    this.#entering--;
    return delivery.start();
  }

  /** Counts a request in `#entering`. @returns the credential. @throws {EngineError} overloaded, or an error of the credential */
  async #enter(call: UpstreamCall | undefined): Promise<string | undefined> {
    const { outstanding } = this;
    if (outstanding >= this.#limits.connections + this.#limits.queue) {
      call?.end('overloaded');
      const message = `limit of requests to ${this.url} exceeded: ${outstanding} are running or waiting`;
      throw new EndpointError('overloaded', message, { reached: false });
    }
    this.#entering++;
    try {
      return await this.#credential.header();
    } catch (error) {
      this.#entering--;
      call?.end(outcomeOfError(error));
      throw error;
    }
  }

  #noteStatus(status: number): void {
    // Older versions respond with 403 to an invalid credential.
    if (status === 401 || status === 403) this.#credential.refused();
  }

  /** The request failed here and is sent to another endpoint. */
  retried({ trail }: EngineRequest): void {
    this.upstream?.retried(trail);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** The method, and the beginning of the path, which has no name of a table: there are few of them. */
function spanName({ method, path }: EngineRequest): string {
  return `${method} ${/^\/[A-Za-z]*/.exec(path)?.[0] ?? '/'}`;
}

/** @param traceHeaders replace those of the client */
function dispatchOptions(
  request: EngineRequest,
  authorization: string | undefined,
  traceHeaders: Readonly<Record<string, string>> | undefined,
): Dispatcher.DispatchOptions {
  const { body, bodyTimeoutMs, headerList } = request;
  const headers = traceHeaders === undefined ? (request.headers ?? {}) : { ...request.headers, ...traceHeaders };
  return {
    method: request.method,
    path: request.path,
    headers: headerList
      ? withCredential(headerList, authorization)
      : requestHeaderList(headers, authorization, isStream(body)),
    body: body ?? null,
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeout: bodyTimeoutMs }),
  };
}
