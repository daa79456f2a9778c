import type { FastifyReply, FastifyRequest } from 'fastify';

const COOKIE = 'olap-warden-session';
/** Browsers reject larger cookies. */
export const MAX_COOKIE_BYTES = 4000;
/** Pages of other origins cannot set this header, because the gateway does not allow CORS. */
const SAME_SITE_HEADER = 'x-olap-warden-ui';

/**
 * The token of the dashboard session, or undefined.
 *
 * The cookie is HttpOnly and SameSite=Strict. It is accepted only together with a header that pages of other origins cannot send and, where the
 * browser sends `Sec-Fetch-Site`, only for same-origin requests. This prevents cross-site request forgery.
 */
export function sessionToken(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { cookie, [SAME_SITE_HEADER]: marker, 'sec-fetch-site': site } = request.headers;
  if (cookie === undefined || marker !== '1') return undefined;
  if (site !== undefined && site !== 'same-origin') return undefined;
  for (const part of cookie.split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === COOKIE) {
      try {
        return decodeURIComponent(part.slice(at + 1).trim());
      } catch {
        return undefined;
      }
    }
  }
  return undefined;
}

/** Secure, except over plain HTTP, which is used for trials on a workstation. */
function cookie(request: FastifyRequest, value: string, end: string): string {
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict${request.protocol === 'https' ? '; Secure' : ''}${end}`;
}

export function setSession(request: FastifyRequest, reply: FastifyReply, token: string): void {
  void reply.header('set-cookie', cookie(request, encodeURIComponent(token), ''));
}

export function endSession(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('set-cookie', cookie(request, '', '; Max-Age=0'));
}
