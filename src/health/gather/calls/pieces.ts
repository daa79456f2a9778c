import { asError } from '../../../platform/plain-error.ts';
import { deliver } from '../../../pinot/delivery.ts';
import {
  EngineError,
  type ResponseFlow,
  type ResponseHead,
  type ResponseSink,
  type EngineEndpoint,
  type EngineRequest,
} from '../../../pinot/types.ts';

/** Receives the body of a response in pieces. */
export interface PieceConsumer<T> {
  push(piece: Buffer): void;
  end(): T;
}

/** Contains the result of the consumer for status 200, and the start of the body as text for any other status. */
export type DeliveredPieces<T> =
  | { readonly status: 200; readonly value: T }
  | { readonly status: number; readonly text: string };

/** Limit for the body of an error. */
const MAX_TEXT_BYTES = 64 * 1024;

/**
 * Sends a request and passes the body of the response to `consumer` as it is received, without a stream and without a buffer for each piece:
 * for responses of hundreds of megabytes these cost more than reading them.
 * @throws {EngineError} as `EngineEndpoint.request`; `unreachable` if the response ends unexpectedly
 * @throws errors of the consumer
 */
export async function askForPieces<T>(
  endpoint: EngineEndpoint,
  request: EngineRequest & { readonly signal: AbortSignal },
  consumer: PieceConsumer<T>,
): Promise<DeliveredPieces<T>> {
  const sink = new ConsumerSink(consumer);
  const { signal } = request;
  const giveUp = (): void => sink.giveUp(new EngineError('aborted', 'the request was aborted'));
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (signal.aborted) giveUp();
    await deliver(endpoint, request, sink);
    return await sink.outcome;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

class ConsumerSink<T> implements ResponseSink {
  readonly #consumer: PieceConsumer<T>;
  readonly #outcome = Promise.withResolvers<DeliveredPieces<T>>();
  #flow: ResponseFlow | undefined;
  #reason: Error | undefined;
  #status = 0;
  #text = '';

  constructor(consumer: PieceConsumer<T>) {
    this.#consumer = consumer;
    // Nothing waits for it if there was no response.
    this.#outcome.promise.catch(() => undefined);
  }

  get outcome(): Promise<DeliveredPieces<T>> {
    return this.#outcome.promise;
  }

  giveUp(reason: Error): void {
    this.#reason ??= reason;
    this.#flow?.abort(reason);
  }

  onAsked(flow: ResponseFlow): void {
    this.#flow = flow;
    if (this.#reason !== undefined) flow.abort(this.#reason);
  }

  onHeaders({ status }: ResponseHead): void {
    this.#status = status;
  }

  onData(piece: Buffer): boolean {
    try {
      if (this.#status === 200) this.#consumer.push(piece);
      else if (this.#text.length < MAX_TEXT_BYTES) this.#text += piece.toString('utf8', 0, MAX_TEXT_BYTES);
    } catch (error) {
      this.giveUp(asError(error));
    }
    return true;
  }

  onEnd(): void {
    if (this.#status !== 200) {
      this.#outcome.resolve({ status: this.#status, text: this.#text });
      return;
    }
    try {
      this.#outcome.resolve({ status: 200, value: this.#consumer.end() });
    } catch (error) {
      this.#outcome.reject(error);
    }
  }

  onBroken(error: Error): void {
    const broken = new EngineError('unreachable', `the response ended unexpectedly: ${error.message}`, {
      cause: error,
    });
    this.#outcome.reject(this.#reason ?? broken);
  }
}
