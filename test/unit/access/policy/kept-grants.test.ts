import { describe, expect, it } from 'vitest';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import type { GrantSet } from '../../../../src/access/policy/grants/grant-set.ts';
import { statement } from '../../../builders/resources.ts';

/** A set of two roles with 1952 statements weighs 16 + 2 + 16 · 1952 = 31,250: 32 of them weigh exactly as much as is kept. */
const FITTING = 32;

function setUp() {
  const engine = new DecisionEngine(
    { environment: 'olap', cluster: 'pinot' },
    { heldRoles: ({ groups }) => ({ roles: groups, validFrom: -Infinity, validUntil: Infinity }) },
  );
  const statements = (count: number) =>
    Array.from({ length: count }, (_, index) => statement({ resources: [`srn2:table#t${index}`] }));
  const policies = Array.from({ length: 8 }, (_, index) => `many-${index}`);
  for (const policy of policies) engine.setPolicy(policy, { statements: statements(244) });
  engine.setPolicy('listed', { statements: statements(128) });
  engine.setRole('large', policies);
  engine.setRole('small', ['listed']);
  return {
    engine,
    /** The kept set, or a new one. */
    grants: (role: string, other: string): GrantSet => engine.simulatedGrants([other, role], undefined),
    /** Asks for sets of the role `large`, each with another role. */
    fill: (count: number) =>
      Array.from({ length: count }, (_, index) => engine.simulatedGrants([`r${index}`, 'large'], undefined)),
  };
}

describe('the grants of sets of roles', () => {
  it('are kept up to the limit, whatever the order of the roles', () => {
    const { fill } = setUp();
    const kept = fill(FITTING);
    for (const [index, grants] of fill(FITTING).entries()) expect(grants).toBe(kept[index]);
    expect(kept.some(({ stale }) => stale)).toBe(false);
  });

  it.each([
    ['large', 'another'],
    ['none', 'nothing'],
  ])('beyond the limit the oldest is dropped, also for one of few statements: %s', (role, other) => {
    const { fill, grants } = setUp();
    const kept = fill(FITTING);
    const added = grants(role, other);
    expect(kept.map(({ stale }) => stale)).toEqual(kept.map((_, index) => index === 0));
    expect(grants(role, other)).toBe(added);
    // One fits again.
    expect(grants('none', 'no-other').stale).toBe(false);
    expect(kept.filter(({ stale }) => stale)).toHaveLength(role === 'large' ? 2 : 1);
  });

  it('weigh less where the statements are in a list', () => {
    const { fill, grants } = setUp();
    const kept = fill(FITTING - 1);
    // 214 sets of 146 are at most the rest of 31,250; in an index, 16 of them would be more.
    const listed = Array.from({ length: 214 }, (_, index) => grants('small', `s${index}`));
    expect([...kept, ...listed].some(({ stale }) => stale)).toBe(false);
    grants('small', 'one-more');
    expect(kept[0]?.stale).toBe(true);
  });

  it('have room again after a change of a policy', () => {
    const { engine, fill } = setUp();
    const before = fill(FITTING);
    engine.setPolicy('many-0', { statements: [statement()] });
    expect(before.every(({ stale }) => stale)).toBe(true);
    engine.setPolicy('many-0', { statements: Array.from({ length: 244 }, () => statement()) });
    expect(fill(FITTING).some(({ stale }) => stale)).toBe(false);
  });

  it('of the holders of a policy are found by the policy', () => {
    const { engine } = setUp();
    expect([...engine.rolesHolding('nobody')]).toEqual([]);
    engine.setRole('b', ['shared', 'shared']);
    engine.setRole('a', ['shared']);
    expect([...engine.rolesHolding('shared')].toSorted()).toEqual(['a', 'b']);
    engine.setRole('b', []);
    engine.removeRole('a');
    expect([...engine.rolesHolding('shared')]).toEqual([]);
  });
});
