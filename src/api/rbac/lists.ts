import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { ListPart, ListRange } from '../../access/manager/list-part.ts';
import type { Slices, Turn } from '../../platform/long-work.ts';
import { clientSignal } from '../server/client-signal.ts';
import { serializerOf } from '../server/app-serialization.ts';
import { compressedStream } from '../server/compression.ts';
import { HttpError } from '../server/errors.ts';
import type { ListQuery } from './schemas/shared.ts';

type ListRequest = FastifyRequest<{ Querystring: ListQuery }>;

/** Characters of JSON that are written at once, in about a millisecond. Shorter responses are sent as one text. */
const CHUNK_LENGTH = 64 * 1024;

/** How the entries of a list are found and shown. */
export interface Listing<T> {
  /** In ascending order of their keys. */
  readonly find: (range: ListRange) => Slices<ListPart<T>>;
  readonly keyOf: (item: T) => string;
  readonly view: (item: T) => unknown;
  /** Of one entry. */
  readonly schema: TSchema;
}

/** Sends the page of a list that a request asks for. @throws {HttpError} 400, 429, 499, 503 */
export async function sendList<T>(request: ListRequest, reply: FastifyReply, listing: Listing<T>): Promise<unknown> {
  const { items } = await findPage(request, reply, listing);
  return sendJson(request, reply, jsonArray(items, listing));
}

/** Finds the page of a list that a request asks for, and sets `Link` to the next one. @throws {HttpError} 400, 429, 499, 503 */
export async function findPage<T, P extends ListPart<T>>(
  request: ListRequest,
  reply: FastifyReply,
  { find, keyOf }: { readonly find: (range: ListRange) => Slices<P>; readonly keyOf: (item: T) => string },
): Promise<P> {
  const { limit, continue: token } = request.query;
  const after = token === undefined ? undefined : decodeContinue(token);
  const part = await inTurn(request, reply, find({ after, limit }));
  const last = part.items.at(-1);
  if (part.hasMore && last !== undefined) setNext(request, reply, keyOf(last));
  return part;
}

/** Does the work for a list or review in the caller's turn. @throws {HttpError} 429, 499, 503; what the work throws */
export function inTurn<T>(request: FastifyRequest, reply: FastifyReply, work: Slices<T>): Promise<T> {
  return request.server.work.list(request.principal.srn, work, clientSignal(reply));
}

/** A JSON array, in one text for each entry. */
export function* jsonArray<T>(
  items: Iterable<T>,
  { view, schema }: Pick<Listing<T>, 'view' | 'schema'>,
): Generator<string, void, void> {
  const serialize = serializerOf(schema);
  let before = '[';
  for (const item of items) {
    yield before + serialize(view(item));
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** Sends JSON as it is written, in slices of long work: a list of 10,000 entries has some megabytes. @param json pieces of the text */
export async function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  json: Iterable<string>,
): Promise<string | Readable> {
  void reply.type('application/json; charset=utf-8');
  const chunks = chunksOf(json[Symbol.iterator](), request.server.work.turns(request.principal.srn));
  const first = await chunks.next();
  const second = first.done === true ? first : await chunks.next();
  if (second.done === true) return first.value ?? '';
  return compressedStream(
    request,
    reply,
    Readable.from(joined([first.value ?? '', second.value], chunks), { objectMode: false }),
  );
}

async function* joined(first: readonly string[], rest: AsyncIterable<string>): AsyncIterable<Buffer> {
  for (const text of first) yield Buffer.from(text);
  for await (const text of rest) yield Buffer.from(text);
}

async function* chunksOf(texts: Iterator<string>, turn: Turn): AsyncGenerator<string, undefined, void> {
  let chunk = '';
  await turn();
  for (let next = texts.next(); next.done !== true; next = texts.next()) {
    chunk += next.value;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
    await turn();
  }
  if (chunk !== '') yield chunk;
  return undefined;
}

/** The token holds the key of the last entry, so that concurrent inserts and deletes neither repeat nor skip entries. */
function setNext(request: ListRequest, reply: FastifyReply, last: string): void {
  const path = request.url.split('?', 1)[0] ?? '';
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query)) query.set(name, String(value));
  query.set('continue', Buffer.from(`after:${last}`).toString('base64url'));
  void reply.header('link', `<${path}?${query.toString()}>; rel="next"`);
}

function decodeContinue(token: string): string {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  if (text.startsWith('after:')) return text.slice('after:'.length);
  throw new HttpError(
    400,
    '`continue` in the query string is invalid: take it from the `Link` header of the previous response',
  );
}
