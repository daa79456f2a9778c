import { gunzipSync, gzipSync } from 'node:zlib';
import { headerOf } from '../../pinot/headers.ts';
import { deliver } from '../../pinot/delivery.ts';
import type { ResponseFlow, ResponseHead, ResponseSink, EngineEndpoint } from '../../pinot/types.ts';

/** Messages of the engine are short; a longer response has rows. */
const MAX_HELD_BYTES = 64 * 1024;
/** Of the response without compression, before and after the change. */
const MAX_UNPACKED_BYTES = 1024 * 1024;

const ROWS = Buffer.from('"rows":');
const PRINTED_NAME = /\bcte (\d+)\b/g;

/**
 * Gives common table expressions their written names in the messages of the engine: in the text that it got, `customers` is `cte 1`. A response with rows
 * is passed on as it is.
 */
export class WrittenNames implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #names: readonly string[];
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #coding = 'identity';
  /** Whether the response turned out to have no message to change. */
  #passing = false;

  /** @param names of the common table expressions, the first one is `cte 1` */
  constructor(sink: ResponseSink, names: readonly string[]) {
    this.#sink = sink;
    this.#names = names;
  }

  onAsked(flow: ResponseFlow): void {
    this.#sink.onAsked(flow);
  }

  onHeaders(head: ResponseHead): void {
    this.#coding = headerOf(head.rawHeaders, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
    this.#sink.onHeaders({ status: head.status, rawHeaders: withoutLength(head.rawHeaders) });
  }

  onData(chunk: Buffer): boolean {
    if (this.#passing) return this.#sink.onData(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < MAX_HELD_BYTES || this.#pass(this.#held);
  }

  onEnd(): void {
    if (!this.#passing) this.#pass([restored(Buffer.concat(this.#held), this.#coding, this.#names)]);
    this.#sink.onEnd();
  }

  onBroken(error: Error): void {
    this.#sink.onBroken(error);
  }

  /** @returns as `onData` */
  #pass(chunks: readonly Buffer[]): boolean {
    this.#passing = true;
    let goOn = true;
    for (const chunk of chunks) if (chunk.length > 0) goOn = this.#sink.onData(chunk);
    return goOn;
  }
}

/** The endpoint, with written names in the messages of its responses. @param names as of `WrittenNames` */
export function namingEndpoint(endpoint: EngineEndpoint, names: readonly string[]): EngineEndpoint {
  if (names.length === 0) return endpoint;
  return {
    url: endpoint.url,
    request: (request) => endpoint.request(request),
    deliver: (request, sink) => deliver(endpoint, request, new WrittenNames(sink, names)),
  };
}

/** @returns undefined where the text would be too long: a caller may repeat `cte 1` in a literal that the message quotes, and choose a long name */
function withWrittenNames(text: string, names: readonly string[]): string | undefined {
  const nameOf = (printed: string, number: string): string => names[Number(number) - 1] ?? printed;
  let { length } = text;
  for (const [printed, number = ''] of text.matchAll(PRINTED_NAME)) {
    length += nameOf(printed, number).length - printed.length;
    if (length > MAX_UNPACKED_BYTES) return undefined;
  }
  return text.replaceAll(PRINTED_NAME, nameOf);
}

/** @returns the same bytes where there is nothing to change */
function restored(body: Buffer, coding: string, names: readonly string[]): Buffer {
  const text = unpacked(body, coding);
  if (text === undefined || text.includes(ROWS)) return body;
  // The names become parts of JSON strings.
  const escaped = names.map((name) => JSON.stringify(name).slice(1, -1));
  const named = withWrittenNames(text.toString(), escaped);
  if (named === undefined) return body;
  const changed = Buffer.from(named);
  return coding === 'gzip' ? gzipSync(changed) : changed;
}

function unpacked(body: Buffer, coding: string): Buffer | undefined {
  if (coding === 'identity') return body;
  if (coding !== 'gzip') return undefined;
  try {
    return gunzipSync(body, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch {
    return undefined;
  }
}

/** The length may change. */
function withoutLength(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.toLowerCase() !== 'content-length') kept.push(name, rawHeaders[index + 1] as string);
  }
  return kept;
}
