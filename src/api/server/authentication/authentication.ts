import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../../platform/clock.ts';
import type { AuthenticationResult, Authenticator, Credential } from '../../../access/authenticators/authenticator.ts';
import type { Principal } from '../../../access/principal.ts';
import type { RequestContext } from '../context.ts';
import { HttpError } from '../errors.ts';
import { parseBearerToken } from '../../../access/service-token.ts';
import { traced } from '../../../platform/tracing.ts';
import { FailedAttempts, type LoginAttempt } from './failed-attempts.ts';
import { sessionCookie } from './session-cookie.ts';
import type { Sessions } from './sessions.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Sets `request.principal` to that of a token that is not the credential of the request. @throws {HttpError} 401, 429, 503 */
    authenticateToken: (request: RequestContext, token: string) => Promise<void>;
  }
}

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  /** Opens the sessions of the dashboard. */
  readonly sessions: Sessions;
  /** Failed logins per client address and per access key per minute before further failures get 429. */
  readonly maxFailuresPerMinute?: number;
  /** Why credentials and access cannot be decided now; undefined while there is no reason. */
  readonly viewProblem?: (() => string | undefined) | undefined;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

const MAX_FAILURES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const RETRY_AFTER_SECONDS = '5';
/** Longer than any real token. Longer headers are rejected before hashing or a call to an authority. */
const MAX_CREDENTIAL_LENGTH = 16_384;

const BEARER = 'Bearer realm="olap-warden"';
const BASIC = 'Basic realm="olap-warden", charset="UTF-8"';

const HOW_TO_AUTHENTICATE = 'send `Authorization: Bearer <token>`, or a service token as Basic credentials';

type ExtractedCredential = Credential | { readonly problem: 'none' | 'malformed'; readonly message: string };

/** The credential of the dashboard session, for a request without an `Authorization` header. */
async function sessionCredential(
  request: Pick<RequestContext, 'headers' | 'protocol'>,
  sessions: Sessions,
): Promise<ExtractedCredential> {
  const cookie = sessionCookie(request);
  if (cookie === undefined) return { problem: 'none', message: `no credential was sent: ${HOW_TO_AUTHENTICATE}` };
  const session = await sessions.open(cookie);
  // Not counted as a failed login: the pages of all signed-in users send such cookies after a change of the keys, and a session cannot be guessed.
  return 'problem' in session
    ? { problem: 'none', message: session.problem }
    : { scheme: 'bearer', token: session.token };
}

function credentialOf(header: string): ExtractedCredential {
  if (header.length > MAX_CREDENTIAL_LENGTH)
    return {
      problem: 'malformed',
      message: `the Authorization header is longer than ${MAX_CREDENTIAL_LENGTH} characters`,
    };
  const [, scheme = '', value = ''] = /^(\S+) +(\S+) *$/.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', token: value };
  if (scheme.toLowerCase() === 'basic') return basicCredential(value);
  return { problem: 'malformed', message: `unsupported form of the Authorization header: ${HOW_TO_AUTHENTICATE}` };
}

function basicCredential(value: string): ExtractedCredential {
  const decoded = Buffer.from(value, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0)
    return { problem: 'malformed', message: 'invalid Basic credentials: they must be `user:password` in base64' };
  return { scheme: 'basic', username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function unauthorized(request: RequestContext, message: string): HttpError {
  // A Basic challenge would make the browser open its own login dialog over the dashboard.
  const challenges = request.headers['x-olap-warden-ui'] === undefined ? [BEARER, BASIC] : [BEARER];
  return new HttpError(401, message, { headers: { 'www-authenticate': challenges } });
}

/**
 * Authenticates requests.
 *
 * Credentials that this process can verify by itself are verified before any throttle. So failures of others never lock out such a valid
 * credential, even if all clients share the address of a proxy. The throttle applies to failures, and limits the calls of authorities.
 */
export class Authentication {
  readonly #authenticator: Authenticator;
  readonly #sessions: Sessions;
  readonly #attempts: FailedAttempts;
  readonly #viewProblem: () => string | undefined;

  constructor(options: AuthenticationOptions) {
    this.#authenticator = options.authenticator;
    this.#sessions = options.sessions;
    this.#viewProblem = options.viewProblem ?? (() => undefined);
    this.#attempts = new FailedAttempts({
      limit: options.maxFailuresPerMinute ?? MAX_FAILURES_PER_MINUTE,
      windowMs: MINUTE_MS,
      clock: options.clock,
    });
  }

  /**
   * Sets `request.principal`.
   * @throws {HttpError} 401 for a missing or invalid credential, 429 after too many failures, 503 where the authority or a current view of the resources is
   *   unavailable
   */
  authenticate(request: RequestContext): Promise<void> {
    return traced(request.trail?.span, 'authenticate', () => this.#authenticate(request));
  }

  async #authenticate(request: RequestContext): Promise<void> {
    const { authorization } = request.headers;
    const credential = authorization ? credentialOf(authorization) : await sessionCredential(request, this.#sessions);
    if ('problem' in credential) {
      if (credential.problem === 'malformed') this.#attempts.failed({ address: request.clientAddress });
      throw unauthorized(request, credential.message);
    }
    request.principal = await this.#verify(request, credential);
  }

  /** As authenticate(), with a token that the request does not have as its credential. @throws {HttpError} 401, 429, 503 */
  async authenticateToken(request: RequestContext, token: string): Promise<void> {
    request.principal = await this.#verify(request, { scheme: 'bearer', token });
  }

  async #verify(request: RequestContext, credential: Credential): Promise<Principal> {
    // Without the roles, a valid token would be 401 and an allowed call 403, which clients take for final.
    const problem = this.#viewProblem();
    if (problem !== undefined) {
      throw new HttpError(503, `access cannot be decided now: ${problem}`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      });
    }
    const local = await this.#authenticator.authenticate(credential, { local: true });
    const result = local.outcome === 'unverified' ? await this.#askAuthority(request, credential) : local;
    if (result.outcome === 'authenticated') return result.principal;
    if (result.outcome === 'unavailable') {
      throw new HttpError(503, `the credential cannot be checked now: ${result.message}`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      });
    }
    throw this.#failure(request, credential, result);
  }

  async #askAuthority(request: RequestContext, credential: Credential): Promise<AuthenticationResult> {
    const text = textOf(credential);
    const wait = this.#attempts.wasValid(text)
      ? 0
      : this.#attempts.retryAfterSeconds({ address: request.clientAddress });
    if (wait > 0) throw tooManyFailures(wait);
    const result = await this.#authenticator.authenticate(credential);
    if (result.outcome === 'authenticated') this.#attempts.succeeded(text);
    return result;
  }

  /** Counts and logs a failed login. */
  #failure(request: RequestContext, credential: Credential, result: AuthenticationResult): HttpError {
    const attempt: LoginAttempt = { address: request.clientAddress, accessKey: accessKeyOf(credential) };
    const wait = this.#attempts.retryAfterSeconds(attempt);
    if (wait > 0) return tooManyFailures(wait);
    this.#attempts.failed(attempt);
    const why = result.outcome === 'rejected' ? result.message : 'unknown kind of credential';
    request.log.info({ clientAddress: request.clientAddress, reason: why }, 'authentication failed');
    request.server.audit.login(request, { action: 'Authenticate', status: 401, message: why });
    return unauthorized(request, why);
  }
}

/** Authenticates all requests of `app` to routes that are not public. */
export function registerAuthentication(app: FastifyInstance, authentication: Authentication): void {
  app.decorateRequest('principal', null as unknown as Principal);
  app.decorate('authenticateToken', (request, token) => authentication.authenticateToken(request, token));
  app.addHook('onRequest', async (request) => {
    if (request.is404 || request.routeOptions.config.public === true) return;
    await authentication.authenticate(request);
  });
}

function textOf(credential: Credential): string {
  return credential.scheme === 'bearer' ? credential.token : `${credential.username}:${credential.password}`;
}

/** The access key of a service token; undefined for other credentials. */
function accessKeyOf(credential: Credential): string | undefined {
  return credential.scheme === 'basic' ? credential.username : parseBearerToken(credential.token)?.accessKey;
}

function tooManyFailures(wait: number): HttpError {
  return new HttpError(
    429,
    `too many failed logins from this address or with this access key: try again in ${wait} s`,
    {
      headers: { 'retry-after': String(wait) },
    },
  );
}
