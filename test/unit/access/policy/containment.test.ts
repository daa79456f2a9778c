import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePolicy, type CompiledStatement } from '../../../../src/access/policy/compiled-policy.ts';
import { TooManyComparisons } from '../../../../src/access/policy/gain.ts';
import { isDelegationRight } from '../../../../src/access/policy/actions.ts';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { compileGlob, globIncludes, globMatches, globsIntersect } from '../../../../src/platform/glob.ts';
import { GrantSet } from '../../../../src/access/policy/grants/grant-set.ts';
import { parseSrn } from '../../../../src/access/policy/srn.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import { anyStatement } from '../arbitraries.ts';
import { naiveDecision, type NaiveStatement } from '../naive.ts';

function statements(...list: Statement[]): readonly CompiledStatement[] {
  const { statements: compiled, errors } = compilePolicy('p', { statements: list });
  expect(errors).toEqual([]);
  return compiled;
}

function grants(...list: Statement[]): GrantSet {
  const held = list.length === 0 ? [] : [{ policy: compilePolicy('own', { statements: list }), roles: ['r'] }];
  return new GrantSet('r', ['r'], held);
}

const allow = (actions: string[] | undefined, ...resources: string[]): Statement => ({
  effect: 'allow',
  ...(actions && { actions }),
  resources,
});
const deny = (actions: string[] | undefined, ...resources: string[]): Statement => ({
  effect: 'deny',
  ...(actions && { actions }),
  resources,
});

/** `contained`, or the action and the resource of the first missing grant. */
function check(caller: Statement[], policy: Statement[]): string {
  const compiled = statements(...policy);
  const missing = grants(...caller).missingGrant({
    gained: compiled.filter(({ effect }) => effect === 'allow'),
    denied: compiled.filter(({ effect }) => effect === 'deny'),
  });
  if (!missing) return 'contained';
  return `${missing.deniedBy ? 'denied ' : ''}${missing.action} on ${missing.resource}`;
}

describe('globs', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 });
  const letters = ['', 'a', 'b'];
  const pairs = letters.flatMap((a) => letters.map((b) => a + b));
  const texts = pairs.flatMap((a) => pairs.map((b) => a + b));

  it('include each other only if every text of the one is one of the other', () => {
    fc.assert(
      fc.property(pattern, pattern, (a, b) => {
        const [outer, inner] = [compileGlob(a), compileGlob(b)];
        if (!globIncludes(outer, inner)) return;
        for (const text of texts) expect(globMatches(inner, text) && !globMatches(outer, text)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['*', 'a*b', true],
    ['a*', 'ab*c', true],
    ['a*', 'a', true],
    ['a*c', 'ab*c', true],
    ['*e*', '*', false],
    ['a*b*', 'a*', false],
    ['prod_*', 'prod_*_eu', true],
    ['prod_*', 'prod*', false],
    ['*a*a*', '*aa*', true],
    ['*aa*', '*a*a*', false],
    ['**', '*', true],
  ])('%s includes %s: %s', (outer, inner, includes) => {
    expect(globIncludes(compileGlob(outer), compileGlob(inner))).toBe(includes);
  });

  it('intersect whenever a text matches both', () => {
    fc.assert(
      fc.property(pattern, pattern, (a, b) => {
        const [x, y] = [compileGlob(a), compileGlob(b)];
        const common = texts.some((text) => globMatches(x, text) && globMatches(y, text));
        expect(globsIntersect(x, y)).toBe(globsIntersect(y, x));
        if (common) expect(globsIntersect(x, y)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['a*', '*b', true],
    ['a*', 'b*', false],
    ['*a', '*ba', true],
    ['*a', '*b', false],
    ['ab', 'a*b', true],
    ['a', 'b', false],
  ])('%s and %s intersect: %s', (a, b, intersect) => {
    expect(globsIntersect(compileGlob(a), compileGlob(b))).toBe(intersect);
  });
});

describe('whether a caller holds all that a policy gives', () => {
  const TABLES = allow(undefined, 'srn2:cluster#*', 'srn2:table#*');
  it.each<[string, Statement[], Statement[], string]>([
    ['the same statement', [TABLES], [TABLES], 'contained'],
    ['a part of it', [TABLES], [allow(['Query', 'Get*'], 'srn2:table#prod_*')], 'contained'],
    ['nothing held', [], [allow(['Query'], 'srn2:table#a')], 'Query on srn2:table#a'],
    ['another resource', [TABLES], [allow(['Query'], 'srn2:role#a')], 'Query on srn2:role#a'],
    [
      'a wider glob',
      [allow(['Query'], 'srn2:table#prod_*')],
      [allow(['Query'], 'srn2:table#prod*')],
      'Query on srn2:table#prod*',
    ],
    [
      'another action',
      [allow(['Query'], 'srn2:table#*')],
      [allow(['Query', 'GetSize'], 'srn2:table#a')],
      'GetSize on srn2:table#a',
    ],
    [
      'everything, in two statements',
      [TABLES],
      [allow(['A*', 'B*', 'C*', 'D*'], '*'), allow(['E*', 'F*'], '*')],
      'AttachPolicy on srn2:environment#*',
    ],
    [
      'a table of one cluster',
      [allow(['Query'], 'srn2:table#*')],
      [allow(['Query'], 'srn2:cluster#c:table#a')],
      'contained',
    ],
    [
      'a table of any cluster',
      [allow(['Query'], 'srn2:cluster#c:table#*')],
      [allow(['Query'], 'srn2:table#a')],
      'Query on srn2:table#a',
    ],
    [
      'a table of any cluster, named so',
      [allow(['Query'], 'srn2:cluster#*:*#*')],
      [allow(['Query'], 'srn2:table#a')],
      'contained',
    ],
    [
      'a role, by all in a cluster',
      [allow(undefined, 'srn2:cluster#*:*#*')],
      [allow(['GetRole'], 'srn2:role#a')],
      'GetRole on srn2:role#a',
    ],
    ['a role in a cluster, which is none', [TABLES], [allow(['GetRole'], 'srn2:cluster#c:role#a')], 'contained'],
    [
      'a level that is cluster or environment',
      [allow(['Query'], 'srn2:cluster#x:table#*', 'srn2:environment#x:table#*')],
      [allow(['Query'], 'srn2:*#x:table#a')],
      'contained',
    ],
    [
      'known actions by several statements',
      [allow(['GetTable'], 'srn2:table#*'), allow(['Query'], 'srn2:table#a*')],
      [allow(['Query', 'GetTable'], 'srn2:table#a')],
      'contained',
    ],
    [
      'a glob by the names that it matches today',
      [allow(['GetLogger', 'UpdateLogger'], 'srn2:cluster#*')],
      [allow(['*Logger'], 'srn2:cluster#*')],
      '*logger on srn2:cluster#*',
    ],
    ['all actions by a glob', [allow(['*e*'], '*')], [allow(['*'], 'srn2:table#a')], '* on srn2:table#a'],
    [
      'an own deny',
      [TABLES, deny(['Query'], 'srn2:table#secret_*')],
      [allow(['Query'], 'srn2:table#*')],
      'denied Query on srn2:table#*',
    ],
    [
      'an own deny elsewhere',
      [TABLES, deny(['Query'], 'srn2:table#secret_*')],
      [allow(['Query'], 'srn2:table#a*')],
      'contained',
    ],
    [
      'an own deny of another action',
      [TABLES, deny(['Query'], 'srn2:table#secret_*')],
      [allow(['GetSize'], 'srn2:table#*')],
      'contained',
    ],
    [
      'an own deny that is carried on',
      [TABLES, deny(['Query'], 'srn2:table#secret_*')],
      [allow(['Query'], 'srn2:table#*'), deny(['Query', 'Get*'], 'srn2:table#secret*')],
      'contained',
    ],
    [
      'an own deny that is carried on in part',
      [TABLES, deny(['Query', 'GetSize'], 'srn2:table#secret_*')],
      [allow(undefined, 'srn2:table#*'), deny(['Query'], 'srn2:table#*')],
      'denied GetSize on srn2:table#*',
    ],
    [
      'an own deny by glob, carried on',
      [TABLES, deny(['Get*'], 'srn2:table#secret_*')],
      [allow(undefined, 'srn2:table#*'), deny(['Get*'], 'srn2:table#secret_*')],
      'contained',
    ],
    [
      'what the policy denies itself',
      [],
      [allow(['Query'], 'srn2:table#a'), deny(undefined, 'srn2:table#*')],
      'contained',
    ],
    [
      'a right by a glob',
      [allow(['*Policy'], 'srn2:policy#a-*')],
      [allow(['EscalatePolicy'], 'srn2:policy#a-1')],
      'EscalatePolicy on srn2:policy#a-1',
    ],
    [
      'a right by its name',
      [allow(['EscalatePolicy'], 'srn2:policy#a-*')],
      [allow(['EscalatePolicy'], 'srn2:policy#a-1')],
      'contained',
    ],
    ['a right by everything', [allow(undefined, '*')], [allow(['EscalatePolicy'], 'srn2:policy#a-1')], 'contained'],
    ['everything by everything', [allow(undefined, 'srn2:*#*')], [allow(['*'], '*')], 'contained'],
  ])('%s', (_title, caller, policy, expected) => {
    expect(check(caller, policy)).toBe(expected);
  });

  it('does not hold for a caller with an invalid policy', () => {
    const broken = compilePolicy('broken', { statements: [{ effect: 'allow', actions: ['Quary'], resources: ['*'] }] });
    const all = compilePolicy('all', { statements: [allow(undefined, '*')] });
    const caller = new GrantSet(
      'r',
      ['r'],
      [all, broken].map((policy) => ({ policy, roles: ['r'] })),
    );
    expect(caller.missingGrant({ gained: statements(allow(['Query'], 'srn2:table#a')) })?.action).toBe('Query');
  });

  it('stops after a bounded amount of work', { tags: 'slow' }, () => {
    const names = (part: number): string[] =>
      Array.from({ length: 256 }, (_, index) => `srn2:table#${'a*'.repeat(400)}${part}-${index}`);
    const many = Array.from({ length: 8 }, (_, index) => allow(['Query'], ...names(index)));
    const [caller, gained] = [grants(...many), statements(...many)];
    const begun = process.cpuUsage();
    expect(() => caller.missingGrant({ gained })).toThrow(TooManyComparisons);
    const { user, system } = process.cpuUsage(begun);
    // Some tens of milliseconds; quadratic work would take minutes.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it('holds only for what is allowed to the caller, as a naive implementation decides', { tags: 'slow' }, () => {
    const ids = ['prod_events', 'dev_events', 'prod', 'p', 'events', 'pinot', 'other', 'olap', 'prod_orders'];
    const actions = ['Query', 'GetTable', 'GetSchema', 'DeleteTable', 'GetRole', 'UpdateRole', '*'];
    const named = ids.flatMap((id) => `role#${id} policy#${id} cluster#${id} environment#${id}`.split(' '));
    const tables = ids.flatMap((id) =>
      ['cluster#pinot', 'cluster#other', 'cluster#prod', 'environment#prod'].map((outer) => `${outer}:table#${id}`),
    );
    const resources = named
      .concat(tables)
      .map((name) => name.split(':').map((level) => level.split('#') as unknown as readonly [string, string]));
    const decided = (list: readonly NaiveStatement[], action: string, resource: (typeof resources)[number]): string =>
      naiveDecision(
        { environment: 'olap', cluster: 'pinot', policies: { p: { statements: list } }, roles: { r: ['p'] } },
        ['r'],
        action,
        resource,
      );
    const list = fc.array(anyStatement, { minLength: 1, maxLength: 3 });
    let contained = 0;
    fc.assert(
      fc.property(list, list, fc.boolean(), (own, added, includesOwn) => {
        const policy = includesOwn ? [...own, ...added.filter(({ effect }) => effect === 'deny')] : added;
        if (check(own, policy) !== 'contained') return;
        contained += 1;
        for (const resource of resources) {
          for (const action of actions) {
            if (decided(policy, action, resource) !== 'allowed') continue;
            expect([action, resource, decided(own, action, resource)]).toEqual([action, resource, 'allowed']);
          }
        }
      }),
      { numRuns: 600 },
    );
    expect(contained).toBeGreaterThan(50);
  });

  describe('of one action on one resource', () => {
    const questions = [
      ['Query', 'srn2:environment#olap:cluster#pinot:table#prod_events'],
      ['GetSchema', 'srn2:environment#olap:cluster#other:table#events'],
      ['DeleteTable', 'srn2:environment#prod:cluster#pinot:table#p'],
      ['GetTable', 'srn2:environment#olap:cluster#prod'],
      ['UpdateRole', 'srn2:environment#olap:role#prod'],
      ['GetRole', 'srn2:environment#other:policy#p'],
      ['GetTable', 'srn2:environment#olap'],
      ['AssignRole', 'srn2:environment#olap:role#prod'],
      ['BindPolicy', 'srn2:environment#olap:policy#prod_events'],
      ['EscalatePolicy', 'srn2:environment#prod:policy#p'],
    ] as const;
    const caller = { kind: 'user', srn: '', id: '', groups: ['r'], domain: undefined, authenticator: 'test' } as const;
    const rightsOnly = fc
      .record({
        effect: fc.constantFrom<('allow' | 'deny')[]>('allow', 'allow', 'deny'),
        actions: fc.array(fc.constantFrom('AssignRole', 'bindPolicy', 'EscalatePolicy', '*Policy', '*'), {
          minLength: 1,
          maxLength: 2,
        }),
        resources: fc.array(fc.constantFrom('*', 'srn2:role#prod', 'srn2:policy#p*', 'srn2:*#*'), {
          minLength: 1,
          maxLength: 2,
        }),
      })
      .map((statement): Statement => statement);
    const anyPolicy = fc.array(fc.oneof({ weight: 3, arbitrary: anyStatement }, rightsOnly), { maxLength: 3 });
    const broken: Statement = { effect: 'allow', actions: ['Quary'], resources: ['*'] };
    const state = fc.record({
      policies: fc.array(anyPolicy, { minLength: 1, maxLength: 3 }),
      invalid: fc.integer({ min: 0, max: 7 }).map((number) => number === 0),
      denied: fc.array(anyStatement, { maxLength: 2 }),
      lifted: fc.boolean(),
    });

    function engineOf(policies: readonly (readonly Statement[])[]): DecisionEngine {
      const engine = new DecisionEngine(
        { environment: 'olap', cluster: 'pinot' },
        { heldRoles: () => ({ roles: ['r'], validFrom: -Infinity, validUntil: Infinity }) },
      );
      for (const [index, list] of policies.entries()) engine.setPolicy(`p${index}`, { statements: list });
      engine.setRole(
        'r',
        policies.map((_list, index) => `p${index}`),
      );
      return engine;
    }

    it(
      'is the decision itself, also with denies, delegation rights, several policies and invalid ones',
      { tags: 'slow' },
      () => {
        const seen = new Set<string>();
        fc.assert(
          fc.property(state, ({ policies, invalid, denied, lifted }) => {
            const own = engineOf(invalid ? [...policies, [broken]] : policies);
            const denies = denied.map((statement): Statement => ({ ...statement, effect: 'deny' }));
            for (const [action, resource] of questions) {
              const point: Statement = {
                effect: lifted ? 'deny' : 'allow',
                actions: [action],
                resources: [resource],
              };
              const asked = parseSrn(resource);
              if (!asked.ok) throw new Error(asked.message);
              const gains = engineOf([[{ ...point, effect: 'allow' }, ...denies]]);
              const isGained = gains.isAllowed(caller, action, asked.value);
              const { reason } = own.decide(caller, action, asked.value);
              const missing = own.grantsOf(caller).missingGrant({
                gained: statements(point),
                denied: denies.length === 0 ? [] : statements(...denies),
              });
              const expected = isGained && reason !== 'allowed' ? action : undefined;
              expect([action, resource, missing?.action]).toEqual([action, resource, expected]);
              // Without an allow the missing grant names no deny, as the shorter reason.
              if (missing?.deniedBy) expect(reason).toBe('explicitDeny');
              seen.add(`${isGained} ${reason} ${isDelegationRight(action)}`);
            }
          }),
          { numRuns: 300 },
        );
        expect([...seen].sort()).toEqual(
          [true, false]
            .flatMap((gained) =>
              ['allowed', 'explicitDeny', 'implicitDeny', 'invalidPolicy'].flatMap((reason) =>
                [true, false].map((right) => `${gained} ${reason} ${right}`),
              ),
            )
            .sort(),
        );
      },
    );
  });
});
