import { deliver } from '../../engine/delivery.ts';
import {
  EngineError,
  type AnswerFlow,
  type AnswerHead,
  type AnswerSink,
  type EngineEndpoint,
  type EngineRequest,
} from '../../engine/types.ts';
import { releasePiece } from '../../engine/wire/slabs.ts';

/** Takes an answer's body as it comes. */
export interface PieceConsumer<T> {
  /** @returns true where it keeps the piece, which it then gives back itself by `releasePiece` */
  push(piece: Buffer): boolean;
  end(): T;
}

/** An answer: of a status of 200 what the consumer gives in the end, of another the beginning of its text. */
export type Delivered<T> =
  | { readonly status: 200; readonly value: T }
  | { readonly status: number; readonly text: string };

/** Of an error's text. */
const MAX_TEXT_BYTES = 64 * 1024;

/**
 * Asks, and hands the answer to `consumer` straight off the wire: no stream and no memory of its own for each piece, which for answers of
 * hundreds of megabytes cost more than reading them.
 * @throws {EngineError} as `EngineEndpoint.request`; unreachable where the answer breaks off. And what the consumer throws
 */
export async function askForPieces<T>(
  endpoint: EngineEndpoint,
  request: EngineRequest & { readonly signal: AbortSignal },
  consumer: PieceConsumer<T>,
): Promise<Delivered<T>> {
  const sink = new ConsumerSink(consumer);
  const { signal } = request;
  const giveUp = (): void => sink.giveUp(new EngineError('aborted', 'the request was given up'));
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (signal.aborted) giveUp();
    await deliver(endpoint, request, sink);
    return await sink.outcome;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

class ConsumerSink<T> implements AnswerSink {
  readonly #consumer: PieceConsumer<T>;
  readonly #outcome = Promise.withResolvers<Delivered<T>>();
  #flow: AnswerFlow | undefined;
  #reason: Error | undefined;
  #status = 0;
  #text = '';

  constructor(consumer: PieceConsumer<T>) {
    this.#consumer = consumer;
    // Nobody awaits it where no answer came at all.
    this.#outcome.promise.catch(() => undefined);
  }

  get outcome(): Promise<Delivered<T>> {
    return this.#outcome.promise;
  }

  giveUp(reason: Error): void {
    this.#reason ??= reason;
    this.#flow?.abort(reason);
  }

  onAsked(flow: AnswerFlow): void {
    this.#flow = flow;
    if (this.#reason !== undefined) flow.abort(this.#reason);
  }

  onHeaders({ status }: AnswerHead): void {
    this.#status = status;
  }

  onData(piece: Buffer): boolean {
    let kept = false;
    try {
      if (this.#status === 200) kept = this.#consumer.push(piece);
      else if (this.#text.length < MAX_TEXT_BYTES) this.#text += piece.toString('utf8', 0, MAX_TEXT_BYTES);
    } catch (error) {
      this.giveUp(error as Error);
    } finally {
      if (!kept) releasePiece(piece);
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
    const broken = new EngineError('unreachable', `the answer broke off: ${error.message}`, { cause: error });
    this.#outcome.reject(this.#reason ?? broken);
  }
}
