import type { AuthenticationResult, Authenticator, Credential } from '../authenticator.ts';
import { srnText } from '../srn.ts';
import { emailDomain, ResultCache, tokenKey, unverifiedClaims } from './result-cache.ts';

/** The part of a TokenReview's status that is used. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  readonly audiences?: readonly string[];
  readonly error?: string;
}

export interface KubernetesAuthenticatorOptions {
  /** Asks the Kubernetes API whose token it is. Rejects where the API cannot be asked. */
  readonly review: (token: string, audiences: readonly string[], signal: AbortSignal) => Promise<TokenReviewStatus>;
  /** Audiences of which a token must have one; empty for the API server's own. */
  readonly audiences: readonly string[];
  readonly now: () => Date;
  /** Told why the API could not be asked. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** A revoked token works on for no longer than this. */
const POSITIVE_TTL_MS = 60_000;
/** Long enough that a client that tries again and again does not reach the API server each time. */
const NEGATIVE_TTL_MS = 5_000;
const REVIEW_TIMEOUT_MS = 8_000;
/** Reviews at once; the API server's own limits are for all of its clients. */
const MAX_REVIEWS = 32;

/** The characters of a bearer token, by RFC 6750. */
const TOKEN_FORM = /^[\w.~+/-]+=*$/;

/** Kubernetes tokens, by TokenReview: service accounts, and whoever else the API server knows. */
export class KubernetesAuthenticator implements Authenticator {
  readonly name = 'kubernetes';
  readonly #options: KubernetesAuthenticatorOptions;
  readonly #cache: ResultCache;
  readonly #reviews = new Map<string, Promise<AuthenticationResult>>();

  constructor(options: KubernetesAuthenticatorOptions) {
    this.#options = options;
    this.#cache = new ResultCache(options.now);
  }

  async authenticate(credential: Credential): Promise<AuthenticationResult> {
    if (credential.scheme !== 'bearer' || !TOKEN_FORM.test(credential.token)) return { outcome: 'not-mine' };
    const key = tokenKey(credential.token);
    const known = this.#cache.get(key);
    if (known) return known;
    // Many requests with one new token are one review; it outlives the request that began it, so it has a time-out of its own.
    let review = this.#reviews.get(key);
    if (!review) {
      if (this.#reviews.size >= MAX_REVIEWS)
        return { outcome: 'unavailable', message: 'too many tokens are being checked at once' };
      review = this.#review(credential.token, key).finally(() => this.#reviews.delete(key));
      this.#reviews.set(key, review);
    }
    return review;
  }

  async #review(token: string, key: string): Promise<AuthenticationResult> {
    const { audiences, now } = this.#options;
    let status: TokenReviewStatus;
    try {
      status = await this.#options.review(token, audiences, AbortSignal.timeout(REVIEW_TIMEOUT_MS));
    } catch (error) {
      this.#options.onUnavailable?.(error);
      return { outcome: 'unavailable', message: 'the Kubernetes API does not answer' };
    }
    const result = resultOf(status, audiences);
    const expiry = Number(unverifiedClaims(token)?.['exp'] ?? Number.POSITIVE_INFINITY) * 1000 - now().getTime();
    const ttlMs = result.outcome === 'authenticated' ? Math.min(POSITIVE_TTL_MS, expiry) : NEGATIVE_TTL_MS;
    this.#cache.set(key, result, ttlMs);
    return result;
  }
}

function resultOf(status: TokenReviewStatus, audiences: readonly string[]): AuthenticationResult {
  const id = status.user?.username;
  if (status.authenticated !== true || id === undefined || id === '')
    return { outcome: 'rejected', message: 'the Kubernetes API does not know the token, or it has expired' };
  // An API server that does not know audiences leaves them out: such a token may be meant for anybody.
  if (audiences.length > 0 && !audiences.some((audience) => status.audiences?.includes(audience))) {
    return {
      outcome: 'rejected',
      message: `the token is for another audience: it must have ${audiences.map((name) => `\`${name}\``).join(' or ')}`,
    };
  }
  return {
    outcome: 'authenticated',
    principal: {
      kind: 'user',
      srn: srnText('user', id),
      id,
      groups: status.user?.groups ?? [],
      // Whoever configured the API server vouches for its user names, and so for the domain of one that is an address.
      domain: emailDomain(id),
      authenticator: 'kubernetes',
    },
  };
}
