import type { FastifyReply, FastifyRequest } from 'fastify';

const COOKIE = 'olap-warden-session';
/** Browsers refuse larger cookies; a token longer than this cannot be kept in one. */
export const MAX_COOKIE_BYTES = 4000;
/** A page of another site cannot set this header without the gateway's consent by CORS, which is never given. */
const SAME_SITE_HEADER = 'x-olap-warden-ui';

/**
 * The token of the dashboard's session, or undefined.
 *
 * The cookie is HttpOnly and SameSite=Strict, and counts only beside a header that no foreign page can send and, where the
 * browser tells, only for requests that come from the same origin: a forged request from elsewhere has no credential.
 */
export function sessionToken(request: FastifyRequest): string | undefined {
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

/** Secure unless the request came over plain HTTP, which is how a first try on a workstation comes. */
function cookie(request: FastifyRequest, value: string, end: string): string {
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict${request.protocol === 'https' ? '; Secure' : ''}${end}`;
}

export function setSession(request: FastifyRequest, reply: FastifyReply, token: string): void {
  void reply.header('set-cookie', cookie(request, encodeURIComponent(token), ''));
}

export function endSession(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('set-cookie', cookie(request, '', '; Max-Age=0'));
}
