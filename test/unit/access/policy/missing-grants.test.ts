import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../../src/access/policy/actions.ts';
import { byEffect, compilePolicy, isDenying } from '../../../../src/access/policy/compiled-policy.ts';
import { GrantSet } from '../../../../src/access/policy/grants/grant-set.ts';
import type { Statement } from '../../../../src/resources/policy.ts';

const allow = (...resources: string[]): Statement => ({ effect: 'allow', actions: ['Query'], resources });
const deny = (...resources: string[]): Statement => ({ effect: 'deny', actions: ['Query'], resources });

/** What the caller lacks of a policy; undefined if nothing. */
function missing(caller: Statement[], policy: Statement[]): object | undefined {
  const own = { policy: compilePolicy('own', { statements: caller }), roles: ['r'] };
  const { allows, denies } = byEffect(compilePolicy('new', { statements: policy }).statements);
  const found = new GrantSet('r', ['r'], [own]).missingGrant({ gained: allows, denied: denies });
  if (found === undefined) return undefined;
  const { statement, action, resource, deniedBy } = found;
  return { statement: statement.index, action, resource, ...(deniedBy && { deniedBy: deniedBy.index }) };
}

describe('a resource of several levels', () => {
  const whole = 'srn2:environment#e:cluster#c:table#t';

  it.each([
    'srn2:table#t',
    'srn2:cluster#c:table#*',
    'srn2:environment#*:table#t',
    'srn2:environment#e:cluster#c*:table#t*',
    whole,
    '*',
  ])('is held by %s', (own) => {
    expect(missing([allow(own)], [allow(whole)])).toBeUndefined();
  });

  it.each([
    'srn2:environment#x:table#t',
    'srn2:environment#e:cluster#x:table#t',
    'srn2:environment#x:cluster#c:table#t',
    'srn2:environment#e:cluster#c:table#x',
    // The levels have an order.
    'srn2:cluster#c:environment#e:table#t',
    'srn2:environment#e:environment#e:table#t',
    'srn2:environment#e:cluster#c:cluster#c:table#t',
  ])('is not held by %s', (own) => {
    expect(missing([allow(own)], [allow(whole)])).toEqual({ statement: 0, action: 'Query', resource: whole });
  });
});

describe('a deny of the caller', () => {
  it('is named by the one with the shortest pattern', () => {
    const caller = [allow('*'), deny('srn2:table#orders_eu'), deny('srn2:table#o*')];
    expect(missing(caller, [allow('srn2:table#orders*')])).toMatchObject({ deniedBy: 2 });
  });
});

describe('all actions', () => {
  const every = (effect: 'allow' | 'deny', actions: readonly string[]): Statement => ({
    effect,
    actions: [...actions],
    resources: ['srn2:table#t'],
  });

  it('by their names are held by all names, and each is missing by its own', () => {
    expect(missing([every('allow', ACTIONS)], [every('allow', ACTIONS)])).toBeUndefined();
    for (const name of ['AssignRole', 'BindPolicy', 'EscalatePolicy']) expect(ACTIONS).toContain(name);
    const onTables = ACTIONS.filter((name) => !['AssignRole', 'BindPolicy', 'EscalatePolicy'].includes(name));
    for (const name of onTables) {
      const others = ACTIONS.filter((other) => other !== name);
      expect(missing([every('allow', others)], [every('allow', ACTIONS)])).toMatchObject({ action: name });
    }
  });
});

it.each([
  [[allow('*')], false],
  [[deny('*')], true],
  [[allow('*'), deny('srn2:table#t')], true],
  [[allow('table#t')], true],
])('a policy with these statements denies something, %#: %s', (statements, denying) => {
  expect(isDenying(compilePolicy('p', { statements }))).toBe(denying);
});
