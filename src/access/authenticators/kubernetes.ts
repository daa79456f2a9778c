import type { Clock } from '../../platform/clock.ts';
import type { AuthenticateOptions, AuthenticationResult, Authenticator, Credential } from './authenticator.ts';
import { srnText } from '../policy/srn.ts';
import { emailDomain } from '../subjects.ts';
import { createAuthenticationCache, tokenKey, unverifiedClaims, type AuthenticationCache } from './result-cache.ts';

/** The fields of a TokenReview's status that are used. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  readonly audiences?: readonly string[];
  readonly error?: string;
}

export interface KubernetesAuthenticatorOptions {
  /** Creates a TokenReview. Rejects when the Kubernetes API is not available. */
  readonly review: (token: string, audiences: readonly string[], signal: AbortSignal) => Promise<TokenReviewStatus>;
  /** A token must have one of these audiences; empty for that of the API server. */
  readonly audiences: readonly string[];
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Called with the reason when the Kubernetes API is not available. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** A revoked token stays valid for at most this long. */
const POSITIVE_TTL_MS = 60_000;
/** Limits how often a client that repeats an invalid token causes a review. */
const NEGATIVE_TTL_MS = 5_000;
const REVIEW_TIMEOUT_MS = 8_000;
/** Concurrent reviews. */
const MAX_REVIEWS = 32;

/** The characters of a bearer token, by RFC 6750. */
const TOKEN_FORM = /^[\w.~+/-]+=*$/;

/** Authenticates Kubernetes tokens (of service accounts and of users) by TokenReview. */
export class KubernetesAuthenticator implements Authenticator {
  readonly name = 'kubernetes';
  readonly #options: KubernetesAuthenticatorOptions;
  readonly #cache: AuthenticationCache;
  readonly #reviews = new Map<string, Promise<AuthenticationResult>>();

  constructor(options: KubernetesAuthenticatorOptions) {
    this.#options = options;
    this.#cache = createAuthenticationCache(options.clock);
  }

  async authenticate(
    credential: Credential,
    { local = false }: AuthenticateOptions = {},
  ): Promise<AuthenticationResult> {
    if (credential.scheme !== 'bearer' || !TOKEN_FORM.test(credential.token)) return { outcome: 'not-mine' };
    const key = tokenKey(credential.token);
    const known = this.#cache.get(key);
    if (known) return known;
    if (local) return { outcome: 'unverified' };
    // Concurrent requests with the same new token share one review. It has its own time-out, because the first request may end earlier.
    let review = this.#reviews.get(key);
    if (!review) {
      if (this.#reviews.size >= MAX_REVIEWS)
        return { outcome: 'unavailable', message: 'too many concurrent token reviews' };
      review = this.#review(credential.token, key).finally(() => this.#reviews.delete(key));
      this.#reviews.set(key, review);
    }
    return review;
  }

  async #review(token: string, key: string): Promise<AuthenticationResult> {
    const { audiences, clock } = this.#options;
    let status: TokenReviewStatus;
    try {
      status = await this.#options.review(token, audiences, AbortSignal.timeout(REVIEW_TIMEOUT_MS));
    } catch (error) {
      this.#options.onUnavailable?.(error);
      return { outcome: 'unavailable', message: 'the Kubernetes API does not respond' };
    }
    const result = resultOf(status, audiences);
    const expiry = Number(unverifiedClaims(token)?.['exp'] ?? Number.POSITIVE_INFINITY) * 1000 - clock.now();
    const ttlMs = result.outcome === 'authenticated' ? Math.min(POSITIVE_TTL_MS, expiry) : NEGATIVE_TTL_MS;
    this.#cache.set(key, result, ttlMs);
    return result;
  }
}

function resultOf(status: TokenReviewStatus, audiences: readonly string[]): AuthenticationResult {
  const id = status.user?.username;
  if (status.authenticated !== true || id === undefined || id === '')
    return { outcome: 'rejected', message: 'the Kubernetes API rejected the token: it is unknown or has expired' };
  // An API server without support for audiences omits them. Such a token may be for any audience, and is rejected.
  if (audiences.length > 0 && !audiences.some((audience) => status.audiences?.includes(audience))) {
    return {
      outcome: 'rejected',
      message: `the token is for another audience: it must have ${audiences.map((name) => `\`${name}\``).join(' or ')}`,
    };
  }
  const groups: unknown = status.user?.groups ?? [];
  // Denies for groups that cannot be read would not apply.
  if (!Array.isArray(groups) || groups.some((name) => typeof name !== 'string'))
    return { outcome: 'rejected', message: 'the Kubernetes API returned groups that are no list of names' };
  return {
    outcome: 'authenticated',
    principal: {
      kind: 'user',
      srn: srnText('user', id),
      id,
      groups: groups as string[],
      // The API server is trusted for its user names, and so for the domain of an e-mail address.
      domain: emailDomain(id),
      authenticator: 'kubernetes',
    },
  };
}
