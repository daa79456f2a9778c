import type { Readable } from 'node:stream';
import type { AnswerFlow, AnswerSink, EngineEndpoint, EngineRequest, EngineResponse } from './types.ts';
import type { Exchange, WireFlow, WireRequest } from './wire/exchange.ts';
import type { WirePool } from './wire/pool.ts';
import type { ResponseHead } from './wire/response-head.ts';

export interface DeliveryOptions {
  readonly pool: WirePool;
  /** Milliseconds until the headers must be there, the wait for a connection included. */
  readonly headersTimeoutMs: number;
  /** Told once when the exchange is over, however it ends. */
  readonly ended: () => void;
  /** Told of the status as soon as it is known. */
  readonly answered: (status: number) => void;
  /** Why no answer came, in the words of the endpoint. */
  readonly failure: (error: unknown, delivery: Delivery) => Error;
}

/**
 * Asks an endpoint and tells `sink` of the answer as it comes, by the shortest way that the endpoint has. Settles once the sink was told of the headers.
 * @throws {EngineError} as `EngineEndpoint.request`; the sink was told of nothing but `onAsked` then
 */
export function deliver(endpoint: EngineEndpoint, request: EngineRequest, sink: AnswerSink): Promise<void> {
  if (endpoint.deliver) return endpoint.deliver(request, sink);
  return deliverStream((withSignal) => endpoint.request(withSignal), request, sink);
}

/** The same over a stream, as for bodies that are streams themselves. @throws {EngineError} as `EngineEndpoint.request` */
export async function deliverStream(
  ask: (request: EngineRequest) => Promise<EngineResponse>,
  request: EngineRequest,
  sink: AnswerSink,
): Promise<void> {
  const given = new AbortController();
  let answer: Readable | undefined;
  sink.onAsked({
    resume: () => void answer?.resume(),
    abort: (reason) => {
      given.abort(reason);
      answer?.destroy(reason);
    },
  });
  const signal = request.signal ? AbortSignal.any([request.signal, given.signal]) : given.signal;
  const { status, headers, body } = await ask({ ...request, signal });
  answer = body;
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

/** From here on a second more or less is nothing. */
const WATCHED_MS = 30_000;

/** One exchange that goes straight from the wire to a sink: no stream, and no promise for each piece. */
export class Delivery implements Exchange, AnswerFlow {
  readonly request: WireRequest;
  connection: WireFlow | undefined;
  timedOut = false;
  aborted = false;
  readonly #sink: AnswerSink;
  readonly #options: DeliveryOptions;
  readonly #outcome = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout | undefined;
  #started = false;

  constructor(request: WireRequest, sink: AnswerSink, options: DeliveryOptions) {
    this.request = request;
    this.#sink = sink;
    this.#options = options;
    // The pool watches over long times by itself: a timer for each request would cost more than all it does.
    if (options.headersTimeoutMs >= WATCHED_MS) return;
    this.#timer = setTimeout(() => {
      this.onDeadline();
      options.pool.abort(this, new Error('no answer in time'));
    }, options.headersTimeoutMs);
  }

  /** Sends the request. Settles when the sink was told of the headers, or fails where none came. */
  start(): Promise<void> {
    this.#sink.onAsked(this);
    // The caller may be gone already.
    if (this.aborted) this.onError(new Error('the request was given up'));
    else this.#options.pool.send(this);
    return this.#outcome.promise;
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.#options.pool.abort(this, reason);
  }

  resume(): void {
    this.connection?.resume();
  }

  onDeadline(): void {
    this.timedOut = true;
  }

  onHead({ status, rawHeaders }: ResponseHead): void {
    clearTimeout(this.#timer);
    this.#started = true;
    this.#options.answered(status);
    this.#sink.onHeaders({ status, rawHeaders });
    this.#outcome.resolve();
  }

  onData(piece: Buffer): boolean {
    return this.#sink.onData(piece);
  }

  onEnd(): void {
    this.#options.ended();
    this.#sink.onEnd();
  }

  onError(error: Error): void {
    clearTimeout(this.#timer);
    this.#options.ended();
    if (this.#started) this.#sink.onBroken(error);
    else this.#outcome.reject(this.#options.failure(error, this));
  }
}
