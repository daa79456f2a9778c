import { Readable } from 'node:stream';
import { withErrorListener } from '../platform/stream-errors.ts';
import { headersByName } from './response-body.ts';
import type {
  ResponseFlow,
  ResponseHead,
  ResponsePieces,
  ResponseSink,
  EngineEndpoint,
  EngineRequest,
  EngineResponse,
} from './types.ts';

/** Maximum buffered bytes before backpressure is applied to the engine. */
const MAX_WAITING_BYTES = 256 * 1024;

/**
 * Like `endpoint.request`, for a large response that is read once, without a stream. The response has no `url`.
 * @throws {EngineError} as `EngineEndpoint.request`
 */
export async function requestPieces(endpoint: EngineEndpoint, request: EngineRequest): Promise<EngineResponse> {
  if (endpoint.deliver === undefined) return endpoint.request(request);
  const pieces = new SinkPieces();
  await endpoint.deliver(request, pieces);
  const { status, rawHeaders } = pieces.head as ResponseHead;
  const body = withErrorListener(Readable.from(pieces, { objectMode: false }));
  // If the body is destroyed before it is read, it never starts to iterate the pieces.
  body.once('close', () => pieces.destroy());
  return { status, headers: headersByName(rawHeaders), body, pieces };
}

class SinkPieces implements ResponseSink, ResponsePieces {
  head: ResponseHead | undefined;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #flow: ResponseFlow | undefined;
  #ended = false;
  #failure: Error | undefined;
  #held = false;
  #wake: (() => void) | undefined;

  onAsked(flow: ResponseFlow): void {
    this.#flow = flow;
  }

  onHeaders(head: ResponseHead): void {
    this.head = head;
  }

  onData(chunk: Buffer): boolean {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#held = this.#waitingBytes > MAX_WAITING_BYTES;
    this.#wake?.();
    return !this.#held;
  }

  onEnd(): void {
    this.#ended = true;
    this.#wake?.();
  }

  onBroken(error: Error): void {
    this.#failure ??= error;
    this.onEnd();
  }

  destroy(): void {
    if (!this.#ended) this.#flow?.abort(new Error('the rest of the response is discarded'));
    this.#ended = true;
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer, void, undefined> {
    try {
      for (;;) {
        const piece = this.#waiting.shift();
        if (piece !== undefined) {
          this.#waitingBytes -= piece.length;
          yield piece;
          this.#release();
        } else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.destroy();
    }
  }

  #release(): void {
    if (!this.#held || this.#waitingBytes > MAX_WAITING_BYTES) return;
    this.#held = false;
    this.#flow?.resume();
  }
}
