import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FairQueue, Place } from '../../../platform/fair-queue.ts';
import { inTurns, type Slices, type Turn } from '../../../platform/long-work.ts';
import { parsingStrictJson, type StrictJsonLimits, StrictJsonError } from '../../../platform/strict-json.ts';
import { admit } from '../admission/admit.ts';
import { HttpError } from '../errors.ts';
import { contentTypeOf, requireUncompressed, requireUtf8 } from './content-type.ts';

export interface BodyOptions {
  /** Maximum bytes. */
  readonly max: number;
  readonly memory: FairQueue;
  /** SRN; the address of a request without a credential. */
  readonly caller: string;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** Reserved for a body before more of it has arrived. */
const FIRST_BYTES = 16 * 1024;

/**
 * Reads the whole body of a request. The memory is reserved as it arrives: a client that announces a long body and sends little of it holds up nobody.
 * @param use what is done with the body while its memory is reserved
 * @throws {HttpError} 413; 400 where it ends unexpectedly; 429 and 503 where there is no memory for it; what `use` throws
 */
export async function withBody<T>(
  raw: IncomingMessage,
  options: BodyOptions,
  use: (body: Buffer) => T | Promise<T>,
): Promise<T> {
  const { max } = options;
  const announced = Number(raw.headers['content-length'] ?? max);
  const memory = new BodyMemory(options);
  try {
    const waits = memory.hold(Math.min(announced, max, FIRST_BYTES));
    if (waits !== undefined) await waits;
    return await use(await readBody(raw, max, memory));
  } finally {
    memory.release();
  }
}

/** As `withBody`, for a request of fastify. */
export function withBodyOf<T>(request: FastifyRequest, max: number, use: (body: Buffer) => T | Promise<T>): Promise<T> {
  const closed = new AbortController();
  if (!request.onAnswered(() => closed.abort())) closed.abort();
  // Public routes, such as the one to sign in, have no principal, despite the type.
  const caller = (request.principal as FastifyRequest['principal'] | null)?.srn ?? request.clientAddress;
  const { memory } = request.server;
  return withBody(request.raw, { max, memory, caller, signal: closed.signal }, use);
}

/** The places of one body. */
class BodyMemory {
  readonly #options: BodyOptions;
  readonly #places: Place[] = [];
  held = 0;

  constructor(options: BodyOptions) {
    this.#options = options;
  }

  /** Waits until there is memory for this size; there is no promise where there is some. */
  hold(bytes: number): Promise<void> | undefined {
    const { memory, caller, signal, max } = this.#options;
    // Twice as much each time, so that a body has few places.
    const units = Math.min(Math.max(bytes - this.held, this.held), Math.max(max - this.held, 0));
    if (units === 0) return undefined;
    const add = (place: Place): void => {
      this.#places.push(place);
      this.held += units;
    };
    const place = admit(memory, caller, { units, signal });
    if (place instanceof Promise) return place.then(add);
    add(place);
    return undefined;
  }

  release(): void {
    for (const place of this.#places) place.release();
  }
}

function readBody(raw: IncomingMessage, max: number, memory: BodyMemory): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const fail = (error: unknown): void => {
    raw.off('data', onData).resume();
    chunks.length = 0;
    reject(error);
  };
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > max) {
      // The rest is discarded, so the connection cannot be reused.
      const headers = { connection: 'close' };
      return fail(new HttpError(413, `the body is too large: at most ${max} bytes are allowed`, { headers }));
    }
    chunks.push(chunk);
    const waits = size <= memory.held ? undefined : memory.hold(size);
    if (waits === undefined) return;
    raw.pause();
    waits.then(() => raw.resume(), fail);
  };
  const onBroken = (cause?: Error): void => {
    if (!raw.readableEnded) reject(new HttpError(400, 'the request body ended unexpectedly', { cause }));
  };
  if (raw.destroyed) onBroken();
  raw.on('data', onData);
  raw.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  raw.once('error', onBroken);
  raw.once('close', onBroken);
  return promise;
}

/** Limits of a JSON body other than its size. Defaults: those of `parseStrictJson`. */
export type JsonLimits = Omit<StrictJsonLimits, 'maxBytes'>;

interface WithHeaders {
  readonly headers: IncomingHttpHeaders;
}

/** Pinot clients send JSON with any of these content types, and some without one. */
const JSON_TYPES = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'] as const;

/** Parses bodies of the gateway's own routes, which accept `application/json` only. */
export function registerJsonBodies(app: FastifyInstance, limits: JsonLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request: FastifyRequest) =>
    withBodyOf(request, request.routeOptions.bodyLimit, async (body) => {
      // Many clients send `Content-Type` with every request, also with a DELETE, which has no body.
      if (request.method === 'DELETE' && body.length === 0) return undefined;
      const isOpen = (): boolean => !request.raw.socket.destroyed;
      const turn = request.server.work.bodyTurns(callerOf(request), body.length, isOpen);
      await turn();
      const value = await readJson(request, body, limits, turn);
      // What the route does with it is as long again.
      await turn();
      return value;
    }),
  );
}

/** For public routes, such as the one to sign in, the address. */
function callerOf({ principal, clientAddress }: FastifyRequest): string {
  return (principal as FastifyRequest['principal'] | null)?.srn ?? clientAddress;
}

/**
 * Parses a body that must be a JSON object.
 * @param turn resolves when the next part of a long body may be parsed
 * @throws {HttpError} 400, 415
 */
export async function readJsonBody(
  request: WithHeaders,
  body: Buffer,
  limits: JsonLimits,
  turn: Turn,
): Promise<object> {
  const read = readJson(request, body, limits, turn);
  const value = read instanceof Promise ? await read : read;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new HttpError(400, 'the body must be a JSON object');
}

/** Parses an uncompressed JSON body in UTF-8. @throws {HttpError} 400, 415 */
function readJson({ headers }: WithHeaders, body: Buffer, limits: JsonLimits, turn: Turn): unknown {
  requireUncompressed(headers);
  requireUtf8(contentTypeOf(headers, JSON_TYPES)?.parameters ?? []);
  if (body.length === 0) throw new HttpError(400, 'the body is empty: send a JSON document, or no `Content-Type`');
  // The size limit was applied when the body was read.
  return inTurns(parsing(body, { ...limits, maxBytes: body.length }), turn);
}

/** @throws {HttpError} 400 */
function* parsing(body: Buffer, limits: StrictJsonLimits): Slices<unknown> {
  try {
    return yield* parsingStrictJson(body, limits);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new HttpError(400, `invalid body: ${error.message}`, { cause: error });
  }
}
