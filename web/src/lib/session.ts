import { call } from './api.ts';
import type { Whoami } from './types.ts';

/**
 * Exchanges a token for the session cookie. The cookie is HttpOnly and SameSite, so that no script can read the token, and the browser's
 * storage does not contain it.
 * @throws {ApiError} 401 for an invalid token
 */
export async function signIn(token: string): Promise<void> {
  await call('/ui/session', { method: 'POST', headers: { authorization: `Bearer ${token}` }, ignore401: true });
}

export async function signOut(): Promise<void> {
  await call('/ui/session', { method: 'DELETE', ignore401: true });
}

export function whoami(signal?: AbortSignal): Promise<Whoami> {
  return call<Whoami>('/api/v1/rbac-manager/whoami', { ignore401: true, ...(signal ? { signal } : {}) });
}
