import { createHash } from 'node:crypto';
import type { AuthenticationResult } from '../authenticator.ts';

interface Entry {
  readonly result: AuthenticationResult;
  readonly until: number;
}

/** What an authority said of tokens a moment ago, by hash; the tokens themselves are not kept. Holds a bounded number, the oldest go first. */
export class ResultCache {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => Date;
  readonly #maxEntries: number;

  constructor(now: () => Date, maxEntries = 10_000) {
    this.#now = now;
    this.#maxEntries = maxEntries;
  }

  get(key: string): AuthenticationResult | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.until > this.#now().getTime()) return entry.result;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param ttlMs milliseconds for which the answer holds; not kept where it is not above 0 */
  set(key: string, result: AuthenticationResult, ttlMs: number): void {
    this.#entries.delete(key);
    if (!(ttlMs > 0)) return;
    this.#entries.set(key, { result, until: this.#now().getTime() + ttlMs });
    if (this.#entries.size <= this.#maxEntries) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}

/** What a token is called in a cache. */
export function tokenKey(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

/** The claims of a JSON Web Token, not verified; undefined where the text is none. */
export function unverifiedClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, signature, more] = token.split('.');
  if (payload === undefined || signature === undefined || more !== undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined;
  } catch {
    return undefined;
  }
}

/** The domain of an e-mail address, lower case; undefined for what is no address. */
export function emailDomain(text: string): string | undefined {
  return /^[^@\s]+@([^@\s]+\.[^@\s.]+|localhost)$/.exec(text)?.[1]?.toLowerCase();
}
