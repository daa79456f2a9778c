import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../platform/clock.ts';
import type { AuthenticationResult, Authenticator, Credential } from './authenticator.ts';
import { srnText } from '../policy/srn.ts';
import { conditionClaimsOf, domainOf, groupsOf, isReserved, type Claim } from './claims.ts';
import { createAuthenticationCache, tokenKey, unverifiedClaims, type AuthenticationCache } from './result-cache.ts';

export interface OidcAuthenticatorOptions {
  readonly issuer: string;
  /** A token must have one of these audiences. */
  readonly audiences: readonly string[];
  /** The issuer's current keys. Rejects with `JWKSNoMatchingKey` for an unknown key. */
  readonly keys: JWTVerifyGetKey;
  /** Asymmetric algorithms only: with a symmetric one the public key would be the secret. */
  readonly algorithms: readonly string[];
  /** Claim with the user's name; `email` is accepted only when `email_verified` is true. */
  readonly usernameClaim: string;
  /** Claim with the user's groups. */
  readonly groupsClaim: string;
  /** Claims that row filters of policies can use; none by default. */
  readonly conditionClaims?: readonly string[];
  /** Called with the reason for a token whose groups cannot be read, which then has none; without it, the token is rejected. */
  readonly onUnreadableGroups?: ((problem: string) => void) | undefined;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Called with the reason when the issuer's keys are not available. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** Saves a signature check per request. Short, so that a key withdrawn by the issuer soon stops working. */
const TTL_MS = 60_000;
/** Allowed difference between the clocks. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** Authenticates tokens of an OpenID Connect issuer, verified with the issuer's keys. */
export class OidcAuthenticator implements Authenticator {
  readonly name = 'oidc';
  readonly #options: OidcAuthenticatorOptions;
  readonly #cache: AuthenticationCache;

  constructor(options: OidcAuthenticatorOptions) {
    this.#options = options;
    this.#cache = createAuthenticationCache(options.clock);
  }

  async authenticate(credential: Credential): Promise<AuthenticationResult> {
    if (credential.scheme !== 'bearer') return { outcome: 'not-mine' };
    // The claim only selects the authenticator. It is trusted after the signature has been verified.
    const claims = unverifiedClaims(credential.token);
    const issuer = claims?.['iss'];
    if (claims === undefined || issuer !== this.#options.issuer) return this.#otherIssuer(issuer);
    const key = tokenKey(credential.token);
    const known = this.#cache.get(key);
    if (known) return known;
    const result = await this.#verify(credential.token);
    if (result.outcome === 'authenticated') {
      const expiresInMs = Number(claims['exp']) * 1000 - this.#options.clock.now();
      this.#cache.set(key, result, Math.min(TTL_MS, expiresInMs));
    }
    return result;
  }

  /** A slash at the end is part of an issuer, and is often forgotten in the setting. */
  #otherIssuer(issuer: unknown): AuthenticationResult {
    const withoutSlash = (text: string): string => text.replace(/\/$/, '');
    if (typeof issuer !== 'string' || withoutSlash(issuer) !== withoutSlash(this.#options.issuer)) {
      return { outcome: 'not-mine' };
    }
    return {
      outcome: 'rejected',
      message: `the token is of the issuer \`${issuer}\`, and this gateway accepts tokens of \`${this.#options.issuer}\`: the setting \`oidc-issuer\` must be the same, also in the slash at its end`,
    };
  }

  async #verify(token: string): Promise<AuthenticationResult> {
    const { issuer, audiences, algorithms, keys, clock } = this.#options;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...audiences],
        algorithms: [...algorithms],
        currentDate: new Date(clock.now()),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'sub'],
      });
      return this.#principal(payload);
    } catch (error) {
      const message = this.#describe(error);
      if (message !== undefined) return { outcome: 'rejected', message };
      this.#options.onUnavailable?.(error);
      return { outcome: 'unavailable', message: 'the keys of the identity provider are not available' };
    }
  }

  /** Why the token is invalid; undefined where that could not be determined. */
  #describe(error: unknown): string | undefined {
    const { audiences, algorithms } = this.#options;
    if (error instanceof errors.JWTExpired) return 'the token has expired';
    if (error instanceof errors.JWTClaimValidationFailed) {
      return error.claim === 'aud'
        ? `the token is for another audience: it must have ${audiences.map((name) => `\`${name}\``).join(' or ')}`
        : `the token has an invalid claim \`${error.claim}\``;
    }
    if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
      return `the token is not signed with one of the algorithms ${algorithms.join(', ')}`;
    if (error instanceof errors.JWKSNoMatchingKey)
      return 'the token is signed with a key that the issuer does not have';
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token is invalid';
    if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'the token is malformed';
    return undefined;
  }

  #principal(payload: JWTPayload): AuthenticationResult {
    const { usernameClaim } = this.#options;
    const verified = payload['email_verified'] === true;
    const id = payload[usernameClaim];
    if (typeof id !== 'string' || id === '' || /[\s\p{Cc}]/u.test(id))
      return { outcome: 'rejected', message: `the token has no claim \`${usernameClaim}\` that names a user` };
    if (isReserved(id))
      return {
        outcome: 'rejected',
        message: `the claim \`${usernameClaim}\` has a name that belongs to another authority`,
      };
    if (usernameClaim === 'email' && !verified) {
      return {
        outcome: 'rejected',
        message: 'the e-mail address of the token is not verified: `email_verified` must be true',
      };
    }
    const domain = domainOf(payload);
    if ('problem' in domain) return { outcome: 'rejected', message: domain.problem };
    const groups = this.#groups(payload);
    if ('problem' in groups) return { outcome: 'rejected', message: groups.problem };
    const claims = conditionClaimsOf(payload, this.#options.conditionClaims ?? []);
    return {
      outcome: 'authenticated',
      principal: {
        kind: 'user',
        srn: srnText('user', id),
        id,
        groups: groups.value,
        domain: domain.value,
        ...(claims && { claims }),
        authenticator: 'oidc',
      },
    };
  }

  #groups(payload: JWTPayload): Claim<readonly string[]> {
    const { groupsClaim, onUnreadableGroups } = this.#options;
    const groups = groupsOf(payload, groupsClaim);
    if ('value' in groups || !onUnreadableGroups) return groups;
    onUnreadableGroups(groups.problem);
    return { value: [] };
  }
}
