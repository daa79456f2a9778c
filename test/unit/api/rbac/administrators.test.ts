import { describe, expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../../src/access/directory.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../../src/access/policy/predefined.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { memoryWorld } from '../../../support/walks/memory-world.ts';
import type { MemoryStore } from '../../access/memory-store.ts';
import { inPath, NOW, testGateway, type Answer, type TestGateway } from './gateway.ts';

const ROLE = `/roles/${inPath('role', 'system-admin')}`;
const REFUSED =
  'role `system-admin` would have no subject left that holds it for another 24 hours: assign it to another subject first';
const later = (hours: number): string => new Date(NOW.getTime() + hours * 3_600_000).toISOString();

function assign(gateway: TestGateway, verb: 'create' | 'delete', { type, name, expiresAt }: Subject): Promise<Answer> {
  const body = { subject: name, subjectType: type, ...(expiresAt === undefined ? {} : { expiresAt }) };
  return gateway.call('POST', `${ROLE}/${verb}-assignment`, body);
}

const alice: Subject = { type: 'user-email', name: ALICE.id };
const group: Subject = { type: 'group', name: 'admins' };

describe('the last administrator', () => {
  it('cannot be removed while there is no other', async () => {
    const gateway = await testGateway();
    const refused = await assign(gateway, 'delete', alice);
    expect([refused.status, refused.body.message]).toEqual([409, REFUSED]);
    expect((await assign(gateway, 'create', group)).status).toBe(200);
    expect((await assign(gateway, 'delete', alice)).status).toBe(200);
    expect(gateway.store.truth('RoleAssignment').map(({ spec }) => spec.subjects)).toEqual([[group]]);
  });

  it.each<[string, Subject[], number]>([
    ['one that has expired', [{ ...group, expiresAt: later(-1) }], 409],
    ['one that expires within a day', [{ ...group, expiresAt: later(23) }], 409],
    ['one that expires later', [{ ...group, expiresAt: later(25) }], 200],
    ['a service token that does not exist', [{ type: 'service-token', name: 'none' }], 409],
    ['a service token that has expired', [{ type: 'service-token', name: 'old' }], 409],
    ['a service token', [{ type: 'service-token', name: 'job' }], 200],
    ['no other subject, by two assignments', [alice], 409],
    ['a domain in the same assignment', [alice, { type: 'domain', name: 'other.example' }], 200],
  ])('beside %s', async (_title, subjects, status) => {
    const gateway = await testGateway();
    gateway.store.seed(
      serviceToken('job'),
      serviceToken('old', { expiresAt: later(1) }),
      roleAssignment('other', { role: 'system-admin', subjects }),
    );
    expect((await assign(gateway, 'delete', alice)).status).toBe(status);
    expect(gateway.directory.isAllowed(ALICE, 'Query', { levels: [] })).toBe(status === 409);
  });

  it('cannot get an expiry, and an expired assignment can be removed', async () => {
    const gateway = await testGateway();
    const refused = await assign(gateway, 'create', { ...alice, expiresAt: later(100) });
    expect([refused.status, refused.body.message]).toEqual([409, REFUSED]);
    gateway.store.seed(
      roleAssignment('other', { role: 'system-admin', subjects: [{ ...group, expiresAt: later(-1) }] }),
    );
    expect((await assign(gateway, 'delete', group)).status).toBe(200);
  });

  it('is not the only protected one: callers who hold less cannot take the role from any administrator', async () => {
    const gateway = await testGateway({ roles: ['rbac-admin'] });
    const job: Subject = { type: 'service-token', name: 'job' };
    gateway.store.seed(
      serviceToken('job'),
      roleAssignment('one', { role: 'system-admin', subjects: [group, job] }),
      roleAssignment('two', { role: 'system-admin', subjects: [{ type: 'user-email', name: 'chief@example.com' }] }),
    );
    const before = gateway.store.truth('RoleAssignment');
    for (const answer of [
      await assign(gateway, 'delete', group),
      await assign(gateway, 'create', { ...group, expiresAt: later(100) }),
      await gateway.call('PUT', `${ROLE}/assignments`, []),
      await gateway.call('DELETE', `/service-tokens/${inPath('service-token', 'job')}`),
    ]) {
      expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining('`AssignRole`')]);
    }
    expect(gateway.store.truth('RoleAssignment')).toEqual(before);
    expect(gateway.manager.serviceTokens.get('job')).toMatchObject({ status: 'ACTIVE', expiresAt: null });
    const right = { effect: 'allow' as const, actions: ['AssignRole'], resources: ['srn2:role#system-admin'] };
    gateway.store.seed(
      policy('assigns', { statements: [right] }),
      role('assigns', { policies: ['assigns'] }),
      roleAssignment('assigns', { role: 'assigns', subjects: [alice] }),
    );
    expect((await assign(gateway, 'delete', group)).status).toBe(200);
    expect((await gateway.call('DELETE', `/service-tokens/${inPath('service-token', 'job')}`)).status).toBe(200);
  });

  it('is not deleted as a service token, which then keeps its other roles, too', async () => {
    const gateway = await testGateway();
    const { body } = await gateway.call('POST', '/service-tokens', { description: 'job' });
    const token: Subject = { type: 'service-token', name: body.accessKey };
    for (const name of ['table-reader', 'system-admin']) {
      const sent = { subject: token.name, subjectType: token.type };
      const path = `/roles/${inPath('role', name)}/create-assignment`;
      expect((await gateway.call('POST', path, sent)).status).toBe(200);
    }
    expect((await assign(gateway, 'delete', alice)).status).toBe(200);
    await expect(gateway.manager.serviceTokens.remove(tokenPrincipal(token.name), token.name)).rejects.toThrow(REFUSED);
    const roles = gateway.store.truth('RoleAssignment').map(({ spec }) => spec.role);
    expect(roles.sort()).toEqual(['system-admin', 'table-reader']);
    expect(gateway.manager.serviceTokens.get(token.name)).toMatchObject({ status: 'ACTIVE', expiresAt: null });
  });

  it('remains when two remove the role from each other at two gateways', async () => {
    for (let round = 0; round < 50; round++) {
      const world = memoryWorld();
      const [store, second] = world.stores as [MemoryStore, MemoryStore];
      store.seed(
        ...PREDEFINED_POLICIES,
        ...PREDEFINED_ROLES,
        roleAssignment('alice', { role: 'system-admin', subjects: [alice] }),
        roleAssignment('group', { role: 'system-admin', subjects: [group] }),
      );
      await world.settled();
      const remove = (at: MemoryStore, subject: Subject): Promise<unknown> => {
        const directory = new Directory(at, { environment: 'olap', cluster: 'pinot' });
        const manager = new RbacManager({ store: at, directory, clock: { ...systemClock, now: () => NOW.getTime() } });
        return manager.assignments.delete(ALICE, 'system-admin', subject);
      };
      const done = await Promise.allSettled([remove(store, group), remove(second, alice)]);
      expect(done.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(store.truth('RoleAssignment')).toHaveLength(1);
    }
  });
});
