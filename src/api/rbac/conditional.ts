import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IfMatch } from '../../access/manager/content-versions.ts';
import { HttpError } from '../server/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes that honour `If-Match`. Others reject it, because a client relies on it. */
    ifMatch?: boolean;
  }
}

export const HONOURS_IF_MATCH = { config: { ifMatch: true } } as const;

/** Far more tags than a client has versions of one resource. */
const MAX_TAGS = 32;
/** One entity tag by RFC 9110, section 8.8.3, restricted to ASCII, with what separates it from the next. */
const TAG = /(W\/)?"([\x21\x23-\x7e]{0,256})"[ \t]*(?:,[ \t]*|$)/y;

interface EntityTag {
  readonly weak: boolean;
  readonly value: string;
}

/** Rejects `If-Match` on routes of `app` that do not honour it. */
export function refuseUnusedIfMatch(app: FastifyInstance): void {
  app.addHook('preHandler', async (request) => {
    if (request.headers['if-match'] === undefined || request.routeOptions.config.ifMatch === true) return;
    throw new HttpError(
      400,
      '`If-Match` is not supported here: send it with a change of a role, of its assignments, of a policy or of a service token',
    );
  });
}

/**
 * The `If-Match` condition of a request. Weak tags never match (RFC 9110, section 13.1.1).
 * @throws {HttpError} 400
 */
export function ifMatchOf({ headers }: FastifyRequest): IfMatch | undefined {
  const tags = parseTags('If-Match', headers['if-match']);
  if (tags === undefined || tags === '*') return tags;
  return tags.filter(({ weak }) => !weak).map(({ value }) => value);
}

/** Whether the request has `If-None-Match: *`: a PUT with it creates only. @throws {HttpError} 400 for tags */
export function requiresNone({ headers }: FastifyRequest): boolean {
  const tags = parseTags('If-None-Match', headers['if-none-match']);
  if (tags === undefined) return false;
  if (tags === '*' && headers['if-match'] === undefined) return true;
  throw new HttpError(
    400,
    '`If-None-Match`: with `PUT` only `*` is supported, without `If-Match`: create, and change nothing',
  );
}

/**
 * Sends a resource with its `ETag`; 304 where `If-None-Match` names it.
 * @param view a view with its version, which is not part of the body; without one there is no `ETag`
 */
export function sendTagged<T extends { readonly version?: string }>(
  request: FastifyRequest,
  reply: FastifyReply,
  { version, ...body }: T,
): Omit<T, 'version'> | FastifyReply {
  if (version !== undefined) void reply.header('etag', `"${version}"`);
  if (request.method !== 'GET') return body;
  const tags = parseTags('If-None-Match', request.headers['if-none-match']);
  const known = tags === '*' || tags?.some(({ value }) => value === version) === true;
  return known ? reply.code(304).send() : body;
}

/** @returns undefined where the header is absent @throws {HttpError} 400 */
function parseTags(header: string, text: string | undefined): '*' | EntityTag[] | undefined {
  if (text === undefined) return undefined;
  if (text.trim() === '*') return '*';
  const tags: EntityTag[] = [];
  TAG.lastIndex = 0;
  while (TAG.lastIndex < text.length) {
    const match = TAG.exec(text);
    if (match === null || tags.length === MAX_TAGS) throw invalid(header, text);
    tags.push({ weak: match[1] !== undefined, value: match[2] ?? '' });
  }
  if (tags.length === 0 || text.trimEnd().endsWith(',')) throw invalid(header, text);
  return tags;
}

function invalid(header: string, text: string): HttpError {
  return new HttpError(
    400,
    `\`${header}\`: \`${text.slice(0, 80)}\` is not valid: send \`*\`, or at most ${MAX_TAGS} entity tags as in \`ETag\`, such as \`"42"\`, separated by commas`,
  );
}
