import { Readable } from 'node:stream';
import { withErrorListener } from '../platform/stream-errors.ts';
import type { ResponseFlow, ResponseHead, ResponseSink, EngineResponse } from './types.ts';

/** Maximum buffered bytes before backpressure is applied to the engine. */
const HIGH_WATER_BYTES = 64 * 1024;

/** A response body as a stream. */
export class ResponseBody extends Readable implements ResponseSink {
  head: ResponseHead | undefined;
  #flow: ResponseFlow | undefined;

  constructor() {
    super({ highWaterMark: HIGH_WATER_BYTES });
    withErrorListener(this);
  }

  onAsked(flow: ResponseFlow): void {
    this.#flow = flow;
  }

  onHeaders(head: ResponseHead): void {
    this.head = head;
  }

  onData(chunk: Buffer): boolean {
    return this.push(chunk);
  }

  onEnd(): void {
    this.#flow = undefined;
    this.push(null);
  }

  onBroken(error: Error): void {
    this.#flow = undefined;
    this.destroy(error);
  }

  override _read(): void {
    this.#flow?.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#flow?.abort(error ?? new Error('the rest of the response is discarded'));
    done(error);
  }
}

/** The response that a body has received, after its headers. @param url of the endpoint */
export function responseOf(body: ResponseBody, url: string): EngineResponse {
  const { status, rawHeaders } = body.head as ResponseHead;
  return { status, headers: headersByName(rawHeaders), body, url };
}

/** Headers by lower-case name; a repeated header has an array of values. @param rawHeaders alternating names and values */
export function headersByName(rawHeaders: readonly string[]): EngineResponse['headers'] {
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
