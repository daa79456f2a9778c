import type { AuthenticationResult, Authenticator, Credential } from './authenticator.ts';

/**
 * Asks each authenticator in turn: the first that does not answer `not-mine` decides.
 *
 * An authority that is away does not decide, since a later authenticator may know the credential; when none does,
 * the answer is `unavailable`: a good credential must never be called bad because nobody could look.
 * @param authenticators those that recognise a credential by its form first, those that must ask an authority last
 */
export function authenticatorChain(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: 'chain',
    async authenticate(credential: Credential, signal: AbortSignal): Promise<AuthenticationResult> {
      let unavailable: AuthenticationResult | undefined;
      for (const authenticator of authenticators) {
        const result = await authenticator.authenticate(credential, signal);
        if (result.outcome === 'unavailable') unavailable ??= result;
        else if (result.outcome !== 'not-mine')
          return unavailable && result.outcome === 'rejected' ? unavailable : result;
      }
      return unavailable ?? { outcome: 'rejected', message: notMineMessage(credential) };
    },
    authenticateNow(credential: Credential): AuthenticationResult | undefined {
      for (const authenticator of authenticators) {
        const result = authenticator.authenticateNow?.(credential);
        if (result?.outcome !== 'not-mine') return result;
      }
      return undefined;
    },
  };
}

function notMineMessage(credential: Credential): string {
  return credential.scheme === 'bearer'
    ? 'the bearer token is of no kind that this gateway accepts'
    : 'the user name is not the access key of a service token';
}
