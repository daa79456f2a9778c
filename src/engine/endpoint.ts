import type { Readable } from 'node:stream';
import { type Dispatcher, errors, Pool } from 'undici';
import type { EngineCredential } from './credential.ts';
import { Delivery, deliverStream } from './delivery.ts';
import { requestHeaderList, requestHeaders } from './headers.ts';
import { EngineError, type AnswerSink, type EngineEndpoint, type EngineRequest, type EngineResponse } from './types.ts';
import { WirePool } from './wire/pool.ts';
import { WireError } from './wire/response-head.ts';

export interface EndpointLimits {
  /** Open connections to one base URL. */
  readonly connections: number;
  /** Requests that may wait for a connection; one more is refused as `overloaded`. */
  readonly queue: number;
  readonly connectTimeoutMs: number;
  /** Until the headers of an answer, the wait for a connection included. */
  readonly headersTimeoutMs: number;
  /** Of silence within the body. */
  readonly bodyTimeoutMs: number;
}

export const DEFAULT_ENDPOINT_LIMITS: EndpointLimits = {
  connections: 64,
  queue: 512,
  connectTimeoutMs: 3_000,
  // Longer than the engine's own time-out of a query (10 s by default), since it may be raised per query.
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

/** An EngineError that also says whether the request can have reached the engine at all. */
export class EndpointError extends EngineError {
  readonly reached: boolean;
  constructor(code: EngineError['code'], message: string, options: { cause?: unknown; reached: boolean }) {
    super(code, message, options);
    this.reached = options.reached;
  }
}

/** One base URL behind a bounded pool of connections. */
export class PooledEndpoint implements EngineEndpoint {
  readonly url: string;
  readonly #pool: Pool;
  /** For what is only passed on. */
  readonly #wire: WirePool;
  readonly #credential: EngineCredential;
  readonly #limits: EndpointLimits;
  #outstanding = 0;

  /** @param connect what TLS needs beyond Node's defaults, such as `ca` */
  constructor(url: string, credential: EngineCredential, limits: EndpointLimits, connect: { ca?: string } = {}) {
    this.url = url;
    this.#credential = credential;
    this.#limits = limits;
    this.#pool = new Pool(url, {
      connections: limits.connections,
      // The engine is HTTP/1.1; one request a connection at a time, so that a slow query holds up no other.
      pipelining: 1,
      allowH2: false,
      // Both are timed here instead, where the wait for a connection counts too.
      headersTimeout: 0,
      bodyTimeout: limits.bodyTimeoutMs,
      connect: { ...connect, timeout: limits.connectTimeoutMs },
    });
    this.#wire = new WirePool(url, {
      connections: limits.connections,
      connectTimeoutMs: limits.connectTimeoutMs,
      ca: connect.ca,
    });
  }

  /** Requests whose answers have not been read to the end, those waiting for a connection included. */
  get outstanding(): number {
    return this.#outstanding;
  }

  async request(request: EngineRequest): Promise<EngineResponse> {
    this.#enter();
    try {
      return await this.#send(request, () => this.#outstanding--);
    } catch (error) {
      this.#outstanding--;
      throw error;
    }
  }

  async deliver(request: EngineRequest, sink: AnswerSink): Promise<void> {
    const { body } = request;
    if (isStream(body)) return deliverStream((asked) => this.request(asked), request, sink);
    this.#enter();
    let authorization: string | undefined;
    try {
      // Awaiting what is there already would cost a turn of each request.
      const header = this.#credential.header();
      authorization = typeof header === 'object' ? await header : header;
    } catch (error) {
      this.#outstanding--;
      throw error;
    }
    const { headersTimeoutMs = this.#limits.headersTimeoutMs, bodyTimeoutMs = this.#limits.bodyTimeoutMs } = request;
    const wireRequest = {
      method: request.method,
      path: request.path,
      headers: requestHeaderList(request.headerList ?? request.headers ?? {}, authorization),
      body: typeof body === 'string' ? Buffer.from(body) : body,
      repeatable: isRepeatable(request),
      deadline: performance.now() + headersTimeoutMs,
      bodyTimeoutMs,
    };
    return new Delivery(wireRequest, sink, {
      pool: this.#wire,
      headersTimeoutMs,
      ended: () => this.#outstanding--,
      answered: (status) => this.#noteStatus(status),
      failure: (error, state) => toEngineError(error, this.url, state, headersTimeoutMs),
    }).start();
  }

  /** Counts a request in. @throws {EngineError} overloaded */
  #enter(): void {
    if (this.#outstanding >= this.#limits.connections + this.#limits.queue) {
      const message = `${this.url} has ${this.#outstanding} requests under way or waiting, which is as many as are allowed`;
      throw new EndpointError('overloaded', message, { reached: false });
    }
    this.#outstanding++;
  }

  #options(request: EngineRequest, authorization: string | undefined): Dispatcher.DispatchOptions {
    const { body, bodyTimeoutMs } = request;
    return {
      method: request.method,
      path: request.path,
      headers: requestHeaders(request.headers ?? {}, authorization, isStream(body)),
      body: body ?? null,
      ...(bodyTimeoutMs === undefined ? {} : { bodyTimeout: bodyTimeoutMs }),
    };
  }

  #noteStatus(status: number): void {
    // Older versions say 403 to a wrong credential.
    if (status === 401 || status === 403) this.#credential.refused();
  }

  async #send(request: EngineRequest, ended: () => void): Promise<EngineResponse> {
    const authorization = await this.#credential.header();
    const { headersTimeoutMs = this.#limits.headersTimeoutMs } = request;
    const deadline = new Deadline(request.signal, headersTimeoutMs);
    let answer: Dispatcher.ResponseData;
    try {
      answer = await this.#pool.request({ ...this.#options(request, authorization), signal: deadline.signal });
    } catch (error) {
      deadline.end();
      throw toEngineError(error, this.url, deadline, headersTimeoutMs);
    }
    deadline.headersArrived();
    this.#noteStatus(answer.statusCode);
    // undici reports a body that is destroyed before its end as an error. Whoever reads it learns of it by its own means; without any
    // listener it would end the process.
    answer.body.on('error', () => undefined);
    answer.body.once('close', () => {
      deadline.end();
      ended();
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body, url: this.url };
  }

  close(): Promise<void> {
    this.#wire.close();
    return this.#pool.destroy();
  }
}

/** The caller's signal and the time until the headers, as one signal for undici, freed when the exchange ends. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  timedOut = false;

  constructor(outer: AbortSignal | undefined, headersTimeoutMs: number) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, headersTimeoutMs);
    if (outer?.aborted) this.#controller.abort();
    else outer?.addEventListener('abort', this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#outer?.aborted ?? false;
  }

  readonly #abort = (): void => this.#controller.abort();

  headersArrived(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#abort);
  }
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function toEngineError(
  error: unknown,
  url: string,
  deadline: { readonly timedOut: boolean; readonly aborted: boolean },
  headersTimeoutMs: number,
): EngineError {
  if (error instanceof EngineError) return error;
  if (deadline.timedOut) {
    const message = `${url} did not answer within ${headersTimeoutMs} ms`;
    return new EndpointError('timeout', message, { reached: true, cause: error });
  }
  if (deadline.aborted) {
    return new EndpointError('aborted', `the request to ${url} was given up`, { reached: true, cause: error });
  }
  const code = codeOf(error);
  const noHttp =
    error instanceof WireError ||
    error instanceof errors.HTTPParserError ||
    error instanceof errors.ResponseContentLengthMismatchError;
  if (noHttp) {
    return new EndpointError('bad-answer', `${url} answered something that is no HTTP`, {
      reached: true,
      cause: error,
    });
  }
  const reached = !NEVER_CONNECTED.has(code);
  const what = reached ? 'the connection broke before an answer came' : 'no connection could be made';
  return new EndpointError('unreachable', `${url} is not reachable: ${what} (${code})`, { reached, cause: error });
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown';
}
