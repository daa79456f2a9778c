import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator, Credential } from '../access/authenticator.ts';
import type { Principal } from '../access/principal.ts';
import { HttpError } from './errors.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { sessionToken } from './ui/session-cookie.ts';

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  /** Milliseconds after which an authority that does not answer counts as away. */
  readonly timeoutMs?: number;
  /** Failed attempts of one client address within a minute that are borne. */
  readonly maxFailuresPerMinute?: number;
  readonly now?: () => Date;
}

const TIMEOUT_MS = 10_000;
const MAX_FAILURES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const RETRY_AFTER_SECONDS = '5';
/** Longer than any token that is in use; a header of this size is never handed to a hash or an authority. */
const MAX_CREDENTIAL_LENGTH = 16_384;

const BEARER = 'Bearer realm="olap-warden"';
const BASIC = 'Basic realm="olap-warden", charset="UTF-8"';

const HOW = 'send `Authorization: Bearer <token>`, or a service token as Basic credentials';

type Extracted = Credential | { readonly problem: 'none' | 'malformed'; readonly message: string };

/** The credential of a request: its Authorization header, else the session of the dashboard. */
export function extractCredential(request: FastifyRequest): Extracted {
  const header = request.headers.authorization;
  if (header === undefined || header === '') {
    const token = sessionToken(request);
    return token === undefined
      ? { problem: 'none', message: `no credential was sent: ${HOW}` }
      : { scheme: 'bearer', token };
  }
  return credentialOf(header);
}

function credentialOf(header: string): Extracted {
  if (header.length > MAX_CREDENTIAL_LENGTH)
    return {
      problem: 'malformed',
      message: `the Authorization header is longer than ${MAX_CREDENTIAL_LENGTH} characters`,
    };
  const [, scheme = '', value = ''] = /^(\S+) +(\S+) *$/.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', token: value };
  if (scheme.toLowerCase() === 'basic') return basicCredential(value);
  return { problem: 'malformed', message: `the Authorization header is of no known form: ${HOW}` };
}

function basicCredential(value: string): Extracted {
  const decoded = Buffer.from(value, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) return { problem: 'malformed', message: 'the Basic credentials hold no `user:password` in base64' };
  return { scheme: 'basic', username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function unauthorized(request: FastifyRequest, reply: FastifyReply, message: string): HttpError {
  // The browser would answer a Basic challenge with a dialogue of its own over the dashboard's.
  const challenges = request.headers['x-olap-warden-ui'] === undefined ? [BEARER, BASIC] : [BEARER];
  void reply.header('www-authenticate', challenges);
  return new HttpError(401, message);
}

/**
 * Establishes `request.principal` before every handler of a route that is not public.
 * 401 for no or a bad credential, 429 after too many failures of one address, 503 where the authority behind a credential is away.
 */
export function registerAuthentication(app: FastifyInstance, options: AuthenticationOptions): AuthenticateNow {
  const { authenticator, timeoutMs = TIMEOUT_MS, now = () => new Date() } = options;
  const attempts = new FailedAttempts({
    limit: options.maxFailuresPerMinute ?? MAX_FAILURES_PER_MINUTE,
    windowMs: MINUTE_MS,
    now: () => now().getTime(),
  });

  app.decorateRequest('principal', null as unknown as Principal);
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 || request.routeOptions.config.public === true) return;
    const credential = extractCredential(request);
    if ('problem' in credential) {
      if (credential.problem === 'malformed') attempts.failed(request.ip);
      throw unauthorized(request, reply, credential.message);
    }
    const text = textOf(credential);
    refuseAfterFailures(attempts, request.ip, text);
    const result =
      authenticator.authenticateNow?.(credential) ??
      (await authenticator.authenticate(credential, AbortSignal.timeout(timeoutMs)));
    if (result.outcome === 'authenticated') {
      attempts.succeeded(request.ip, text);
      request.principal = result.principal;
      return;
    }
    if (result.outcome === 'unavailable') {
      throw new HttpError(503, `the credential cannot be checked now: ${result.message}`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      });
    }
    attempts.failed(request.ip);
    const why = result.outcome === 'rejected' ? result.message : 'the credential is of no known kind';
    request.log.info({ clientAddress: request.ip, reason: why }, 'authentication failed');
    throw unauthorized(request, reply, why);
  });
  return (header, address) => {
    const credential = header === undefined ? undefined : credentialOf(header);
    if (credential === undefined || 'problem' in credential) return undefined;
    if (attempts.retryAfterSeconds(address, textOf(credential)) > 0) return undefined;
    const result = authenticator.authenticateNow?.(credential);
    if (result?.outcome !== 'authenticated') return undefined;
    attempts.succeeded(address, textOf(credential));
    return result.principal;
  };
}

/**
 * Who a request is by, where that is known at once: by the same rules as for all requests. Undefined where anything is to be asked, refused or
 * counted.
 * @param header `Authorization`
 */
export type AuthenticateNow = (header: string | undefined, address: string) => Principal | undefined;

function textOf(credential: Credential): string {
  return credential.scheme === 'bearer' ? credential.token : `${credential.username}:${credential.password}`;
}

function refuseAfterFailures(attempts: FailedAttempts, address: string, credential: string): void {
  const wait = attempts.retryAfterSeconds(address, credential);
  if (wait === 0) return;
  throw new HttpError(429, `too many failed attempts from this address: try again in ${wait} s`, {
    headers: { 'retry-after': String(wait) },
  });
}
