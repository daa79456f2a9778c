import { errors } from 'undici';
import { EndpointError } from './failures.ts';
import { isServerError, isStoppingAnswer, isUsableHead } from './stopping-broker.ts';
import {
  EngineError,
  type AnswerFlow,
  type AnswerHead,
  type AnswerSink,
  type EngineEndpoint,
  type EngineRequest,
} from './types.ts';

/**
 * Maximum bytes of a response that are held back so that another broker can still be tried. The check of `tablesQueried` holds back as many bytes in any case.
 */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * One of several attempts at a query. Holds the beginning of the response back until the response is complete or long enough; until then the query can be
 * sent to another broker, because the sink has received nothing.
 */
export class Attempt implements AnswerSink {
  readonly #sink: AnswerSink;
  readonly #url: string;
  readonly #outcome = Promise.withResolvers<void>();
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #head: AnswerHead | undefined;
  #released = false;
  readonly #onLost: () => void;
  /** Whether the held response is complete, and should be replaced by that of another broker. */
  #complete = false;
  #abortReason: Error | undefined;

  /**
   * @param url of the endpoint, for error messages
   * @param onLost called if the connection is lost after the sink got a part of the response
   */
  constructor(sink: AnswerSink, url: string, onLost: () => void) {
    this.#sink = sink;
    this.#url = url;
    this.#onLost = onLost;
    // Avoids an unhandled rejection where the exchange fails before this is awaited.
    this.#outcome.promise.catch(() => undefined);
  }

  /**
   * Sends the query. Resolves when the sink gets the response.
   * @throws {EngineError} where the sink got nothing; unreachable if another broker should be tried
   */
  async ask(endpoint: Required<Pick<EngineEndpoint, 'deliver'>>, request: EngineRequest): Promise<void> {
    await endpoint.deliver(request, this);
    await this.#outcome.promise;
  }

  onAsked(flow: AnswerFlow): void {
    this.#sink.onAsked({
      resume: () => flow.resume(),
      abort: (reason) => {
        this.#abortReason = reason;
        flow.abort(reason);
      },
    });
  }

  onHeaders(head: AnswerHead): void {
    this.#head = head;
  }

  onData(chunk: Buffer): boolean {
    if (this.#released) return this.#sink.onData(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < MAX_HELD_BYTES || this.#release();
  }

  onEnd(): void {
    const head = this.#head as AnswerHead;
    if (this.#released || isUsableHead(head)) return this.#end();
    if (isStoppingAnswer(head, this.#held)) return this.#replace('is stopping', false);
    if (isServerError(head)) return this.#replace(`responded with status ${head.status}`, true);
    this.#end();
  }

  /** Rejects the attempt so that another broker is tried. @param answered whether this broker need not be avoided afterwards */
  #replace(why: string, answered: boolean): void {
    this.#complete = true;
    const message = `the broker ${this.#url} ${why}`;
    this.#outcome.reject(new EndpointError('unreachable', message, { reached: true, answered }));
  }

  /** Passes the held response that should be replaced to the sink. Call it if there is no other broker to try. @returns whether there is one */
  releaseAnyway(): boolean {
    if (!this.#complete) return false;
    this.#end();
    return true;
  }

  onBroken(error: Error): void {
    if (this.#released) return this.#breakSink(error);
    if (this.#abortReason === undefined) return this.#fail(asUnreachable(error));
    const message = `the request to ${this.#url} was aborted`;
    this.#fail(new EndpointError('aborted', message, { reached: true, cause: this.#abortReason }));
  }

  #breakSink(error: Error): void {
    const mapped = this.#abortReason === undefined ? asUnreachable(error) : error;
    if (mapped instanceof EngineError && mapped.code === 'unreachable') this.#onLost();
    this.#sink.onBroken(mapped);
  }

  #end(): void {
    this.#release();
    // The sink can reject the response while it receives the held part. The exchange has ended by then and reports nothing further.
    if (this.#abortReason === undefined) this.#sink.onEnd();
    else this.#sink.onBroken(this.#abortReason);
  }

  #fail(error: Error): void {
    this.#held.length = 0;
    this.#outcome.reject(error);
  }

  /** @returns as `onData` */
  #release(): boolean {
    if (this.#released) return true;
    this.#released = true;
    this.#sink.onHeaders(this.#head as AnswerHead);
    let goOn = true;
    for (const chunk of this.#held.splice(0)) {
      if (this.#abortReason !== undefined) break;
      goOn = this.#sink.onData(chunk);
    }
    this.#outcome.resolve();
    return goOn;
  }
}

/** A connection that was lost within the response counts like one that was lost before it. */
function asUnreachable(error: Error): Error {
  if (!(error instanceof EngineError) || error.code !== 'bad-answer') return error;
  if (error.cause instanceof errors.HTTPParserError) return error;
  return new EndpointError('unreachable', error.message, { reached: true, cause: error });
}
