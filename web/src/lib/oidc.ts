import { call } from './api.ts';
import { href } from './router.ts';
import type { SignInMethods } from './types.ts';

/** The result of a sign-in at the identity provider. */
export interface SignInResult {
  /** True when the sign-in ran in a separate window, to renew the session of another page. */
  readonly inWindow: boolean;
  /** Path of the page before the sign-in, below /ui. */
  readonly back: string;
  /** Why no session was opened; undefined on success. */
  readonly error: string | undefined;
}

interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly back: string;
  readonly inWindow: boolean;
}

/** Session storage key of the pending sign-in. It contains no token, only values that prove that the sign-in began in this window. */
const PENDING = 'olap-warden-sign-in';

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

const random = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));
const redirectUri = (): string => location.origin + href('/signed-in');

/**
 * Starts the sign-in at the identity provider (authorization code flow with PKCE, RFC 7636).
 * @param inWindow true when this window was opened only for the sign-in
 */
export async function startSignIn(oidc: NonNullable<SignInMethods['oidc']>, inWindow: boolean): Promise<void> {
  const pending: Pending = {
    state: random(),
    nonce: random(),
    codeVerifier: random(),
    back: location.pathname + location.search,
    inWindow,
  };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.codeVerifier));
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const url = new URL(oidc.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: oidc.clientId,
    scope: oidc.scope,
    redirect_uri: redirectUri(),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  // The endpoint may have query parameters of its own, which are kept.
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** The pending sign-in of this window. It is removed, so that a response is accepted once. */
function takePending(): Partial<Pending> {
  const pending = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  return JSON.parse(pending ?? '{}') as Partial<Pending>;
}

/** @returns why no session was opened, or undefined */
async function openSession(pending: Partial<Pending>, query: URLSearchParams): Promise<string | undefined> {
  const failure = query.get('error');
  if (failure !== null)
    return `The identity provider rejected the sign-in: ${query.get('error_description') ?? failure}`;
  const { state, nonce, codeVerifier } = pending;
  const code = query.get('code');
  if (code === null || state === undefined || state !== query.get('state'))
    return 'This sign-in was not started in this browser window. Start again.';
  try {
    await call('/ui/session/oidc', {
      method: 'POST',
      body: { code, codeVerifier, nonce, redirectUri: redirectUri() },
      ignore401: true,
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Opens the session with the authorization code in the query. */
export async function finishSignIn(query: URLSearchParams): Promise<SignInResult> {
  const pending = takePending();
  const back = pending.back?.startsWith('/ui/') ? pending.back.slice('/ui'.length) : '/health';
  return { inWindow: pending.inWindow === true, back, error: await openSession(pending, query) };
}
