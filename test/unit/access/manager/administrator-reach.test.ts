import { describe, expect, it } from 'vitest';
import { AdministratorReach, type AccessState } from '../../../../src/access/manager/administrator-reach.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const denyAll = { statements: [statement({ effect: 'deny', actions: ['*'], resources: ['*'] })] };

/** Holders of `system-admin`, and subjects of a role with a policy. */
function reach(holders: Subject[], denied: Subject[], spec = denyAll): AdministratorReach {
  const state: AccessState = {
    policies: [policy('deny', spec)],
    roles: [role('denied', { policies: ['deny'] })],
    assignments: [
      roleAssignment('admins', { role: 'system-admin', subjects: holders }),
      ...denied.map((subject, index) => roleAssignment(`d${index}`, { role: 'denied', subjects: [subject] })),
    ],
  };
  return new AdministratorReach(state, {
    canonical: (subject) => subject,
    now: NOW,
    allows: (policies) => policies.every(({ name }) => name !== 'deny'),
  });
}

const user = (name: string, expiresAt?: string): Subject => ({
  type: 'user-email',
  name,
  ...(expiresAt !== undefined && { expiresAt }),
});
const group = (name: string): Subject => ({ type: 'group', name });
const domain = (name: string): Subject => ({ type: 'domain', name });
const token = (name: string): Subject => ({ type: 'service-token', name });

describe('a holder', () => {
  it('is a subject whose assignment has not expired', () => {
    const { holders } = reach([user('a', at(0)), user('b', at(1)), user('c')], []);
    expect(holders.map(({ subject, expiry }) => [subject.name, expiry])).toEqual([
      ['b', NOW + 1],
      ['c', Infinity],
    ]);
  });

  it.each([
    [user('ada@x.org'), user('Ada@x.org'), false],
    [user('ada@x.org'), domain('X.org'), false],
    [user('ada@y@x.org'), domain('x.org'), false],
    [user('@x.org'), domain('x.org'), false],
    [domain('x.org'), user('ada@x.org'), false],
    [user('ada@x.org'), domain('y.org'), true],
    [user('ada@x.org'), user('bob@x.org'), true],
    // Not an address.
    [user('x.org'), domain('x.org'), true],
    [user('ada'), domain('ada'), true],
    [user('ada@x.org'), group('g'), true],
    [group('ada@x.org'), domain('x.org'), true],
    [token('t'), token('t'), false],
    [token('t'), user('t'), true],
    [token('t@x.org'), domain('x.org'), true],
  ])('%j with a deny on %j is effective: %s', (holder, denied, effective) => {
    expect(reach([holder], [denied]).isEffective(holder)).toBe(effective);
    expect(reach([holder], [{ ...denied, expiresAt: at(0) }]).isEffective(holder)).toBe(true);
    expect(reach([holder], [{ ...denied, expiresAt: at(1) }]).isEffective(holder)).toBe(effective);
  });
});

describe('a new deny', () => {
  const ada = user('ada@x.org');
  const found = (before: Subject[], after: Subject[], spec = denyAll) =>
    reach([ada], after, spec).newDeny(reach([ada], before, spec));

  it('reaches a holder where none did, or for longer', () => {
    expect(found([], [])).toBeUndefined();
    expect(found([], [ada])).toMatchObject({ by: 'certain', policy: 'deny', index: 0, expiry: Infinity });
    expect(found([ada], [ada])).toBeUndefined();
    expect(found([user('ada@x.org', at(5))], [user('ada@x.org', at(5))])).toBeUndefined();
    expect(found([user('ada@x.org', at(5))], [user('ada@x.org', at(6))])).toMatchObject({ expiry: NOW + 6 });
    expect(found([user('ada@x.org', at(6))], [user('ada@x.org', at(5))])).toBeUndefined();
    // The last of several counts.
    expect(found([user('ada@x.org', at(9)), domain('x.org')], [domain('x.org')])).toBeUndefined();
    expect(found([user('ada@x.org', at(9)), user('ada@x.org', at(3))], [user('ada@x.org', at(8))])).toBeUndefined();
  });

  it('may reach a holder by a group, unless it certainly does as long anyway', () => {
    expect(found([], [group('g')])).toMatchObject({ by: 'group:g' });
    expect(found([group('g')], [group('g')])).toBeUndefined();
    expect(found([group('g')], [group('h')])).toMatchObject({ by: 'group:h' });
    expect(found([ada], [ada, group('g')])).toBeUndefined();
    const ends = user('ada@x.org', at(5));
    expect(found([ends], [ends, { ...group('g'), expiresAt: at(5) }])).toBeUndefined();
    expect(found([ends], [ends, { ...group('g'), expiresAt: at(6) }])).toMatchObject({ by: 'group:g' });
    expect(found([], [user('bob@x.org'), token('t')])).toBeUndefined();
  });

  it('by a group concerns the RBAC manager', () => {
    const spec = (fields: object) => ({ statements: [statement({ effect: 'deny', ...fields })] });
    const queries = spec({ actions: ['Query'], resources: ['*'] });
    expect(found([], [group('g')], queries)).toBeUndefined();
    expect(found([], [ada], queries)).toMatchObject({ by: 'certain' });
    expect(found([], [group('g')], spec({ actions: ['*'], resources: ['srn2:table#*'] }))).toBeUndefined();
    for (const kind of ['role', 'policy', 'service-token'])
      expect(found([], [group('g')], spec({ actions: ['Get*'], resources: [`srn2:${kind}#x`] }))).toBeDefined();
    expect(found([], [ada], { statements: [statement()] })).toBeUndefined();
    expect(found([], [ada], spec({ resources: ['nothing'] }))).toEqual({
      by: 'certain',
      expiry: Infinity,
      text: 'invalid deny',
      policy: 'deny',
      index: undefined,
    });
  });
});
