/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { decodeJwt } from 'jose';
import { request as httpRequest } from 'undici';
import { Type, type Static } from 'typebox';
import { systemClock } from '../../platform/clock.ts';
import { ErrorBody, HttpError } from '../server/errors.ts';
import { FailedAttempts } from '../server/authentication/failed-attempts.ts';
import { openSession } from '../server/authentication/session-cookie.ts';

/** Sign-in with an identity provider: the authorization code flow with PKCE. */
export interface OidcSignIn {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** `openid email`, plus the scopes of the group claims. */
  readonly scope: string;
  /** Which of the provider's tokens the gateway's OIDC authenticator accepts. */
  readonly token: 'id_token' | 'access_token';
}

interface Discovery {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

const TIMEOUT_MS = 10_000;
const DISCOVERY_TTL_MS = 300_000;
const FAILED_DISCOVERY_TTL_MS = 2_000;
/** Exchanges at once: an identity provider that does not respond must not occupy the gateway. */
const MAX_EXCHANGES = 32;
/** Rejected codes of an address in a minute, as of failed logins: the provider sees only the address of the gateway, and might block it. */
const MAX_REJECTED = 20;
const WINDOW_MS = 60_000;
const MAX_ANSWER_BYTES = 262_144;
/** More than the fields need. Anyone may call the route, without a credential: a larger body would take a turn from callers who have one. */
const MAX_BODY_BYTES = 8 * 1024;

async function readJson(
  url: string,
  init: { method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string },
): Promise<Record<string, unknown>> {
  const response = await httpRequest(url, {
    ...init,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  let text = '';
  for await (const chunk of response.body.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > MAX_ANSWER_BYTES) throw new Error(`${url} sent more than ${MAX_ANSWER_BYTES} bytes`);
  }
  if (response.statusCode !== 200) throw new Error(`${url} responded with ${response.statusCode}`);
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null) throw new Error(`${url} did not return a JSON object`);
  return { ...body };
}

/** Callers without a credential cause these requests, so there is one at a time, and a pause after a failed one. */
function discoverer(issuer: string): () => Promise<Discovery> {
  let known: { value: Promise<Discovery>; until: number } | undefined;
  return () => {
    if (known && known.until > systemClock.monotonic()) return known.value;
    const value = readDiscovery(issuer);
    const current = { value, until: Number.POSITIVE_INFINITY };
    known = current;
    value.then(
      () => (current.until = systemClock.monotonic() + DISCOVERY_TTL_MS),
      () => (current.until = systemClock.monotonic() + FAILED_DISCOVERY_TTL_MS),
    );
    return value;
  };
}

async function readDiscovery(issuer: string): Promise<Discovery> {
  const { authorization_endpoint, token_endpoint } = await readJson(
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    { method: 'GET' },
  );
  if (typeof authorization_endpoint !== 'string' || typeof token_endpoint !== 'string')
    throw new Error('the discovery document names no endpoints');
  return { authorization_endpoint, token_endpoint };
}

const SignInMethods = Type.Object(
  {
    oidc: Type.Union(
      [
        Type.Null(),
        Type.Object({ authorizationEndpoint: Type.String(), clientId: Type.String(), scope: Type.String() }),
      ],
      { description: 'Sign-in at the identity provider; null if none is configured or reachable.' },
    ),
  },
  { $id: 'SignInMethods' },
);

const Exchange = Type.Object(
  {
    code: Type.String({ minLength: 1, maxLength: 4096 }),
    codeVerifier: Type.String({ minLength: 43, maxLength: 128 }),
    nonce: Type.String({ minLength: 1, maxLength: 128, description: 'The value of the authorization request.' }),
    redirectUri: Type.String({ maxLength: 2048, pattern: '/ui/signed-in$' }),
  },
  { additionalProperties: false },
);

function exchangeRequest(
  oidc: OidcSignIn,
  body: Static<typeof Exchange>,
): { method: 'POST'; headers: Record<string, string>; body: string } {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: body.code,
    code_verifier: body.codeVerifier,
    redirect_uri: body.redirectUri,
    client_id: oidc.clientId,
  });
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  if (oidc.clientSecret !== undefined) {
    const credentials = `${encodeURIComponent(oidc.clientId)}:${encodeURIComponent(oidc.clientSecret)}`;
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  return { method: 'POST', headers, body: form.toString() };
}

/**
 * Checks that the ID token belongs to the sign-in of this browser window (OpenID Connect Core, 3.1.3.7). The signature is verified afterwards,
 * as for all tokens.
 */
function requireNonce(idToken: unknown, nonce: string): void {
  if (typeof idToken !== 'string') return;
  let claimed: unknown;
  try {
    claimed = decodeJwt(idToken)['nonce'];
  } catch (error) {
    throw new HttpError(401, 'the identity provider sent an `id_token` that is not a JWT', { cause: error });
  }
  if (claimed !== nonce)
    throw new HttpError(401, 'the response of the identity provider is not for this sign-in: its `nonce` differs');
}

/**
 * `GET /ui/session/methods` returns the sign-in methods. `POST /ui/session/oidc` exchanges the provider's code for a token and opens the session.
 * The gateway makes the exchange, so that no script has access to the token.
 */
export function registerOidcSignIn(app: FastifyInstance, oidc: OidcSignIn | undefined): void {
  const discover = oidc && discoverer(oidc.issuer);
  const rejected = new FailedAttempts({ limit: MAX_REJECTED, windowMs: WINDOW_MS, clock: systemClock });
  let exchanges = 0;
  app.get(
    '/ui/session/methods',
    {
      config: { public: true },
      schema: {
        operationId: 'signInMethods',
        'x-docs': {
          ok: 'How to sign in to the dashboard.',
          response: {
            oidc: {
              authorizationEndpoint: 'https://idp.example.com/authorize',
              clientId: 'olap-warden',
              scope: 'openid email profile',
            },
          },
        },
        tags: ['dashboard'],
        summary: 'The sign-in methods of the dashboard.',
        response: { 200: SignInMethods, 502: ErrorBody },
      },
    },
    async (request) => {
      if (!oidc || !discover) return { oidc: null };
      try {
        const { authorization_endpoint } = await discover();
        return { oidc: { authorizationEndpoint: authorization_endpoint, clientId: oidc.clientId, scope: oidc.scope } };
      } catch (error) {
        request.log.warn({ err: error }, 'the identity provider cannot be reached');
        return { oidc: null };
      }
    },
  );
  app.post<{ Body: Static<typeof Exchange> }>(
    '/ui/session/oidc',
    {
      config: { public: true },
      bodyLimit: MAX_BODY_BYTES,
      schema: {
        operationId: 'openOidcSession',
        'x-docs': {
          ok: 'The session is open. The body is empty.',
          request: {
            code: 'SplxlOBeZQQYbYS6WxSbIA',
            codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
            nonce: 'n-0S6_WzA2Mj-0123456',
            redirectUri: 'https://olap-warden.example.com/ui/signed-in',
          },
        },
        tags: ['dashboard'],
        summary: 'Opens a session with a code of the identity provider.',
        body: Exchange,
        response: { 204: Type.Null(), 400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 413: ErrorBody },
      },
    },
    async (request, reply) => {
      if (!oidc || !discover) throw new HttpError(404, 'no identity provider is configured: sign in with a token');
      const wait = rejected.retryAfterSeconds({ address: request.clientAddress });
      if (wait > 0) throw tooMany(429, 'too many sign-ins of this address were rejected', wait);
      if (exchanges >= MAX_EXCHANGES) throw tooMany(503, `limit of concurrent sign-ins (${MAX_EXCHANGES}) exceeded`, 1);
      let response: Record<string, unknown>;
      exchanges++;
      try {
        const { token_endpoint } = await discover();
        response = await readJson(token_endpoint, exchangeRequest(oidc, request.body));
      } catch (error) {
        rejected.failed({ address: request.clientAddress });
        request.log.warn({ err: error }, 'the identity provider did not exchange the code');
        throw new HttpError(401, 'the identity provider did not accept the sign-in: try again', { cause: error });
      } finally {
        exchanges--;
      }
      requireNonce(response['id_token'], request.body.nonce);
      const token = response[oidc.token];
      if (typeof token !== 'string')
        throw new HttpError(
          401,
          `the identity provider sent no \`${oidc.token}\`: check the scope and the audience in its settings`,
        );
      await request.server.authenticateToken(request, token);
      await openSession(request, reply, token);
      return reply.code(204).send();
    },
  );
}

function tooMany(status: 429 | 503, what: string, seconds: number): HttpError {
  return new HttpError(status, `${what}: try again in ${seconds} s`, { headers: { 'retry-after': String(seconds) } });
}
