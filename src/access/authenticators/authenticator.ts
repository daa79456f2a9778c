import type { Principal } from '../principal.ts';

/** The parsed Authorization header. */
export type Credential =
  | { readonly scheme: 'bearer'; readonly token: string }
  | { readonly scheme: 'basic'; readonly username: string; readonly password: string };

export type AuthenticationResult =
  | { readonly outcome: 'authenticated'; readonly principal: Principal }
  /** The credential does not have this authenticator's form: the next one is tried. */
  | { readonly outcome: 'not-mine' }
  /** The credential has this authenticator's form but is invalid. `message` gives the reason without the credential. */
  | { readonly outcome: 'rejected'; readonly message: string }
  /** The authority of the authenticator was unavailable: 503, never 401. */
  | { readonly outcome: 'unavailable'; readonly message: string }
  /** Only with `local`: the credential may be valid, but only an authority can decide. */
  | { readonly outcome: 'unverified' };

export interface AuthenticateOptions {
  /** Verify only by what this process has: hashes, keys, cached results. The result is `unverified` if only an authority can verify the credential. */
  readonly local?: boolean;
}

/** Turns a credential into a principal. Implementations: service token, Kubernetes TokenReview, OIDC, token file. */
export interface Authenticator {
  readonly name: string;
  /** Ends within a time-out of its own, with `unavailable`. */
  authenticate(credential: Credential, options?: AuthenticateOptions): Promise<AuthenticationResult>;
}
