import { call } from './api.ts';
import { href } from './router.ts';

/** How people may sign in here, besides a token. */
export interface SignInMethods {
  readonly oidc: { readonly authorizationEndpoint: string; readonly clientId: string; readonly scope: string } | null;
}

/** How a way to the identity provider and back ended. */
export interface Arrival {
  /** True where a window of its own went, to renew the session of a page that stays where it is. */
  readonly inWindow: boolean;
  /** Where the person was before, below /ui. */
  readonly back: string;
  /** Why no session was opened; undefined where one was. */
  readonly refusal: string | undefined;
}

interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly back: string;
  readonly inWindow: boolean;
}

/** Survives the way to the identity provider and back; holds no token, only what proves that both ends are the same window. */
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
 * Leaves for the identity provider (authorization code flow with PKCE, RFC 7636).
 * @param inWindow true where this window was opened for that alone
 */
export async function leaveForProvider(oidc: NonNullable<SignInMethods['oidc']>, inWindow: boolean): Promise<void> {
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
  // A provider's address may have parameters of its own, which stay.
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** What this window went for; taken away, so that an answer counts once. */
function takePending(): Partial<Pending> {
  const pending = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  return JSON.parse(pending ?? '{}') as Partial<Pending>;
}

/** @returns why no session could be opened, or undefined */
async function openSession(pending: Partial<Pending>, query: URLSearchParams): Promise<string | undefined> {
  const refused = query.get('error');
  if (refused !== null) return `The identity provider refused: ${query.get('error_description') ?? refused}`;
  const { state, nonce, codeVerifier } = pending;
  const code = query.get('code');
  if (code === null || state === undefined || state !== query.get('state'))
    return 'This sign-in was not begun in this browser window. Begin again.';
  try {
    await call('/ui/session/oidc', {
      method: 'POST',
      body: { code, codeVerifier, nonce, redirectUri: redirectUri() },
      quiet401: true,
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Opens the session with the code that the provider sent along. */
export async function comeBackFromProvider(query: URLSearchParams): Promise<Arrival> {
  const pending = takePending();
  const back = pending.back?.startsWith('/ui/') ? pending.back.slice('/ui'.length) : '/health';
  return { inWindow: pending.inWindow === true, back, refusal: await openSession(pending, query) };
}
