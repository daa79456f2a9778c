import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { AuthenticationResult, Authenticator, Credential } from '../authenticator.ts';
import { srnText } from '../srn.ts';
import { emailDomain, ResultCache, tokenKey, unverifiedClaims } from './result-cache.ts';

export interface OidcAuthenticatorOptions {
  readonly issuer: string;
  /** Audiences of which a token must have one. */
  readonly audiences: readonly string[];
  /** The issuer's keys, which follow its rotation: rejects with `JWKSNoMatchingKey` for one that it does not have. */
  readonly keys: JWTVerifyGetKey;
  /** Asymmetric ones only: with a symmetric one the public key would be the secret. */
  readonly algorithms: readonly string[];
  /** Claim that names the user; `email` counts only while `email_verified` holds. */
  readonly usernameClaim: string;
  /** Claim that lists the groups. */
  readonly groupsClaim: string;
  readonly now: () => Date;
  /** Told why the issuer's keys could not be had. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** Sparing a signature check for each request; short, so that a key that the issuer withdrew is soon out of use. */
const TTL_MS = 60_000;
/** Clocks differ by seconds, not by minutes. */
const CLOCK_TOLERANCE_SECONDS = 5;
const MAX_GROUPS = 1000;

/** Tokens of an OpenID Connect issuer, verified here by the issuer's keys. */
export class OidcAuthenticator implements Authenticator {
  readonly name = 'oidc';
  readonly #options: OidcAuthenticatorOptions;
  readonly #cache: ResultCache;

  constructor(options: OidcAuthenticatorOptions) {
    this.#options = options;
    this.#cache = new ResultCache(options.now);
  }

  async authenticate(credential: Credential): Promise<AuthenticationResult> {
    if (credential.scheme !== 'bearer') return { outcome: 'not-mine' };
    // Another issuer's token is left to the authenticators that follow; that it is this one's is only believed after the signature.
    const claims = unverifiedClaims(credential.token);
    if (claims?.['iss'] !== this.#options.issuer) return { outcome: 'not-mine' };
    const key = tokenKey(credential.token);
    const known = this.#cache.get(key);
    if (known) return known;
    const result = await this.#verify(credential.token);
    if (result.outcome === 'authenticated') {
      const expiresInMs = Number(claims['exp']) * 1000 - this.#options.now().getTime();
      this.#cache.set(key, result, Math.min(TTL_MS, expiresInMs));
    }
    return result;
  }

  async #verify(token: string): Promise<AuthenticationResult> {
    const { issuer, audiences, algorithms, keys, now } = this.#options;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...audiences],
        algorithms: [...algorithms],
        currentDate: now(),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'sub'],
      });
      return this.#principal(payload);
    } catch (error) {
      const message = this.#describe(error);
      if (message !== undefined) return { outcome: 'rejected', message };
      this.#options.onUnavailable?.(error);
      return { outcome: 'unavailable', message: 'the identity provider’s keys cannot be read' };
    }
  }

  /** Why the token is no good; undefined where it could not be found out. */
  #describe(error: unknown): string | undefined {
    const { audiences, algorithms } = this.#options;
    if (error instanceof errors.JWTExpired) return 'the token has expired';
    if (error instanceof errors.JWTClaimValidationFailed) {
      return error.claim === 'aud'
        ? `the token is for another audience: it must have ${audiences.map((name) => `\`${name}\``).join(' or ')}`
        : `the claim \`${error.claim}\` of the token is not as it must be`;
    }
    if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
      return `the token is not signed by one of the algorithms ${algorithms.join(', ')}`;
    if (error instanceof errors.JWKSNoMatchingKey) return 'the token is signed by a key that the issuer does not have';
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token does not hold';
    if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'the token is malformed';
    return undefined;
  }

  #principal(payload: JWTPayload): AuthenticationResult {
    const { usernameClaim, groupsClaim } = this.#options;
    const verified = payload['email_verified'] === true;
    const id = payload[usernameClaim];
    if (typeof id !== 'string' || id === '' || /[\s\p{Cc}]/u.test(id))
      return { outcome: 'rejected', message: `the token has no claim \`${usernameClaim}\` that names a user` };
    if (usernameClaim === 'email' && !verified) {
      return {
        outcome: 'rejected',
        message: 'the e-mail address of the token is not verified: `email_verified` must be true',
      };
    }
    const email = payload['email'];
    const groups = payload[groupsClaim];
    return {
      outcome: 'authenticated',
      principal: {
        kind: 'user',
        srn: srnText('user', id),
        id,
        groups: groupNames(groups),
        domain: verified && typeof email === 'string' ? emailDomain(email) : undefined,
        authenticator: 'oidc',
      },
    };
  }
}

function groupNames(claim: unknown): string[] {
  const entries: unknown[] = Array.isArray(claim) ? claim : [claim];
  return entries.filter((entry): entry is string => typeof entry === 'string' && entry !== '').slice(0, MAX_GROUPS);
}
