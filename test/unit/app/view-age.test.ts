import { describe, expect, it } from 'vitest';
import { viewProblem } from '../../../src/app/parts/view-age.ts';
import type { StoreHealth } from '../../../src/store/resource-store.ts';

let health: StoreHealth;
const view = (synced: boolean, ageMs: number) => (health = { synced, ageMs, lastError: undefined });

describe('the view of a gateway', () => {
  it('must be complete', () => {
    view(false, 0);
    const problem = viewProblem(() => health, 0);
    expect(problem()).toBe('the gateway has not read all roles, policies, assignments and tokens yet');
    view(true, 0);
    expect(problem()).toBeUndefined();
  });

  it('may have any age by default', () => {
    const problem = viewProblem(() => health, 0);
    view(true, 0);
    expect(problem()).toBeUndefined();
    view(true, 30 * 86_400_000);
    expect(problem()).toBeUndefined();
  });

  it('must not be older than the maximum age, and is good again after contact', () => {
    const problem = viewProblem(() => health, 60_000);
    view(true, 60_000);
    expect(problem()).toBeUndefined();
    view(true, 61_000);
    expect(problem()).toBe(
      'the gateway has had no contact to the Kubernetes API for 61 s, and `max-view-age` is 60 s: access may have been revoked meanwhile',
    );
    view(true, 10);
    expect(problem()).toBeUndefined();
  });
});
