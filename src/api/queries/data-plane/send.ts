import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '../../../platform/plain-error.ts';
import { responseHeaders } from '../../../pinot/headers.ts';
import type { EngineResponse } from '../../../pinot/types.ts';
import type { Page, WholePage } from '../../../results/rows/page.ts';
import type { Coding } from '../../server/content-coding.ts';
import { cutConnection } from '../../server/cut-connection.ts';
import { compressor } from './coding.ts';
import type { Exchange } from './exchange.ts';

const JSON_TYPE = 'application/json';
/** Request headers that select the form of a result. */
export const VARY = 'accept, accept-encoding';

export function isWhole(page: Page): page is WholePage {
  return Array.isArray(page.rows);
}

/**
 * Sends a page.
 * @param coding from `codingFor`; undefined without compression
 * @returns as `writePage`
 */
export async function sendPage(exchange: Exchange, page: Page, coding: Coding | undefined): Promise<boolean> {
  const headers = {
    'content-type': JSON_TYPE,
    vary: VARY,
    ...(page.nextUrl !== undefined && { link: `<${page.nextUrl}>; rel="next"` }),
  };
  if (coding === undefined) {
    exchange.raw.writeHead(200, { ...exchange.ownHeaders, ...headers, 'content-length': page.length });
    if (isWhole(page) && exchange.method !== 'HEAD') return writePage(exchange.raw, page);
  } else exchange.raw.writeHead(200, { ...exchange.ownHeaders, ...headers, 'content-encoding': coding });
  if (exchange.method === 'HEAD') return endHead(exchange);
  await sendPieces(exchange, joined(page), coding);
  return false;
}

/**
 * Writes a page after its headers. Resolves when the last byte is handed to the operating system or the connection is closed.
 * @returns true when the whole page was written, so that its buffers can be reused
 */
export function writePage(raw: ServerResponse, page: WholePage): Promise<boolean> {
  if (raw.destroyed) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  raw.once('close', () => resolve(raw.writableFinished));
  // Corked: one gather write without copying the page.
  raw.cork();
  raw.write(page.head);
  for (const piece of page.rows) raw.write(piece);
  raw.end(page.tail);
  raw.uncork();
  return promise;
}

/** Sends a value as JSON. */
export function sendJson(
  { raw, ownHeaders }: Exchange,
  status: number,
  headers: Readonly<Record<string, string>>,
  value: unknown,
): void {
  const body = Buffer.from(JSON.stringify(value));
  raw.writeHead(status, { ...ownHeaders, ...headers, 'content-type': JSON_TYPE, 'content-length': body.length });
  raw.end(body);
}

/** Streams a response of known length, with back-pressure. */
export async function sendStream(exchange: Exchange, length: number, body: AsyncIterable<Uint8Array>): Promise<void> {
  begin(exchange, length);
  await sendPieces(exchange, body);
}

/** Streams a response of the engine or of another gateway. */
export async function sendResponse(exchange: Exchange, response: EngineResponse): Promise<void> {
  exchange.raw.writeHead(response.status, { ...exchange.ownHeaders, ...responseHeaders(response.headers) });
  await sendPieces(exchange, response.body);
}

/** Streams a response with its own headers, with back-pressure. Without `content-length` it is chunked, and its last chunk shows that it is complete. */
export async function sendBody(
  exchange: Exchange,
  head: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly coding?: Coding | undefined;
  },
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { status, headers, coding } = head;
  const encoding = coding === undefined ? {} : { 'content-encoding': coding };
  exchange.raw.writeHead(status, { ...exchange.ownHeaders, ...headers, ...encoding });
  // The rows of a HEAD are not even read.
  if (exchange.method === 'HEAD') endHead(exchange);
  else await sendPieces(exchange, body, coding);
}

function endHead({ raw }: Exchange): false {
  raw.end();
  return false;
}

function begin({ raw, ownHeaders }: Exchange, length: number): ServerResponse {
  raw.writeHead(200, { ...ownHeaders, 'content-type': JSON_TYPE, 'content-length': length });
  return raw;
}

/** A failure cuts the connection, so that clients detect the incomplete response. */
async function sendPieces({ raw, log }: Exchange, pieces: AsyncIterable<Uint8Array>, coding?: Coding): Promise<void> {
  try {
    const cutting = cutAtFailure(raw, pieces);
    await (coding === undefined ? pipeline(cutting, raw) : pipeline(cutting, compressor(coding), raw));
  } catch (error) {
    if (isPrematureClose(error)) return;
    log.error({ err: error }, 'failed to send the response');
  }
}

/** Before `pipeline` closes the connection of a failed response as it would that of a complete one. */
async function* cutAtFailure(raw: ServerResponse, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* pieces;
  } catch (error) {
    cutConnection(raw);
    throw error;
  }
}

async function* joined({ head, rows, tail }: Page): AsyncIterable<Uint8Array> {
  yield head;
  yield* rows;
  yield tail;
}

function isPrematureClose(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
