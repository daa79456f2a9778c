import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { FilePage } from '../../query/file-page.ts';
import type { Page, WholePage } from '../../query/page.ts';
import type { AnswerStream, LaneResponse } from '../front/lane.ts';

const JSON_TYPE = 'application/json';
/** A caller that takes nothing for this long is left, so that it does not keep memory that others wait for. */
const STALL_MS = 120_000;

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
 * Writes a page behind its headers. Resolves when the last byte is handed to the system or the caller has gone.
 * @param stallMs how long a caller may take nothing of a large page
 * @returns whether the whole page is out, and nobody holds views of its bytes any more
 */
export function writePage(raw: AnswerStream, page: WholePage, stallMs = STALL_MS): Promise<boolean> {
  if (raw.destroyed) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  raw.once('close', () => resolve(raw.writableFinished));
  putPage(raw, page, stallMs);
  return promise;
}

/** The same, which tells nobody: a gather-write of head, views of the stored bytes, and tail, without a copy of a large page. */
export function putPage(raw: AnswerStream, { head, rows, tail }: WholePage, stallMs = STALL_MS): void {
  raw.cork();
  raw.write(head);
  for (const piece of rows) raw.write(piece);
  raw.end(tail);
  raw.uncork();
  // Mostly the system has all of it by now.
  if (raw.writableLength > 0) raw.setTimeout(stallMs, () => raw.destroy());
}

/**
 * The same of a page whose rows were left in their file.
 * @param broken told where these cannot be read to their end; the answer must be cut then
 */
export function putFilePage(
  raw: LaneResponse,
  { head, rows, tail }: FilePage,
  broken: (error: unknown) => void,
  stallMs = STALL_MS,
): void {
  raw.cork();
  raw.write(head);
  raw.writeFile(rows, { sent: () => raw.end(tail), failed: broken });
  if (!raw.writableEnded || raw.writableLength > 0) raw.setTimeout(stallMs, () => raw.destroy());
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
