import { ApiError, call } from './api.ts';
import { matchesGlob } from './glob.ts';
import { visible } from './visible.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session, Whoami } from './types.ts';

/** The first character that no token has, visibly. */
const odd = (token: string): string => visible(/[^\x21-\x7e]/u.exec(token)?.[0] ?? '');

/**
 * Exchanges a token for the session cookie. The cookie is HttpOnly and SameSite, so that no script can read the token, and the browser's
 * storage does not contain it.
 * @throws {ApiError} 401 for an invalid token
 */
export async function signIn(token: string): Promise<void> {
  // Such a token cannot be sent: a header has no other characters.
  if (/[^\x21-\x7e]/.test(token))
    throw new ApiError(
      0,
      `A token has only letters, digits and punctuation, without blanks: copy it again. The field has \`${odd(token)}\`.`,
    );
  await call('/ui/session', { method: 'POST', headers: { authorization: `Bearer ${token}` }, ignore401: true });
}

export async function signOut(): Promise<void> {
  await call('/ui/session', { method: 'DELETE', ignore401: true });
}

/** @throws {ApiError} 401 without a session */
export async function loadSession(): Promise<Session> {
  const me = await call<Whoami>('/api/v1/rbac-manager/whoami', { ignore401: true });
  return { me, ...(await call<Omit<Session, 'me'>>('/ui/session', { ignore401: true })) };
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** The session; only below the sign-in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('there is no session');
  return session;
}

/** Whether the caller may do an action on the cluster. The gateway decides; this only selects what is shown. */
export function useMay(action: string): boolean {
  return useSession().clusterActions.includes(action);
}

/** Whether the caller may do an action of access management on a name, such as `UpdateRole` on `analysts`. Denies are known only to the gateway. */
export function useMayOn(): (action: string, name: string) => boolean {
  const { access } = useSession();
  return (action, name) => (access[action] ?? []).some((pattern) => matchesGlob(pattern, name));
}

/** Whether the caller may use the form that grants access: it makes a policy and a role, and assigns the role. */
export const mayGrant = ({ access }: Session): boolean =>
  ['CreatePolicy', 'CreateRole', 'CreateAssignment'].every((action) => access[action] !== undefined);
