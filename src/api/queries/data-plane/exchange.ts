import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../../../access/principal.ts';
import type { Clock } from '../../../platform/clock.ts';
import { type AccessLog, cutResponse, sentStatus } from '../../server/logs/access-log.ts';
import type { ResponseTarget } from '../../engine/response-writer.ts';
import { errorResponse, knownError } from '../../server/app-errors.ts';
import { clientAddress, clientProtocol, type Trust } from '../../server/request/client-address.ts';
import type { RequestContext } from '../../server/context.ts';
import { requestIdOf } from '../../server/request/request-id.ts';
import { RequestLog } from '../../server/logs/request-log.ts';
import { beginTrail } from '../../server/logs/request-trail.ts';
import type { Trail } from '../../../platform/trail.ts';
import type { Tracing } from '../../../platform/tracing.ts';

/** Dependencies that all exchanges share. */
export interface ExchangeDependencies {
  readonly server: RequestContext['server'];
  readonly logger: Logger;
  /** Common response headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same as alternating names and values. */
  readonly headerList: readonly string[];
  readonly record: AccessLog;
  readonly trust: Trust | undefined;
  readonly clock: Clock;
  /** Undefined where traces are off. */
  readonly tracing?: Tracing | undefined;
}

/** A request that is served without fastify, and its response. */
export class Exchange implements RequestContext, ResponseTarget {
  readonly id: string;
  readonly clientAddress: string;
  readonly request: IncomingMessage;
  readonly raw: ServerResponse;
  readonly log: RequestContext['log'];
  readonly routeOptions: { readonly url: string };
  readonly trail: Trail;
  principal = null as unknown as Principal;
  queryTimeoutMs: number | undefined;
  maxRows: number | undefined;
  readonly #parts: ExchangeDependencies;
  readonly #closers: (() => void)[] = [];
  #queryClosers: (() => void)[] | undefined = [];
  #closed = false;
  #abortController: AbortController | undefined;

  /** @param route route pattern, for logs and metrics */
  constructor(request: IncomingMessage, response: ServerResponse, route: string, parts: ExchangeDependencies) {
    this.request = request;
    this.raw = response;
    this.routeOptions = { url: route };
    this.#parts = parts;
    this.id = requestIdOf(request.headers);
    this.clientAddress = clientAddress(request, parts.trust);
    this.log = new RequestLog(parts.logger, { reqId: this.id }, {});
    const startedAt = parts.clock.monotonic();
    const trail = beginTrail(parts.tracing, request, this.id);
    this.trail = trail.trail;
    response.once('close', () => {
      const { id, method, url, clientAddress } = this;
      const principal = (this.principal as Principal | null)?.srn;
      const agent = request.headers['user-agent'];
      parts.record({ id, method, url, route, principal, clientAddress, startedAt, agent, trail }, response);
      this.#closed = true;
      for (const call of this.#closers) call();
      this.#endQuery();
    });
  }

  get protocol(): 'http' | 'https' {
    return clientProtocol(this.request, this.#parts.trust);
  }

  /** Whether the response is closed, complete or not. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Calls back when the response closes, complete or not; immediately where it is closed already. */
  onClose(call: () => void): void {
    if (this.#closed) call();
    else this.#closers.push(call);
  }

  /** Calls back when the query of this request has ended: with the response, unless `detachQuery` was called. */
  onQueryEnded(call: () => void): void {
    if (this.#closed || this.#queryClosers === undefined) call();
    else this.#queryClosers.push(call);
  }

  /**
   * The query continues after the response.
   * @returns ends it; must be called once
   */
  detachQuery(): () => void {
    const calls = this.#queryClosers ?? [];
    this.#queryClosers = undefined;
    return () => {
      for (const call of calls) call();
    };
  }

  #endQuery(): void {
    for (const call of this.#queryClosers ?? []) call();
    this.#queryClosers = undefined;
  }

  onAnswered(call: (status: number | undefined) => void): boolean {
    if (this.#closed) return false;
    this.onClose(() => call(sentStatus(this.raw)));
    return true;
  }

  /** Aborts when the client disconnects before the response is complete. */
  get signal(): AbortSignal {
    if (this.#abortController === undefined) {
      const controller = new AbortController();
      this.#abortController = controller;
      this.onClose(() => {
        if (!this.raw.writableEnded) controller.abort();
      });
    }
    return this.#abortController.signal;
  }

  get method(): string {
    return this.request.method ?? '';
  }

  get url(): string {
    return this.request.url ?? '';
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  /** Epoch milliseconds. */
  now(): number {
    return this.#parts.clock.now();
  }

  /** Milliseconds of the monotonic clock. */
  monotonic(): number {
    return this.#parts.clock.monotonic();
  }

  get server(): RequestContext['server'] {
    return this.#parts.server;
  }

  /** The gateway's own response headers. */
  get ownHeaders(): Readonly<Record<string, string>> {
    return { ...this.#parts.headers, 'x-request-id': this.id };
  }

  beginResponse(): readonly string[] {
    return [...this.#parts.headerList, 'x-request-id', this.id];
  }

  /** Sends an error response. Closes the connection where the response head was sent already. */
  fail(error: unknown): void {
    const { raw } = this;
    const known = knownError(error);
    if (raw.destroyed || raw.writableEnded) return;
    if (known.statusCode >= 500) this.log.error({ err: known.cause ?? known }, 'the request failed');
    if (raw.headersSent) return cutResponse(raw, known.statusCode);
    const { status, headers, body } = errorResponse(known, this.url, this.#parts.clock.now());
    raw.writeHead(status, { ...this.ownHeaders, ...headers, 'content-length': Buffer.byteLength(body) });
    raw.end(body);
  }
}
