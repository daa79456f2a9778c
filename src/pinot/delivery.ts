import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { asError } from '../platform/plain-error.ts';
import type { Clock } from '../platform/clock.ts';
import { checkHead, type CheckedHead } from './response-head.ts';
import {
  errorAfterHeaders,
  EndpointError,
  type HungEndpointError,
  isConnectionLoss,
  errorBeforeHeaders,
  outcomeOfError,
} from './failures.ts';
import type { HangWatch, WatchedEndpoint, WatchedExchange } from './hang-watch.ts';
import type { EngineLink, EnginePool, PooledExchange } from './pool.ts';
import type { Place, Refusal } from '../platform/fair-queue.ts';
import type { UpstreamCall } from '../platform/upstreams.ts';
import {
  EngineError,
  type ResponseFlow,
  type ResponseSink,
  type EngineEndpoint,
  type EngineRequest,
  type EngineResponse,
} from './types.ts';

export interface DeliveryOptions {
  readonly pool: EnginePool;
  readonly clock: Clock;
  readonly endpoint: WatchedEndpoint;
  /** See `EngineRequest.caller`. */
  readonly caller: string;
  /** Milliseconds until the response headers must arrive, including the wait for a connection. */
  readonly headersTimeoutMs: number;
  /** Whether the request may be sent again after a kept-alive connection was lost. */
  readonly repeatable: boolean;
  /** Aborts the exchange at any time. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the status as soon as it arrives. */
  readonly answered: (status: number) => void;
  /** Observes the exchange; absent for an endpoint without metrics. */
  readonly call?: UpstreamCall | undefined;
  /** Ends the exchange if the endpoint hangs and `mayLeave` allows it; default: not watched. */
  readonly watch?: { readonly hangs: HangWatch; readonly mayLeave: () => boolean } | undefined;
}

/**
 * Sends a request and passes the response to `sink` as it arrives. Settles after `sink.onHeaders`.
 * @throws {EngineError} as `EngineEndpoint.request`; the sink then got no call other than `onAsked`
 */
export function deliver(endpoint: EngineEndpoint, request: EngineRequest, sink: ResponseSink): Promise<void> {
  return endpoint.deliver ? endpoint.deliver(request, sink) : deliverRecorded(endpoint, request, sink);
}

/** Delivers for endpoints without a connection of their own, such as recorded ones. */
async function deliverRecorded(endpoint: EngineEndpoint, request: EngineRequest, sink: ResponseSink): Promise<void> {
  const given = new AbortController();
  let response: Readable | undefined;
  sink.onAsked({
    resume: () => void response?.resume(),
    abort: (reason) => {
      given.abort(reason);
      response?.destroy(reason);
    },
  });
  const signal = request.signal ? AbortSignal.any([request.signal, given.signal]) : given.signal;
  const { status, headers, body } = await endpoint.request({ ...request, signal });
  response = body;
  sink.onHeaders({ status, rawHeaders: rawHeadersOf(headers) });
  body.on('data', (chunk: Buffer) => {
    if (!sink.onData(chunk)) body.pause();
  });
  body.on('end', () => sink.onEnd());
  body.on('error', (error) => sink.onBroken(error));
}

function rawHeadersOf(headers: EngineResponse['headers']): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

/** Maximum retries: the engine may have closed several kept-alive connections at once, and each attempt can meet another of them. */
const MAX_RETRIES = 3;

type Phase = 'unsent' | 'asked' | 'answering' | 'over';

/** One exchange: passes undici's events to a sink without a stream. */
export class Delivery implements PooledExchange, ResponseFlow, WatchedExchange {
  readonly options: Dispatcher.DispatchOptions;
  readonly caller: string;
  readonly mayLeave: () => boolean;
  link: EngineLink | undefined;
  place: Place | undefined;
  isPaused = false;
  readonly #sink: ResponseSink;
  readonly #settings: DeliveryOptions;
  readonly #outcome = Promise.withResolvers<void>();
  #phase: Phase = 'unsent';
  #controller: Dispatcher.DispatchController | undefined;
  #cancelTimer: () => void = () => undefined;
  #endWatch: (() => void) | undefined;
  /** Why this side aborted the exchange. */
  #reason: Error | undefined;
  #head: CheckedHead | undefined;
  #received = 0;
  /** Whether any part of a response arrived. */
  #responseStarted = false;
  #retries = 0;

  constructor(options: Dispatcher.DispatchOptions, sink: ResponseSink, settings: DeliveryOptions) {
    this.options = options;
    this.#sink = sink;
    this.#settings = settings;
    this.caller = settings.caller;
    this.mayLeave = settings.watch?.mayLeave ?? (() => false);
  }

  get #url(): string {
    return this.#settings.endpoint.url;
  }

  /** Parts of the response that have arrived. */
  get progress(): number {
    return this.#received + (this.#head === undefined ? 0 : 1);
  }

  /** Sends the request. Settles after `sink.onHeaders`. @throws {EngineError} */
  start(): Promise<void> {
    this.#sink.onAsked(this);
    const { signal, headersTimeoutMs, clock, pool, endpoint, watch } = this.#settings;
    if (signal?.aborted === true) this.#onCallerAbort();
    // The sink may have aborted the request in `onAsked`.
    if (this.#phase === 'over') return this.#outcome.promise;
    this.#cancelTimer = clock.schedule(() => this.#onTimeout(), headersTimeoutMs);
    signal?.addEventListener('abort', this.#onCallerAbort);
    this.#endWatch = watch?.hangs.follow(endpoint, this, headersTimeoutMs);
    this.#phase = 'asked';
    pool.enter(this);
    return this.#outcome.promise;
  }

  resume(): void {
    this.isPaused = false;
    this.#controller?.resume();
  }

  onRefused(reason: Refusal): void {
    const isOfCaller = reason === 'full-of-key';
    const message = isOfCaller
      ? `too many requests of this caller wait for a connection to ${this.#url} (\`max-pool-share\`)`
      : `too many requests wait for a connection to ${this.#url}`;
    this.#settings.call?.end('overloaded');
    this.#cleanUp();
    this.#phase = 'over';
    this.#outcome.reject(new EndpointError('overloaded', message, { reached: false }));
  }

  leave(error: HungEndpointError): void {
    this.#abort(error, () => error);
  }

  abort(reason: Error): void {
    const message = abortedMessage(this.#url);
    this.#abort(reason, () => new EndpointError('aborted', message, { reached: true, cause: reason }));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason !== undefined) controller.abort(this.#reason);
  }

  onResponseStarted(): void {
    this.#responseStarted = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // 103 and other interim responses; undici itself rejects 100 and 101.
    if (status >= 100 && status < 200) return;
    try {
      this.#head = checkHead(this.options.method, status, (controller.rawHeaders ?? []) as (Buffer | string)[]);
    } catch (error) {
      controller.abort(asError(error));
      return;
    }
    this.#cancelTimer();
    if (this.link) this.link.answered = true;
    this.#phase = 'answering';
    this.#settings.answered(status);
    this.#settings.call?.answered(status);
    this.#sink.onHeaders(this.#head);
    this.#outcome.resolve();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici reports an empty chunk after a pause at the end of a read. The sink must not pause again for it.
    if (chunk.length === 0) return;
    this.#received += chunk.length;
    // No backpressure is needed after the last byte, and a paused parser would not detect the end of the response.
    if (this.#sink.onData(chunk) || this.#received === this.#head?.length) return;
    this.isPaused = true;
    controller.pause();
  }

  onResponseEnd(): void {
    const fault = this.#errorOfEnd();
    if (fault !== undefined) return this.onResponseError(undefined, fault);
    this.#settings.call?.end();
    this.#finish();
    this.#sink.onEnd();
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#phase === 'over') return this.place?.release();
    if (this.#mayRetry(error)) {
      this.#retries++;
      this.#settings.call?.resent();
      // Retry in the next turn of the event loop: by then undici knows all connections that the engine closed.
      setImmediate(() => this.#retry(error));
      return;
    }
    this.#fail(error);
  }

  /** undici treats a connection reset as the regular end of a body without framing. */
  #errorOfEnd(): EngineError | undefined {
    const { length, untilClose } = this.#head ?? {};
    if (untilClose === true && this.link?.failed === true) {
      return new EngineError('bad-response', 'connection reset before the end of the response');
    }
    if (length === undefined || length === this.#received) return undefined;
    return new EngineError('bad-response', `the response has ${this.#received} bytes instead of ${length}`);
  }

  #mayRetry(error: Error): boolean {
    if (this.#responseStarted || this.link?.answered !== true || !this.#settings.repeatable) return false;
    return isConnectionLoss(error) && this.#retries < MAX_RETRIES;
  }

  #retry(error: Error): void {
    // Aborted in the meantime: only the place in the pool must be freed.
    if (this.#phase === 'over') this.place?.release();
    else if (this.#reason === undefined) this.#settings.pool.dispatch(this);
    else this.#fail(error);
  }

  /** The connection or the engine ended the exchange. */
  #fail(error: Error): void {
    const started = this.#phase === 'answering';
    const mapped = started ? errorAfterHeaders(error, this.#url) : errorBeforeHeaders(error, this.#url);
    // After the headers, an `EngineError` is that of a response that ended early.
    const isLost = isConnectionLoss(error) || (started && error instanceof EngineError);
    this.#settings.call?.end(isLost ? 'reset' : outcomeOfError(mapped));
    this.#finish();
    if (started) this.#sink.onBroken(mapped);
    else this.#outcome.reject(mapped);
  }

  /** Aborts the exchange in any phase. @param why creates the error for the caller if no response arrived */
  #abort(reason: Error, why: () => EngineError): void {
    if (this.#phase === 'over') return;
    const phase = this.#phase;
    this.#reason = reason;
    this.#cleanUp();
    this.#phase = 'over';
    this.#settings.call?.end(reason instanceof EngineError ? outcomeOfError(reason) : 'aborted');
    // undici may still have the request in its own queue while it connects, so the place in the pool is freed later.
    if (this.place?.state === 'waiting') this.place.release();
    else this.#controller?.abort(reason);
    if (phase === 'answering') this.#sink.onBroken(reason);
    else this.#outcome.reject(why());
  }

  #finish(): void {
    this.#cleanUp();
    this.#phase = 'over';
    this.place?.release();
  }

  #cleanUp(): void {
    this.#cancelTimer();
    this.#endWatch?.();
    this.#settings.signal?.removeEventListener('abort', this.#onCallerAbort);
  }

  #onTimeout(): void {
    const { headersTimeoutMs } = this.#settings;
    const error = new EndpointError('timeout', `no response from ${this.#url} within ${headersTimeoutMs} ms`, {
      reached: true,
    });
    this.#abort(error, () => error);
  }

  readonly #onCallerAbort = (): void => {
    const { signal } = this.#settings;
    const error = new EndpointError('aborted', abortedMessage(this.#url), { reached: true, cause: signal?.reason });
    this.#abort(error, () => error);
  };
}

function abortedMessage(url: string): string {
  return `request to ${url} aborted`;
}
