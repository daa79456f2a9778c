import type { FastifyRequest } from 'fastify';
import type { EngineCall } from '../../pinot/call-actions.ts';
import { inTurns, type Turn } from '../../platform/long-work.ts';
import { parsingStrictJson, StrictJsonError, type StrictJsonLimits } from '../../platform/strict-json.ts';
import { HttpError } from '../server/errors.ts';
import { withBodyOf } from '../server/bodies/read-body.ts';
import { tablesOfBody, textsOfTables, type BodyTables } from './body-tables.ts';
import { bodyType } from './call-headers.ts';

/*
 * A body that affects authorization is forwarded as the validated bytes, not serialized again: JavaScript numbers lose digits of a LONG above 2^53
 * and of decimals. The bytes are unambiguous, because the strict parser accepts only valid UTF-8 without byte order mark, one value in the JSON
 * grammar of RFC 8259, unique keys (compared after decoding of escapes) and bounded depth. The gateway sets the charset in `Content-Type`, and the
 * body is never compressed. Parsers differ only in how they read numbers, and no number affects authorization; a number in place of a name is rejected.
 */

export type JudgedBody =
  /** Absent, or its content does not affect authorization. It is streamed to the controller. */
  | { readonly kind: 'stream' }
  /** A form or a file that the gateway does not parse. The caller needs the actions on the cluster. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'read'; readonly bytes: Buffer; readonly tables: BodyTables }
  /** `parts`: texts, of which some can be names of tables. */
  | { readonly kind: 'cluster'; readonly bytes: Buffer; readonly parts: readonly string[] };

/**
 * Reads the body of a call where its content affects authorization.
 * @throws {HttpError} 400, 413, 415
 */
export async function judgedBody(
  request: FastifyRequest,
  call: EngineCall,
  limits: StrictJsonLimits & { readonly maxBytes: number },
): Promise<JudgedBody> {
  const media = bodyType(request.headers)?.media;
  if (!hasBody(request)) return { kind: call.body === 'tables' ? 'unread' : 'stream' };
  if (request.method === 'GET' || request.method === 'HEAD') {
    throw new HttpError(400, `a \`${request.method}\` must not have a body`);
  }
  if (call.body === 'nothing') return { kind: 'stream' };
  if (media === 'multipart/form-data') return { kind: 'unread' };
  return withBodyOf(request, limits.maxBytes, async (bytes): Promise<JudgedBody> => {
    const isOpen = (): boolean => !request.raw.socket.destroyed;
    const turn = request.server.work.bodyTurns(request.principal.srn, bytes.length, isOpen);
    await turn();
    const body = bytes.length === 0 ? undefined : await strictJson(bytes, limits, turn);
    if (call.body === 'cluster') return { kind: 'cluster', bytes, parts: textsOfTables(body) };
    return { kind: 'read', bytes, tables: tablesOfBody(body) };
  });
}

/** `Content-Type` of bodies that were parsed as JSON, independent of the client's header. */
export const JSON_HEADER = 'application/json; charset=utf-8';

async function strictJson(bytes: Buffer, limits: StrictJsonLimits, turn: Turn): Promise<unknown> {
  const body = await parsed(bytes, limits, turn);
  // The engine can read an object from a string that contains its JSON, so the names in the string would count.
  if (typeof body !== 'object') throw new HttpError(400, 'the body must be a JSON object or a list');
  return body;
}

async function parsed(bytes: Buffer, limits: StrictJsonLimits, turn: Turn): Promise<unknown> {
  try {
    return await inTurns(parsingStrictJson(bytes, limits), turn);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new HttpError(400, `the body must be JSON in UTF-8 with each key once: ${error.message}`, { cause: error });
  }
}

export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
