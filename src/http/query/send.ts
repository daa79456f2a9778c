import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Page } from '../../query/page.ts';
import type { LaneResponse } from '../front/lane.ts';

const JSON_TYPE = 'application/json';
/** A connection takes that much whether its client reads or not. */
const SENT_AT_ONCE_BYTES = 32 * 1024;
/** A caller that takes nothing for this long is left, so that it does not keep memory that others wait for. */
const STALL_MS = 120_000;

/** A page whose rows are in memory. */
export type WholePage = Page & { readonly rows: readonly Uint8Array[] };

export function isWhole(page: Page): page is WholePage {
  return Array.isArray(page.rows);
}

/** Sends a page. @returns as `writePage` */
export async function sendPage(reply: FastifyReply, page: Page): Promise<boolean> {
  const raw = begin(reply, page.length);
  if (isWhole(page)) return writePage(raw, page);
  await sendPieces(reply, joined(page.head, page.rows as AsyncIterable<Uint8Array>, page.tail));
  return false;
}

/**
 * Writes a page behind its headers by a gather-write: head, views of the stored bytes, tail; no copy is made of a large page here. Resolves when the
 * last byte is handed to the system or the caller has gone.
 * @param stallMs how long a caller may take nothing of a large page
 * @returns whether the whole page is out, and nobody holds views of its bytes any more
 */
export function writePage(raw: LaneResponse, page: WholePage, stallMs = STALL_MS): Promise<boolean> {
  const { head, rows, tail } = page;
  if (raw.destroyed) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  raw.once('close', () => resolve(raw.writableFinished));
  if (page.length > SENT_AT_ONCE_BYTES) raw.setTimeout(stallMs, () => raw.destroy());
  raw.cork();
  raw.write(head);
  for (const piece of rows) raw.write(piece);
  raw.end(tail);
  raw.uncork();
  return promise;
}

/** Sends an answer of known length piece by piece, no faster than the caller reads. */
export async function sendStream(reply: FastifyReply, length: number, body: AsyncIterable<Uint8Array>): Promise<void> {
  begin(reply, length);
  await sendPieces(reply, body);
}

function begin(reply: FastifyReply, length: number): ServerResponse {
  const { raw } = reply;
  // Whatever hooks have put on the reply (request id, security headers) goes along.
  const headers = reply.getHeaders() as OutgoingHttpHeaders;
  reply.hijack();
  raw.writeHead(200, { ...headers, 'content-type': JSON_TYPE, 'content-length': length });
  return raw;
}

/** A failure in the middle closes the connection short of its announced length: no client takes that for an answer. */
async function sendPieces(reply: FastifyReply, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  reply.raw.setTimeout(STALL_MS, () => reply.raw.destroy());
  try {
    await pipeline(pieces, reply.raw);
  } catch (error) {
    if (isPrematureClose(error)) return;
    reply.request.log.error({ err: error }, 'the answer broke off while it was sent');
  }
}

async function* joined(head: Uint8Array, rows: AsyncIterable<Uint8Array>, tail: Uint8Array): AsyncIterable<Uint8Array> {
  yield head;
  yield* rows;
  yield tail;
}

function isPrematureClose(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
