// @module-tag slow
import { describe, expect, it } from 'vitest';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { completeSrn, parseSrn } from '../../../../src/access/policy/srn.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import { naiveDecision, naiveMatch } from '../naive.ts';

const DEPLOYMENT = { environment: 'olap', cluster: 'pinot' };
const HOLDER: Principal = {
  kind: 'user',
  srn: 'srn2:user#u',
  id: 'u',
  groups: ['r'],
  domain: undefined,
  authenticator: 'test',
};

/** Names that begin with each other, so that a trie splits its nodes, and one that shares only the first character. */
const NAMES = ['t', 'ta', 'tab', 'table', 'tables', 'tablet', 'tax', 'o', 'or', 'orders', 'orders_eu', 'o_x'];
const PATTERNS: readonly ((name: string, index: number) => string)[] = [
  (name, index) => `srn2:table#${name}${index}`,
  (name) => `srn2:table#${name}*`,
  (name, index) => `srn2:table#*${index}${name}`,
  (name, index) => `srn2:cluster#pinot:table#${name}_${index}`,
  (name) => `srn2:cluster#other:table#${name}*`,
  (name, index) => `srn2:*#${name}-${index}`,
  (name, index) => `srn2:t*#${name}.${index}`,
  (name, index) => `srn2:role#${name}${index}`,
];
/** Their number has no common factor with that of the patterns. */
const ACTIONS = [
  ['Query'],
  ['Query*'],
  ['GetSchema', 'GetTableConfig'],
  ['Get*'],
  ['*'],
  ['Query', 'Get*'],
  ['BindPolicy', 'GetS*'],
];

/** Different statements, of which every pattern and every name is at many places. */
function statements(count: number): Statement[] {
  return Array.from({ length: count }, (_, index) => {
    const pattern = PATTERNS[index % PATTERNS.length]!;
    const name = NAMES[Math.floor(index / PATTERNS.length) % NAMES.length]!;
    return {
      effect: index % 5 === 4 ? 'deny' : 'allow',
      actions: ACTIONS[index % ACTIONS.length]!,
      resources: [pattern(name, index)],
    };
  });
}

/** The resource that a pattern names, with other texts in place of its stars. */
function asked(pattern: string): string[] {
  return ['', 'x', 'able_x'].map((text) => pattern.replace('srn2:*#', 'srn2:user#').replaceAll('*', text));
}

// More than 128 are in a trie.
describe.each([1, 33, 100, 400])('a policy of %i statements', (count) => {
  const list = statements(count);
  const engine = new DecisionEngine(DEPLOYMENT, {
    heldRoles: ({ groups }) => ({ roles: groups, validFrom: -Infinity, validUntil: Infinity }),
  });
  engine.setPolicy('p', { statements: list });
  engine.setRole('r', ['p']);
  const state = { ...DEPLOYMENT, policies: { p: { statements: list } }, roles: { r: ['p'] } };
  const resources = [...new Set(list.flatMap((statement) => statement.resources).flatMap(asked))];

  it.each(['Query', 'QueryOfALaterVersion', 'GetSchema', 'GetOfALaterVersion', 'BindPolicy', '*'])(
    'decides about %s as it is written',
    (action) => {
      const decisions = resources.flatMap((text) => {
        const parsed = parseSrn(text);
        if (!parsed.ok) return [];
        const levels = parsed.value.levels.map(({ kind, id }) => [kind, id] as const);
        const { reason, matchedStatements } = engine.decide(HOLDER, action, parsed.value);
        expect(engine.isAllowed(HOLDER, action, parsed.value)).toBe(reason === 'allowed');
        const expected = naiveDecision(state, ['r'], action, levels);
        const complete = completeSrn(parsed.value, DEPLOYMENT).map(({ kind, id }) => [kind, id] as const);
        const effect = expected === 'explicitDeny' ? 'deny' : 'allow';
        const matching = list.flatMap((one, index) =>
          one.effect === effect && naiveMatch(one, action, complete) ? [index] : [],
        );
        const found = matchedStatements.map(({ statementIndex }) => statementIndex).toSorted((a, b) => a - b);
        return [[text, { reason, found }, { reason: expected, found: matching }] as const];
      });
      expect(decisions.length).toBeGreaterThan(count / 2);
      expect(decisions.map(([text, decision]) => [text, decision])).toEqual(
        decisions.map(([text, , expected]) => [text, expected]),
      );
    },
  );
});

describe('the patterns of a set of roles', () => {
  const engine = new DecisionEngine(DEPLOYMENT, {
    heldRoles: ({ groups }) => ({ roles: groups, validFrom: -Infinity, validUntil: Infinity }),
  });

  it('of a policy that is not stored have no role', () => {
    const unsaved = { statements: [{ effect: 'allow', actions: ['Query'], resources: ['*'] }] };
    const decide = (spec: unknown) => {
      return engine.decideWith(engine.simulatedGrants([], spec), 'Query', { levels: [{ kind: 'table', id: 't' }] });
    };
    expect(decide(unsaved)).toEqual({
      allowed: true,
      reason: 'allowed',
      matchedStatements: [{ role: undefined, policy: undefined, statementIndex: 0, effect: 'allow' }],
    });
    expect(decide({ statements: [...unsaved.statements, { effect: 'allow', resources: ['table#t'] }] })).toEqual({
      allowed: false,
      reason: 'invalidPolicy',
      matchedStatements: [{ role: undefined, policy: undefined, statementIndex: 1, effect: 'deny' }],
    });
    expect(decide(undefined)).toEqual({ allowed: false, reason: 'implicitDeny', matchedStatements: [] });
  });
});

describe('the delegation rights', () => {
  const everywhere = ['*', 'srn2:*#*', 'srn2:**#*'];
  const policies = ['srn2:policy#*', 'srn2:p*#*', 'srn2:*#p*'];

  it.each([
    [undefined, everywhere, true],
    [['*'], everywhere, true],
    [['Get*', '**'], everywhere, true],
    [undefined, policies, false],
    [['*'], policies, false],
    [['*Policy', 'Bind*'], [...everywhere, ...policies], false],
    [['BindPolicy'], [...everywhere, ...policies], true],
    [['bindpolicy', 'Query'], [...everywhere, ...policies], true],
  ])('%s on each of %s give one: %s', (actions, resources, allowed) => {
    for (const resource of resources) {
      const engine = new DecisionEngine(DEPLOYMENT, {
        heldRoles: ({ groups }) => ({ roles: groups, validFrom: -Infinity, validUntil: Infinity }),
      });
      engine.setPolicy('p', { statements: [{ effect: 'allow', ...(actions && { actions }), resources: [resource] }] });
      engine.setRole('r', ['p']);
      const policy = { levels: [{ kind: 'policy', id: 'p1' }] };
      expect([resource, engine.isAllowed(HOLDER, 'BindPolicy', policy)]).toEqual([resource, allowed]);
      engine.setPolicy('d', { statements: [{ effect: 'deny', actions: ['*Policy'], resources: [resource] }] });
      engine.setRole('r', ['p', 'd']);
      expect(engine.isAllowed(HOLDER, 'BindPolicy', policy)).toBe(false);
    }
  });
});
