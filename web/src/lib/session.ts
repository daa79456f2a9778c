import { call } from './api.ts';
import type { Whoami } from './types.ts';

/**
 * Exchanges a token for the session cookie. The cookie is HttpOnly and same-site: no script, ours included, can read the token
 * again, and nothing is kept in the browser's storage.
 * @throws {ApiError} 401 when the token is no good
 */
export async function signIn(token: string): Promise<void> {
  await call('/ui/session', { method: 'POST', headers: { authorization: `Bearer ${token}` }, quiet401: true });
}

export async function signOut(): Promise<void> {
  await call('/ui/session', { method: 'DELETE', quiet401: true });
}

export function whoami(signal?: AbortSignal): Promise<Whoami> {
  return call<Whoami>('/api/v1/rbac-manager/whoami', { quiet401: true, ...(signal ? { signal } : {}) });
}
