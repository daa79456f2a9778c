import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { systemClock, type Clock } from '../platform/clock.ts';
import type { Upstream, UpstreamCall, UpstreamState } from '../platform/upstreams.ts';
import { ResponseBody, responseOf } from './response-body.ts';
import type { EngineCredential } from './credential.ts';
import { Delivery } from './delivery.ts';
import { EndpointError, outcomeOfError } from './failures.ts';
import { requestHeaderList, withCredential } from './headers.ts';
import type { HangWatch } from './hang-watch.ts';
import { EnginePool } from './pool.ts';
import type { ResponseSink, EngineEndpoint, EngineRequest, EngineResponse } from './types.ts';

export interface EndpointLimits {
  /** Maximum open connections to one base URL. */
  readonly connections: number;
  /** Maximum requests waiting for a connection; further requests fail with `overloaded`. */
  readonly queue: number;
  /** The part of the connections, and of the waiting requests, that one caller may use: more than 0, at most 1. */
  readonly share: number;
  readonly connectTimeoutMs: number;
  /** Time until the response headers arrive, including the wait for a connection. */
  readonly headersTimeoutMs: number;
  /** Maximum idle time within the response body. */
  readonly bodyTimeoutMs: number;
}

export const DEFAULT_ENDPOINT_LIMITS: EndpointLimits = {
  connections: 64,
  queue: 512,
  share: 0.5,
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

/** The key of the gateway's own requests in pools: of routing, health checks and cancellations. Not the SRN of a caller. */
const OWN = '';

export interface EndpointOptions {
  /** PEM certificates of trusted CAs; default: those of the system. */
  readonly ca?: string | undefined;
  /** Certificate of this process, where the server requires one, PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  /** Whether the proxies of the environment apply; default: false. */
  readonly proxied?: boolean;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Watches requests with `mayLeave`; by default none is watched. */
  readonly hangs?: HangWatch | undefined;
}

/** One base URL behind a bounded pool of connections. */
export class PooledEndpoint implements EngineEndpoint {
  readonly url: string;
  /** Observes the requests; undefined for an address without metrics. */
  upstream: Upstream | undefined;
  /** Monotonic time of the last response. */
  respondedAt = -Infinity;
  readonly #pool: EnginePool;
  readonly #credential: EngineCredential;
  readonly #limits: EndpointLimits;
  readonly #clock: Clock;
  readonly #hangs: HangWatch | undefined;
  /** Requests that wait for the credential before they enter the pool. */
  #entering = 0;

  constructor(url: string, credential: EngineCredential, limits: EndpointLimits, options: EndpointOptions = {}) {
    this.url = url;
    this.#clock = options.clock ?? systemClock;
    this.#credential = credential;
    this.#limits = limits;
    this.#hangs = options.hangs;
    this.#pool = new EnginePool(
      url,
      { ...limits, ca: options.ca, client: options.client, proxied: options.proxied },
      this.#clock,
    );
  }

  /** Requests in progress, including those waiting for a connection. */
  get outstanding(): number {
    return this.#entering + this.#pool.used + this.#pool.waiting;
  }

  get load(): Pick<UpstreamState, 'used' | 'waiting'> {
    return { used: this.#pool.used, waiting: this.#pool.waiting };
  }

  /** @param mayLeave as for `deliver` */
  async request(request: EngineRequest, mayLeave?: () => boolean): Promise<EngineResponse> {
    const body = new ResponseBody();
    await this.deliver(request, body, mayLeave);
    return responseOf(body, this.url);
  }

  /** @param mayLeave whether the request may end with a `HungEndpointError`; asked when the endpoint hangs. Default: it waits for its time-outs */
  deliver(request: EngineRequest, sink: ResponseSink, mayLeave?: () => boolean): Promise<void> {
    // undici accepts an absolute URL here and would send it to that server.
    if (!request.path.startsWith('/')) {
      const message = `the path of the request to ${this.url} is invalid`;
      return Promise.reject(new EndpointError('bad-response', message, { reached: false }));
    }
    const call = this.upstream?.begin(() => spanName(request), request.method, request.trail);
    const send = (authorization: string | undefined): Promise<void> => {
      const options = dispatchOptions(request, authorization, call?.headers);
      const { headersTimeoutMs = this.#limits.headersTimeoutMs, signal, caller = OWN } = request;
      const hangs = this.#hangs;
      return new Delivery(options, sink, {
        pool: this.#pool,
        clock: this.#clock,
        endpoint: this,
        caller,
        headersTimeoutMs,
        repeatable: isRepeatable(request),
        signal,
        answered: (status) => this.#noteStatus(status),
        call,
        watch: hangs && mayLeave && { hangs, mayLeave },
      }).start();
    };
    const authorization = this.#credential.header();
    return authorization instanceof Promise ? this.#known(authorization, call).then(send) : send(authorization);
  }

  /** @throws {EngineError} an error of the credential */
  async #known(
    authorization: Promise<string | undefined>,
    call: UpstreamCall | undefined,
  ): Promise<string | undefined> {
    this.#entering++;
    try {
      return await authorization;
    } catch (error) {
      call?.end(outcomeOfError(error));
      throw error;
    } finally {
      this.#entering--;
    }
  }

  #noteStatus(status: number): void {
    this.respondedAt = this.#clock.monotonic();
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
      ? withCredential([...headerList, ...Object.entries(traceHeaders ?? {}).flat()], authorization)
      : requestHeaderList(headers, authorization, isStream(body)),
    body: body ?? null,
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeout: bodyTimeoutMs }),
  };
}
