import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inTurns, type Parts, type Turn } from '../../../platform/long-work.ts';
import { parsingStrictJson, type StrictJsonLimits, StrictJsonError } from '../../../platform/strict-json.ts';
import { contentTypeOf, requireUncompressed, requireUtf8 } from './content-type.ts';
import { HttpError } from '../errors.ts';
import { withBodyOf } from './read-body.ts';

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
function* parsing(body: Buffer, limits: StrictJsonLimits): Parts<unknown> {
  try {
    return yield* parsingStrictJson(body, limits);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new HttpError(400, `invalid body: ${error.message}`, { cause: error });
  }
}
