import { errors } from 'undici';
import type { PooledEndpoint } from './endpoint.ts';
import { EndpointError, type EndpointErrorOptions } from './failures.ts';
import { isRejection, isServerError, isStoppingResponse, isUsableHead } from './stopping-broker.ts';
import { EngineError, type ResponseFlow, type ResponseHead, type ResponseSink, type EngineRequest } from './types.ts';

/**
 * Maximum bytes of a response that are held back so that another broker can still be tried. The check of `tablesQueried` holds back as many bytes in any case.
 */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * One of several attempts at a query. Holds the beginning of the response back until the response is complete or long enough; until then the query can be
 * sent to another broker, because the sink has received nothing.
 */
export class BrokerAttempt implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly url: string;
  readonly #outcome = Promise.withResolvers<void>();
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #head: ResponseHead | undefined;
  #released = false;
  readonly #isRepeatable: boolean;
  readonly #onLost: () => void;
  /** Whether the held response is complete, and should be replaced by that of another broker. */
  #complete = false;
  #abortReason: Error | undefined;
  /** How the broker rejected the gateway's credential; undefined if it did not. */
  rejection: string | undefined;

  /**
   * @param options `url` of the endpoint, for error messages. `isRepeatable`: otherwise only an attempt that was not executed is replaced.
   * `onLost` is called if the connection is lost after the sink got a part of the response
   */
  constructor(
    sink: ResponseSink,
    options: { readonly url: string; readonly isRepeatable: boolean; readonly onLost: () => void },
  ) {
    this.#sink = sink;
    this.url = options.url;
    this.#isRepeatable = options.isRepeatable;
    this.#onLost = options.onLost;
  }

  /**
   * Sends the query. Resolves when the sink gets the response.
   * @throws {EngineError} where the sink got nothing; unreachable if another broker should be tried
   */
  ask(endpoint: Pick<PooledEndpoint, 'deliver'>, request: EngineRequest, mayLeave?: () => boolean): Promise<void> {
    endpoint.deliver(request, this, mayLeave).catch((error: unknown) => this.#outcome.reject(error));
    return this.#outcome.promise;
  }

  onAsked(flow: ResponseFlow): void {
    this.#sink.onAsked({
      resume: () => flow.resume(),
      abort: (reason) => {
        this.#abortReason = reason;
        flow.abort(reason);
      },
    });
  }

  onHeaders(head: ResponseHead): void {
    this.#head = head;
  }

  onData(chunk: Buffer): boolean {
    if (this.#released) return this.#sink.onData(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < MAX_HELD_BYTES || this.#release();
  }

  onEnd(): void {
    const head = this.#head as ResponseHead;
    if (this.#released || isUsableHead(head)) return this.#end();
    // Pinot rejects a request before it executes it.
    if (isRejection(head)) {
      this.rejection = `the broker ${this.url} rejects the credential of the gateway with status ${head.status}`;
      return this.#replace(this.rejection, { reached: false, answered: true, rejected: true });
    }
    if (!this.#isRepeatable) return this.#end();
    if (isStoppingResponse(head, this.#held))
      return this.#replace(`the broker ${this.url} is stopping`, { reached: true });
    if (isServerError(head)) {
      return this.#replace(`the broker ${this.url} responded with status ${head.status}`, {
        reached: true,
        answered: true,
      });
    }
    this.#end();
  }

  /** Rejects the attempt so that another broker is tried. */
  #replace(message: string, known: EndpointErrorOptions): void {
    this.#complete = true;
    this.#outcome.reject(new EndpointError('unreachable', message, known));
  }

  /** Passes the held response that should be replaced to the sink. Call it if there is no other broker to try. @returns whether there is one */
  releaseAnyway(): boolean {
    if (!this.#complete) return false;
    this.#end();
    return true;
  }

  onBroken(error: Error): void {
    if (this.#released) return this.#breakSink(error);
    if (this.#abortReason === undefined) return this.#fail(this.#isRepeatable ? asUnreachable(error) : error);
    const message = `the request to ${this.url} was aborted`;
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
    this.#sink.onHeaders(this.#head as ResponseHead);
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
  if (!(error instanceof EngineError) || error.code !== 'bad-response') return error;
  if (error.cause instanceof errors.HTTPParserError) return error;
  return new EndpointError('unreachable', error.message, { reached: true, cause: error });
}
