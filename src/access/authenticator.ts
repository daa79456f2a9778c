import type { Principal } from './principal.ts';

/** What the Authorization header held. */
export type Credential =
  | { readonly scheme: 'bearer'; readonly token: string }
  | { readonly scheme: 'basic'; readonly username: string; readonly password: string };

export type AuthenticationResult =
  | { readonly outcome: 'authenticated'; readonly principal: Principal }
  /** The credential is not of this authenticator's form: the next one is asked. */
  | { readonly outcome: 'not-mine' }
  /** The credential is of this authenticator's form and is no good. `message` says why without the credential. */
  | { readonly outcome: 'rejected'; readonly message: string }
  /** The authority behind the authenticator could not be asked: 503, never 401. */
  | { readonly outcome: 'unavailable'; readonly message: string };

/** Turns a credential into a principal. Implementations: service token, Kubernetes TokenReview, OIDC, token file. */
export interface Authenticator {
  readonly name: string;
  authenticate(credential: Credential, signal: AbortSignal): Promise<AuthenticationResult>;
  /** The same from what is known here and now; undefined where somebody must be asked. Absent where that is so for every credential. */
  authenticateNow?(credential: Credential): AuthenticationResult | undefined;
}
