import { describe, expect, it } from 'vitest';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
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
  engine.setRole('large', policies);
  return {
    engine,
    /** Asks for sets of the role `large`, each with another role. */
    fill: (count: number) =>
      Array.from({ length: count }, (_, index) => engine.simulatedGrants([`r${index}`, 'large'], undefined)),
  };
}

describe('the grants of sets of roles', () => {
  it('are kept up to a limit of memory, the oldest ones not', () => {
    const { fill } = setUp();
    const kept = fill(FITTING);
    expect(kept.some(({ stale }) => stale)).toBe(false);
    fill(FITTING + 1);
    expect(kept.map(({ stale }) => stale)).toEqual(kept.map((_, index) => index === 0));
  });

  it('have room again after a change of a policy', () => {
    const { engine, fill } = setUp();
    const before = fill(FITTING);
    engine.setPolicy('many-0', { statements: [statement()] });
    expect(before.every(({ stale }) => stale)).toBe(true);
    engine.setPolicy('many-0', { statements: Array.from({ length: 244 }, () => statement()) });
    expect(fill(FITTING).some(({ stale }) => stale)).toBe(false);
  });
});
