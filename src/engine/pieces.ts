import { Readable } from 'node:stream';
import type {
  AnswerFlow,
  AnswerHead,
  AnswerPieces,
  AnswerSink,
  EngineEndpoint,
  EngineRequest,
  EngineResponse,
} from './types.ts';
import { releasePiece } from './wire/slabs.ts';

/** As much waits for who reads; beyond it the engine is held back. */
const MAX_WAITING_BYTES = 256 * 1024;

/**
 * As `endpoint.request`, for a large answer that is read once: its pieces lie in memory that is used again, where streams would leave all of it to the garbage
 * collector. Says nothing of who answered.
 * @throws {EngineError} as `EngineEndpoint.request`
 */
export async function requestPieces(endpoint: EngineEndpoint, request: EngineRequest): Promise<EngineResponse> {
  if (endpoint.deliver === undefined) return endpoint.request(request);
  const pieces = new Pieces(request.signal);
  try {
    await endpoint.deliver(request, pieces);
  } catch (error) {
    pieces.destroy();
    throw error;
  }
  const { status, rawHeaders } = pieces.head as AnswerHead;
  const body = Readable.from(copies(pieces), { objectMode: false });
  // One that is destroyed unread never begins what is read from.
  body.once('close', () => pieces.destroy());
  // As with any other answer: who reads it learns of a failure by its own means.
  body.on('error', () => undefined);
  return { status, headers: byName(rawHeaders), body, pieces };
}

class Pieces implements AnswerSink, AnswerPieces {
  head: AnswerHead | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #flow: AnswerFlow | undefined;
  #ended = false;
  #failure: Error | undefined;
  #held = false;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort);
  }

  onAsked(flow: AnswerFlow): void {
    this.#flow = flow;
    if (this.#signal?.aborted === true) this.#onAbort();
  }

  onHeaders(head: AnswerHead): void {
    this.head = head;
  }

  onData(chunk: Buffer): boolean {
    if (this.#ended) {
      releasePiece(chunk);
      return true;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#held = this.#waitingBytes > MAX_WAITING_BYTES;
    this.#wake?.();
    return !this.#held;
  }

  onEnd(): void {
    this.#end();
  }

  onBroken(error: Error): void {
    this.#failure ??= error;
    this.#end();
  }

  destroy(): void {
    if (!this.#ended) this.#flow?.abort(new Error('nobody reads the answer any more'));
    this.#end();
    for (const piece of this.#waiting.splice(0)) releasePiece(piece);
    this.#waitingBytes = 0;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer, void, undefined> {
    try {
      for (;;) {
        const piece = this.#waiting.shift();
        if (piece !== undefined) {
          this.#waitingBytes -= piece.length;
          try {
            yield piece;
          } finally {
            releasePiece(piece);
          }
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

  #end(): void {
    this.#ended = true;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#wake?.();
  }

  readonly #onAbort = (): void => {
    this.#failure ??= new Error('the answer was given up');
    this.#flow?.abort(this.#failure);
  };
}

async function* copies(pieces: AnswerPieces): AsyncIterable<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function byName(rawHeaders: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
