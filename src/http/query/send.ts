import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Page } from '../../query/page.ts';

const JSON_TYPE = 'application/json';
/** Copying that much costs less than one more piece in a gather-write. */
const COPIED_BYTES = 32 * 1024;

/**
 * Sends a page by a gather-write: head, views of the stored bytes, tail; no copy is made of a page of any size here. Resolves when the last byte
 * is handed to the system or the caller has gone.
 * @returns whether the whole page is out, and nobody holds views of its bytes any more
 */
export async function sendPage(reply: FastifyReply, page: Page): Promise<boolean> {
  const raw = begin(reply, page.length);
  const { head, rows, tail } = page;
  if (!isList(rows)) {
    await sendPieces(reply, joined(head, rows, tail));
    return false;
  }
  const out = sent(raw);
  if (page.length <= COPIED_BYTES) {
    raw.end(Buffer.concat([head, ...rows, tail], page.length));
    return out;
  }
  raw.cork();
  raw.write(head);
  for (const piece of rows) raw.write(piece);
  raw.end(tail);
  raw.uncork();
  return out;
}

/** Resolves when the last byte is handed to the system, or the connection has ended; says whether all of it is out. */
function sent(raw: ServerResponse): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  raw.once('finish', () => resolve(true));
  raw.once('close', () => resolve(raw.writableFinished));
  raw.once('error', (error) => (isPrematureClose(error) ? resolve(false) : reject(error)));
  if (raw.destroyed) resolve(false);
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

function isList(rows: Page['rows']): rows is readonly Uint8Array[] {
  return Array.isArray(rows);
}

function isPrematureClose(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
