import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../server/errors.ts';
import { MAX_TOKEN_BYTES } from './sessions.ts';

const COOKIE = 'olap-warden-session';
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
export function sessionCookie(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { cookie, [SAME_SITE_HEADER]: marker, 'sec-fetch-site': site } = request.headers;
  if (cookie === undefined || marker !== '1') return undefined;
  if (site !== undefined && site !== 'same-origin') return undefined;
  for (const part of cookie.split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === COOKIE) {
      return part.slice(at + 1).trim();
    }
  }
  return undefined;
}

/** Secure, except over plain HTTP, which is used for trials on a workstation. */
function cookie(request: FastifyRequest, value: string, end: string): string {
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict${request.protocol === 'https' ? '; Secure' : ''}${end}`;
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

export function endSession(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('set-cookie', cookie(request, '', '; Max-Age=0'));
}
