import type { AuthenticateOptions, AuthenticationResult, Authenticator, Credential } from './authenticator.ts';

/**
 * Tries the authenticators in order: the first result other than `not-mine` is final.
 *
 * An unavailable authority is not final, because a later authenticator may accept the credential. If none does,
 * the result is `unavailable`, because the credential may be valid. The same holds for `unverified`.
 * @param authenticators first those that recognise a credential by its form, last those that call an authority
 */
export function authenticatorChain(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: 'chain',
    async authenticate(credential: Credential, options?: AuthenticateOptions): Promise<AuthenticationResult> {
      let undecided: AuthenticationResult | undefined;
      for (const authenticator of authenticators) {
        const result = await authenticator.authenticate(credential, options);
        if (result.outcome === 'unavailable' || result.outcome === 'unverified') undecided ??= result;
        else if (result.outcome !== 'not-mine') return undecided && result.outcome === 'rejected' ? undecided : result;
      }
      return undecided ?? { outcome: 'rejected', message: notMineMessage(credential) };
    },
  };
}

function notMineMessage(credential: Credential): string {
  return credential.scheme === 'bearer'
    ? 'the bearer token has no form that this gateway accepts'
    : 'the user name is not the access key of a service token';
}
