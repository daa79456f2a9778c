// @module-tag slow
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askCedar, prepareCedar } from '../../../../bench/peers/cedar.ts';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import { anyAction, anyResource, anyStatement } from '../arbitraries.ts';
import { naiveDecision, type NaiveState } from '../naive.ts';

const DEPLOYMENT = { environment: 'olap', cluster: 'pinot' };
const UNREADABLE = { statements: [{ effect: 'allow', actions: ['Quary'], resources: ['*'] }] };

/** A principal whose groups are its roles. */
function holder(roles: readonly string[]): Principal {
  return { kind: 'user', srn: 'srn2:user#u', id: 'u', groups: roles, domain: undefined, authenticator: 'test' };
}

function engine(): DecisionEngine {
  return new DecisionEngine(DEPLOYMENT, {
    heldRoles: ({ groups }) => ({ roles: groups, validFrom: -Infinity, validUntil: Infinity }),
  });
}

const toSrn = (levels: readonly (readonly [string, string])[]) => ({
  levels: levels.map(([kind, id]) => ({ kind, id })),
});

const POLICIES = ['a', 'b', 'system-admin'];
const ROLES = ['r', 'system-admin'];

/** One change to the state, as reported by a store. */
const anyChange = fc.oneof(
  fc.record({
    type: fc.constant('policy' as const),
    name: fc.constantFrom(...POLICIES),
    statements: fc.oneof(
      { weight: 12, arbitrary: fc.array(anyStatement, { minLength: 1, maxLength: 6 }) },
      { weight: 1, arbitrary: fc.constant('unreadable' as const) },
      { weight: 2, arbitrary: fc.constant(undefined) },
    ),
  }),
  fc.record({
    type: fc.constant('role' as const),
    name: fc.constantFrom(...ROLES),
    policies: fc.option(fc.uniqueArray(fc.constantFrom(...POLICIES)), { nil: undefined }),
  }),
);
type Change = typeof anyChange extends fc.Arbitrary<infer T> ? T : never;

function apply(target: DecisionEngine, state: NaiveState, change: Change): NaiveState {
  if (change.type === 'role') {
    const { [change.name]: _, ...others } = state.roles;
    if (change.policies === undefined) {
      target.removeRole(change.name);
      return { ...state, roles: others };
    }
    target.setRole(change.name, change.policies);
    return { ...state, roles: { ...others, [change.name]: change.policies } };
  }
  const { [change.name]: _, ...others } = state.policies;
  const { statements } = change;
  if (statements === undefined) {
    target.removePolicy(change.name);
    return { ...state, policies: others };
  }
  target.setPolicy(change.name, statements === 'unreadable' ? UNREADABLE : { statements });
  const read = statements === 'unreadable' ? statements : { statements };
  return { ...state, policies: { ...others, [change.name]: read } };
}

const anyQuestion = fc.record({
  roles: fc.uniqueArray(fc.constantFrom(...ROLES, 'none'), { minLength: 1 }),
  action: anyAction,
  resource: anyResource,
});

describe('decisions on random states', () => {
  it('equal those of the reference implementation after any sequence of changes', () => {
    const reasons = new Set<string>();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyChange, fc.array(anyQuestion, { maxLength: 4 })), { minLength: 1, maxLength: 12 }),
        (steps) => {
          const target = engine();
          const principals = new Map<string, Principal>();
          let state: NaiveState = { ...DEPLOYMENT, policies: {}, roles: {} };
          for (const [change, questions] of steps) {
            state = apply(target, state, change);
            for (const { roles, action, resource } of questions) {
              // The same object each time, as returned by a cache: its cached decisions must not become stale.
              const key = roles.join(' ');
              const principal = principals.get(key) ?? holder(roles);
              principals.set(key, principal);
              const expected = naiveDecision(state, roles, action, resource);
              const decision = target.decide(principal, action, toSrn(resource));
              expect(decision.reason).toBe(expected);
              expect(decision.allowed).toBe(expected === 'allowed' || expected === 'systemAdmin');
              reasons.add(expected);
              expect(target.isAllowed(principal, action, toSrn(resource))).toBe(decision.allowed);
              expect(decision.matchedStatements.length > 0).toBe(expected !== 'implicitDeny');
            }
          }
        },
      ),
      { numRuns: 200 },
    );
    expect([...reasons].sort()).toEqual(['allowed', 'explicitDeny', 'implicitDeny', 'invalidPolicy', 'systemAdmin']);
  });

  it('equal those of Cedar for the same policies', () => {
    fc.assert(
      fc.property(
        fc.array(anyStatement, { minLength: 1, maxLength: 8 }),
        fc.array(fc.tuple(anyAction, anyResource), { minLength: 1, maxLength: 6 }),
        (statements, questions) => {
          const target = engine();
          target.setPolicy('p', { statements });
          target.setRole('r', ['p']);
          prepareCedar('random', [{ statements }]);
          for (const [action, resource] of questions) {
            const srn = toSrn(resource);
            expect(target.isAllowed(holder(['r']), action, srn)).toBe(askCedar('random', action, srn, DEPLOYMENT));
          }
        },
      ),
      { numRuns: 80 },
    );
  });
});

describe('bounds of a decision', () => {
  const many = (count: number): Statement[] =>
    Array.from({ length: count }, (_, index) => ({
      effect: 'allow',
      actions: ['Query'],
      resources: [`srn2:table#*t${index % 2}*`],
    }));

  it.each([20, 128, 129, 1000])('lists at most 100 of %i statements, with the same decision', (count) => {
    const target = engine();
    target.setPolicy('p', { statements: many(count) });
    for (const role of ['a', 'b', 'c']) target.setRole(role, ['p']);
    const { allowed, matchedStatements } = target.decide(holder(['a', 'b', 'c']), 'Query', toSrn([['table', 't0']]));
    expect(allowed).toBe(true);
    expect(matchedStatements).toHaveLength(Math.min(100, Math.ceil(count / 2) * 3));
  });

  it('denies a resource whose name is too long, also to a caller with all rights', () => {
    const target = engine();
    target.setPolicy('p', { statements: [{ effect: 'allow', resources: ['*'] }] });
    target.setRole('r', ['p']);
    const ask = (id: string): boolean[] => {
      const resource = { levels: [{ kind: 'table', id }] };
      const inner = {
        levels: [
          { kind: 'cluster', id },
          { kind: 'table', id: 't' },
        ],
      };
      return [resource, inner].flatMap((srn) => [
        target.isAllowed(holder(['r']), 'Query', srn),
        target.decide(holder(['r']), 'Query', srn).allowed,
      ]);
    };
    target.setPolicy('system-admin', { statements: [{ effect: 'allow', resources: ['*'] }] });
    target.setPolicy('denying', { statements: [{ effect: 'deny', resources: ['*'] }] });
    target.setRole('system-admin', ['system-admin', 'denying']);
    const manages = (length: number): boolean =>
      target.isAllowed(holder(['system-admin']), 'GetRole', toSrn([['role', 'r'.repeat(length)]]));
    expect([manages(512), manages(513)]).toEqual([true, false]);
    expect(ask('t'.repeat(512))).toEqual([true, true, true, true]);
    expect(ask('t'.repeat(513))).toEqual([false, false, false, false]);
  });
});
