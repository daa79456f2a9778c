import { describe, expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../../src/access/policy/predefined.ts';
import { ALICE } from '../../../support/app.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { MemoryStore } from '../memory-store.ts';

const CLUSTER = { environment: 'olap', cluster: 'pinot' };

function grants(statements: readonly object[], ...more: readonly string[]) {
  const store = new MemoryStore();
  const roles = ['asked', ...more];
  store.seed(
    ...PREDEFINED_POLICIES,
    ...PREDEFINED_ROLES,
    policy('asked', { statements } as Parameters<typeof policy>[1]),
    role('asked', { policies: ['asked'] }),
    ...roles.map((name) =>
      roleAssignment(`of-${name}`, { role: name, subjects: [{ type: 'user-email', name: ALICE.id }] }),
    ),
  );
  return new Directory(store, CLUSTER).grantsOf(ALICE);
}

describe('whether an action may be allowed on any resource of a kind', () => {
  const allow = (actions: string[] | undefined, ...resources: string[]) => ({ effect: 'allow', actions, resources });

  it.each([
    [true, [allow(['GetRole'], 'srn2:role#a')]],
    [true, [allow(['get*'], 'srn2:*#*')]],
    [true, [allow(undefined, '*')]],
    [true, [allow(['GetRole'], 'srn2:environment#olap:role#a')]],
    [true, [allow(['GetRole'], 'srn2:role#a'), { effect: 'deny', resources: ['*'] }]],
    [false, []],
    [false, [allow(['GetPolicy'], 'srn2:role#a')]],
    [false, [allow(['GetRole'], 'srn2:policy#a')]],
    [false, [allow(['GetRole'], 'srn2:cluster#*:*#*')]],
    [false, [{ effect: 'deny', actions: ['GetRole'], resources: ['*'] }]],
    [false, [allow(['GetRole'], 'srn2:role#a'), allow(['GetRole'], 'not a pattern')]],
  ])('%s: %j', (expected, statements) => {
    expect(grants(statements).mayAllow('GetRole', 'role')).toBe(expected);
  });

  it('is true for a system administrator, also with an invalid policy', () => {
    expect(grants([allow(['GetRole'], 'not a pattern')], 'system-admin').mayAllow('GetRole', 'role')).toBe(true);
  });
});

describe('the patterns of the names on which an action may be allowed', () => {
  const allow = (actions: string[] | undefined, ...resources: string[]) => ({ effect: 'allow', actions, resources });

  it.each([
    [['team-a-*', 'b'], [allow(['CreateRole'], 'srn2:role#team-a-*', 'srn2:environment#olap:role#b', 'srn2:policy#c')]],
    [['*'], [allow(['CreateRole'], 'srn2:role#a'), allow(['*'], '*')]],
    [[], [allow(['GetRole'], 'srn2:role#a'), { effect: 'deny', actions: ['CreateRole'], resources: ['*'] }]],
    [[], [allow(['CreateRole'], 'srn2:role#a'), allow(['GetRole'], 'not a pattern')]],
  ])('are %j for %j', (expected, statements) => {
    expect(grants(statements).namePatterns('CreateRole', 'role')).toEqual(expected);
  });

  it('are bounded', () => {
    const many = Array.from({ length: 100 }, (_, index) => allow(['CreateRole'], `srn2:role#r-${index}`));
    expect(grants(many).namePatterns('CreateRole', 'role')).toHaveLength(20);
  });
});
