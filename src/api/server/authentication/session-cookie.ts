import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../../access/principal.ts';
import type { RequestContext } from '../context.ts';
import { HttpError } from '../errors.ts';
import { MAX_TOKEN_BYTES } from './sessions.ts';

const NAME = 'olap-warden-session';
/** Browsers reject larger cookies. */
const MAX_COOKIE_BYTES = 4000;
/** Pages of other origins cannot set this header, because the gateway does not allow CORS. */
const SAME_SITE_HEADER = 'x-olap-warden-ui';

/**
 * The dashboard session of a request (see Sessions), or undefined.
 *
 * The cookie is HttpOnly and SameSite=Strict. It is accepted only together with a header that pages of other origins cannot send and, where the
 * browser sends `Sec-Fetch-Site`, only for same-origin requests. This prevents cross-site request forgery.
 */
export function sessionCookie(request: Pick<RequestContext, 'headers' | 'protocol'>): string | undefined {
  const { cookie, [SAME_SITE_HEADER]: marker, 'sec-fetch-site': site } = request.headers;
  if (cookie === undefined || marker !== '1') return undefined;
  if (site !== undefined && site !== 'same-origin') return undefined;
  const name = cookieName(request.protocol);
  for (const part of cookie.split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) {
      return part.slice(at + 1).trim();
    }
  }
  return undefined;
}

/** The `Cookie` header by which a gateway passes a session of a request on, over `protocol`; undefined where the request has none. */
export function passedSession(
  request: Pick<RequestContext, 'headers' | 'protocol'>,
  protocol: RequestContext['protocol'],
): string | undefined {
  const session = sessionCookie(request);
  return session === undefined ? undefined : `${cookieName(protocol)}=${session}`;
}

/** With the prefix `__Host-`, browsers accept the cookie only from this host, so that a page of a sibling domain cannot set another session. */
function cookieName(protocol: RequestContext['protocol']): string {
  return protocol === 'https' ? `__Host-${NAME}` : NAME;
}

/** Secure, except over plain HTTP, which is used for trials on a workstation. */
function cookie(request: FastifyRequest, value: string, end: string): string {
  return `${cookieName(request.protocol)}=${value}; Path=/; HttpOnly; SameSite=Strict${request.protocol === 'https' ? '; Secure' : ''}${end}`;
}

/**
 * Opens a session with a token.
 * @throws {HttpError} 413 if it does not fit into a cookie
 */
export async function openSession(request: FastifyRequest, reply: FastifyReply, token: string): Promise<void> {
  const isTooLong = Buffer.byteLength(token) > MAX_TOKEN_BYTES;
  const session = isTooLong ? '' : await request.server.sessions.seal(token);
  if (isTooLong || session.length > MAX_COOKIE_BYTES) {
    throw new HttpError(
      413,
      `the session would be longer than ${MAX_COOKIE_BYTES} bytes, the limit of a cookie: use a service token, or a token with fewer claims`,
    );
  }
  void reply.header('set-cookie', cookie(request, session, ''));
}

/** Deletes the cookie, and ends its session: `request.principal` is then whose it was. */
export async function endSession(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const session = sessionCookie(request);
  const opened = session === undefined ? undefined : await request.server.sessions.open(session);
  if (session !== undefined && opened !== undefined && 'token' in opened) {
    // Also where its token is not accepted now: it may be accepted again.
    await request.server.authenticateToken(request, opened.token).catch(() => undefined);
    const principal = request.principal as Principal | null;
    await request.server.sessions.end(session, principal?.srn ?? '');
  }
  void reply.header('set-cookie', cookie(request, '', '; Max-Age=0'));
}
