import { describe, expect, it } from 'vitest';
import type { AccessState } from '../../../../src/access/manager/administrator-reach.ts';
import { deniesOfAssignment, deniesOfAttachment, deniesOfPolicy } from '../../../../src/access/manager/deny-changes.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';

const state = (policies: string[]): AccessState => ({
  policies: [],
  roles: [role('r', { policies }), role('other', { policies: ['p', 'q'] })],
  assignments: [],
});

it('an attachment is applied and reverted in its role only, whatever others attached meanwhile', () => {
  const { apply, revert } = deniesOfAttachment('r', 'p');
  expect(apply(state(['a', 'b']))).toEqual(state(['a', 'b', 'p']));
  expect(apply(state(['a', 'p', 'b']))).toEqual(state(['a', 'b', 'p']));
  expect(revert(state(['a', 'p', 'b']))).toEqual(state(['a', 'b']));
  expect(revert(state(['a', 'b']))).toEqual(state(['a', 'b']));
});

describe('a written policy', () => {
  const allow = statement();
  const deny = statement({ effect: 'deny' });
  const another = statement({ effect: 'deny', resources: ['*'] });

  it('adds a deny only where it has one that it did not have', () => {
    const adds = (before: readonly (typeof deny)[] | undefined, after: readonly (typeof deny)[]): boolean =>
      deniesOfPolicy('p', before && { statements: [...before] }, { statements: [...after] }) !== undefined;
    expect(adds(undefined, [allow])).toBe(false);
    expect(adds(undefined, [allow, deny])).toBe(true);
    expect(adds([], [allow])).toBe(false);
    expect(adds([deny], [allow, deny])).toBe(false);
    expect(adds([deny, allow], [deny, another])).toBe(true);
    expect(adds([{ ...deny, description: 'x' }], [deny])).toBe(false);
  });

  it('replaces the one of its name, and is reverted to what was stored', () => {
    const others: AccessState = { policies: [policy('a'), policy('b')], roles: [], assignments: [] };
    const stored = { ...others, policies: [policy('p'), ...others.policies] };
    const [before, after] = [{ statements: [allow] }, { statements: [allow, deny] }];
    const withPolicy = (spec: typeof before) => ({ ...others, policies: [...others.policies, policy('p', spec)] });
    const change = deniesOfPolicy('p', before, after)!;
    expect(change.apply(stored)).toEqual(withPolicy(after));
    expect(change.revert(withPolicy(after))).toEqual(withPolicy(before));
    const created = deniesOfPolicy('p', undefined, after)!;
    expect(created.apply(others)).toEqual(withPolicy(after));
    expect(created.revert(stored)).toEqual(others);
  });
});

it('an assignment is added to its role, and reverted in all assignments of the role', () => {
  const ada = { type: 'user-email', name: 'ada@example.com' } as const;
  const group = { type: 'group', name: 'g' } as const;
  const assigned = (subjects: (typeof ada | typeof group)[]): AccessState => ({
    policies: [],
    roles: [],
    assignments: [roleAssignment('a', { role: 'r', subjects }), roleAssignment('b', { role: 's', subjects: [ada] })],
  });
  const { apply, revert } = deniesOfAssignment('r', ada, (subject) => subject);
  expect(revert(assigned([{ ...ada, name: 'Ada@Example.com' as typeof ada.name }, group]))).toEqual(assigned([group]));
  expect(apply(assigned([ada, group]))).toEqual({
    ...assigned([group]),
    assignments: [...assigned([group]).assignments, roleAssignment('', { role: 'r', subjects: [ada] })],
  });
});
