import { call } from './api.ts';
import { href } from './router.ts';

/** How people may sign in here, besides a token. */
export interface SignInMethods {
  readonly oidc: { readonly authorizationEndpoint: string; readonly clientId: string; readonly scope: string } | null;
}

/** Survives the way to the identity provider and back; holds no token, only what proves that both ends are the same browser. */
const PENDING = 'olap-warden-sign-in';

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

const random = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));
const redirectUri = (): string => location.origin + href('/signed-in');

/** Leaves for the identity provider (authorization code flow with PKCE, RFC 7636). */
export async function leaveForProvider(oidc: NonNullable<SignInMethods['oidc']>): Promise<void> {
  const state = random();
  const codeVerifier = random();
  const challenge = base64Url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))),
  );
  sessionStorage.setItem(PENDING, JSON.stringify({ state, codeVerifier, back: location.pathname + location.search }));
  const url = new URL(oidc.authorizationEndpoint);
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: oidc.clientId,
    scope: oidc.scope,
    redirect_uri: redirectUri(),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }).toString();
  location.assign(url);
}

/**
 * Opens the session with the code that the provider sent along.
 * @returns where the person was before, for the browser to go back to
 * @throws {ApiError | Error} when the provider refused, or the answer was not asked for by this browser
 */
export async function comeBackFromProvider(query: URLSearchParams): Promise<string> {
  const pending = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  const refused = query.get('error');
  if (refused !== null) throw new Error(`The identity provider refused: ${query.get('error_description') ?? refused}`);
  const { state, codeVerifier, back } = JSON.parse(pending ?? '{}') as {
    state?: string;
    codeVerifier?: string;
    back?: string;
  };
  const code = query.get('code');
  if (code === null || state === undefined || codeVerifier === undefined || state !== query.get('state')) {
    throw new Error('This sign-in was not begun in this browser window. Begin again.');
  }
  await call('/ui/session/oidc', {
    method: 'POST',
    body: { code, codeVerifier, redirectUri: redirectUri() },
    quiet401: true,
  });
  return back?.startsWith('/ui') ? back.slice('/ui'.length) : '/health';
}
