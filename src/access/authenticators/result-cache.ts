import { createHash } from 'node:crypto';
import type { MonotonicClock } from '../../platform/clock.ts';
import { ExpiringLruCache } from '../../platform/lru.ts';
import type { AuthenticationResult } from './authenticator.ts';

const MAX_ENTRIES = 10_000;

/** Recent results by token hash (tokenKey()). The tokens themselves are not kept. */
export type AuthenticationCache = ExpiringLruCache<string, AuthenticationResult>;

export function createAuthenticationCache(clock: MonotonicClock): AuthenticationCache {
  return new ExpiringLruCache(clock, MAX_ENTRIES);
}

/** The cache key of a token: its hash. */
export function tokenKey(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

/** The claims of a JSON Web Token, not verified; undefined for other texts. */
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
