import type { StoreHealth } from '../../store/resource-store.ts';

/**
 * Why a gateway cannot decide access now: its view of the resources is not complete yet, or older than allowed.
 * @param maxAgeMs 0: any age is allowed
 * @returns a function that returns the reason, or undefined while there is none; called for each request
 */
export function viewProblem(health: () => StoreHealth, maxAgeMs: number): () => string | undefined {
  let wasSynced = false;
  return () => {
    if (wasSynced && maxAgeMs === 0) return undefined;
    const { synced, ageMs } = health();
    if (!synced) return 'the gateway has not read all roles, policies, assignments and tokens yet';
    wasSynced = true;
    if (maxAgeMs === 0 || ageMs <= maxAgeMs) return undefined;
    const [age, limit] = [ageMs, maxAgeMs].map((ms) => Math.floor(ms / 1000));
    return `the gateway has had no contact to the Kubernetes API for ${age} s, and \`max-view-age\` is ${limit} s: access may have been revoked meanwhile`;
  };
}
