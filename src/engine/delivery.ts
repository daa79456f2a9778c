import type { Dispatcher } from 'undici';
import type { AnswerSink, EngineEndpoint, EngineRequest } from './types.ts';

export interface DeliveryOptions {
  /** Milliseconds until the headers must be there, the wait for a connection included. */
  readonly headersTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Told once when the exchange is over, however it ends. */
  readonly ended: () => void;
  /** Told of the status as soon as it is known. */
  readonly answered: (status: number) => void;
  /** Why no answer came, in the words of the endpoint. */
  readonly failure: (error: unknown, delivery: Delivery) => Error;
}

/**
 * Asks an endpoint and tells `sink` of the answer as it comes, by the shortest way that the endpoint has. Settles once the sink was told of the headers.
 * @throws {EngineError} as `EngineEndpoint.request`; the sink was told of nothing then
 */
export async function deliver(endpoint: EngineEndpoint, request: EngineRequest, sink: AnswerSink): Promise<void> {
  if (endpoint.deliver) return endpoint.deliver(request, sink);
  const { status, headers, body } = await endpoint.request(request);
  sink.onHeaders(status, headers, {
    resume: () => void body.resume(),
    abort: (reason) => void body.destroy(reason),
  });
  body.on('data', (chunk: Buffer) => {
    if (!sink.onData(chunk)) body.pause();
  });
  body.on('end', () => sink.onEnd());
  body.on('error', (error) => sink.onBroken(error));
}

/** One exchange that goes straight from undici's parser to a sink: no stream, and no promise for each piece. */
export class Delivery implements Dispatcher.DispatchHandler {
  readonly #sink: AnswerSink;
  readonly #options: DeliveryOptions;
  readonly #outcome = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;
  #started = false;
  timedOut = false;

  constructor(sink: AnswerSink, options: DeliveryOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#giveUp(new Error('no answer in time'));
    }, options.headersTimeoutMs);
    if (options.signal?.aborted) this.#leave();
    else options.signal?.addEventListener('abort', this.#leave);
  }

  /** Settles when the sink was told of the headers, or fails where none came. */
  get outcome(): Promise<void> {
    return this.#outcome.promise;
  }

  get aborted(): boolean {
    return this.#options.signal?.aborted ?? false;
  }

  readonly #leave = (): void => this.#giveUp(new Error('the request was given up'));

  /** While it waits for a connection only the caller can be told; the request itself is dropped when its turn comes. */
  #giveUp(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    if (!this.#started) this.#outcome.reject(this.#options.failure(reason, this));
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#leave);
    this.#options.ended();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason) controller.abort(this.#reason);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#reason) return;
    clearTimeout(this.#timer);
    this.#started = true;
    this.#options.answered(status);
    this.#sink.onHeaders(status, headers, {
      resume: () => controller.resume(),
      abort: (reason) => this.#giveUp(reason),
    });
    this.#outcome.resolve();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#reason === undefined && !this.#sink.onData(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
    if (this.#reason === undefined) this.#sink.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    if (this.#started) this.#sink.onBroken(error);
    else this.#outcome.reject(this.#options.failure(error, this));
  }
}
