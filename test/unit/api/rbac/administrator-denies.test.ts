import { describe, expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { memoryWorld } from '../../../support/walks/memory-world.ts';
import type { MemoryStore } from '../../access/memory-store.ts';
import { inPath, NOW, testGateway, type Answer, type TestGateway } from './gateway.ts';

/** The caller: may do all of the RBAC manager, and nothing more. */
const MALLORY: Principal = { ...ALICE, id: 'mallory@example.com', srn: 'srn2:user#mallory@example.com', groups: [] };
const CHIEF: Principal = { ...MALLORY, id: 'chief@ops.example', groups: [], domain: 'ops.example' };
const chief: Subject = { type: 'user-email', name: CHIEF.id };

const TABLES: Statement = { effect: 'deny', actions: ['Query'], resources: ['srn2:table#*'] };
const RBAC: Statement = { effect: 'deny', actions: ['*'], resources: ['*'] };
const NEEDED: Statement = { effect: 'deny', actions: ['AssignRole'], resources: ['srn2:role#system-admin'] };
const HARMLESS: Statement = { effect: 'allow', actions: ['GetRole'], resources: ['srn2:role#x'] };

/** A gateway with an administrator, an empty role with this subject, a policy with a deny, and a policy without one. */
async function scene(subject: Subject | undefined, deny: Statement, roles = ['rbac-admin']): Promise<TestGateway> {
  const gateway = await testGateway({ principal: MALLORY, roles });
  gateway.store.seed(
    roleAssignment('chief', { role: 'system-admin', subjects: [chief] }),
    role('r', { policies: ['harmless'] }),
    policy('denying', { statements: [deny] }),
    policy('harmless', { statements: [HARMLESS] }),
    role('denied', { policies: ['denying'] }),
    ...(subject ? [roleAssignment('r', { role: 'r', subjects: [subject] })] : []),
  );
  return gateway;
}

const attach = (gateway: TestGateway, name = 'denying'): Promise<Answer> =>
  gateway.call('POST', `/roles/${inPath('role', 'r')}/attach-policy`, { policySrn: `srn2:policy#${name}` });
const update = (gateway: TestGateway, ...statements: Statement[]): Promise<Answer> =>
  gateway.call('PUT', `/policies/${inPath('policy', 'harmless')}`, { policyDocument: { version: 'v1', statements } });
const assign = (gateway: TestGateway, { type, name }: Subject, expiresAt?: string): Promise<Answer> =>
  gateway.call('POST', `/roles/${inPath('role', 'denied')}/create-assignment`, {
    ...{ subject: name, subjectType: type },
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });

describe('a deny on those who hold system-admin', () => {
  it.each<[string, Subject, Statement, number]>([
    ['directly', chief, TABLES, 403],
    ['in another spelling', { type: 'user-email', name: 'Chief@OPS.example' }, TABLES, 403],
    ['by the domain of the e-mail address', { type: 'domain', name: 'Ops.Example' }, TABLES, 403],
    ['by a group whose members are not known', { type: 'group', name: 'g' }, RBAC, 403],
    ['by a group, of tables only', { type: 'group', name: 'g' }, TABLES, 200],
    ['by another domain, of tables only', { type: 'domain', name: 'example.com' }, TABLES, 200],
    ['by no way: another user', { type: 'user-email', name: 'other@ops.example' }, RBAC, 200],
    ['by no way: a group with the name of the user', { type: 'group', name: 'chief@ops.example' }, TABLES, 200],
  ])('%s', async (_way, subject, deny, status) => {
    const gateway = await scene(subject, deny);
    expect((await attach(gateway)).status).toBe(status);
    expect((await update(gateway, HARMLESS, deny)).status).toBe(status);
    expect((await assign(gateway, subject)).status).toBe(status);
    const named = `/policies/${inPath('policy', 'new')}`;
    gateway.store.seed(
      role('waiting', { policies: ['new'] }),
      roleAssignment('w', { role: 'waiting', subjects: [subject] }),
    );
    const policyDocument = { version: 'v1', statements: [deny] };
    // A role that names a policy before it exists is assigned without a check of the policy.
    expect((await gateway.call('POST', '/policies', { name: 'new', policyDocument })).status).toBe(403);
    expect((await gateway.call('GET', named)).status).toBe(404);
    expect((await gateway.call('POST', '/policies', { name: 'unnamed', policyDocument })).status).toBe(200);
    expect(gateway.directory.isAllowed(CHIEF, 'Query', { levels: [{ kind: 'table', id: 't' }] })).toBe(
      status === 403 || subject.type !== 'user-email' || subject.name !== CHIEF.id,
    );
  });

  it('is refused with the statement and the right that would allow it, and names nobody', async () => {
    const gateway = await scene(chief, TABLES);
    const { body } = await attach(gateway);
    expect(body.message).toBe(
      'you may not attach policy `denying` to role `r`: statements[0] of policy `denying` would apply to subjects with the role `system-admin`, or may apply to them by a group or domain; the right `BindPolicy` on `srn2:policy#denying` would allow it',
    );
    expect((await update(gateway, HARMLESS, TABLES)).body.message).toContain(
      '`EscalatePolicy` on `srn2:policy#harmless`',
    );
    expect((await assign(gateway, chief)).body.message).toContain('`AssignRole` on `srn2:role#denied`');
  });

  it('is not prolonged by another role: an equal deny that ends before does not count', async () => {
    const group: Subject = { type: 'group', name: 'g' };
    const soon = new Date(NOW.getTime() + 3_600_000).toISOString();
    const later = new Date(NOW.getTime() + 7_200_000).toISOString();
    const expiring = async (first: string | undefined, second: string | undefined): Promise<number> => {
      const gateway = await scene(undefined, RBAC);
      const until = (expiresAt: string | undefined): Subject =>
        expiresAt === undefined ? group : { ...group, expiresAt };
      gateway.store.seed(
        roleAssignment('first', { role: 'denied', subjects: [until(first)] }),
        roleAssignment('second', { role: 'r', subjects: [until(second)] }),
      );
      return (await attach(gateway)).status;
    };
    expect(await expiring(soon, undefined)).toBe(403);
    expect(await expiring(soon, later)).toBe(403);
    expect(await expiring(later, soon)).toBe(200);
    expect(await expiring(undefined, later)).toBe(200);
  });

  it('is not prolonged or renewed, but other changes beside an old one are possible', async () => {
    const gateway = await scene(undefined, TABLES);
    const past = new Date(NOW.getTime() - 1000).toISOString();
    gateway.store.seed(roleAssignment('old', { role: 'denied', subjects: [{ ...chief, expiresAt: past }] }));
    expect((await assign(gateway, chief)).status).toBe(403);
    gateway.store.seed(
      roleAssignment('r', { role: 'r', subjects: [chief] }),
      role('r', { policies: ['harmless', 'old'] }),
    );
    gateway.store.seed(policy('old', { statements: [TABLES] }));
    expect((await update(gateway, HARMLESS, { ...HARMLESS, description: 'as before' })).status).toBe(200);
    // The same deny again changes nothing for the administrator.
    expect((await attach(gateway)).status).toBe(200);
  });

  it('needs the right or everything, and somebody who can make an administrator must be left', async () => {
    const gateway = await scene(chief, TABLES);
    const right: Statement = {
      effect: 'allow',
      actions: ['BindPolicy'],
      resources: ['srn2:policy#denying', 'srn2:policy#worse'],
    };
    gateway.store.seed(policy('rights', { statements: [right] }), role('rights', { policies: ['rights'] }));
    gateway.store.seed(roleAssignment('m', { role: 'rights', subjects: [{ type: 'user-email', name: MALLORY.id }] }));
    expect((await attach(gateway)).status).toBe(200);
    gateway.store.seed(policy('worse', { statements: [NEEDED] }));
    const refused = await attach(gateway, 'worse');
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'to attach policy `worse` to role `r` would leave no subject with the role `system-admin` that may assign it: a deny would apply to all of them',
    ]);
    gateway.store.seed(
      roleAssignment('second', { role: 'system-admin', subjects: [{ type: 'group', name: 'admins' }] }),
    );
    expect((await attach(gateway, 'worse')).status).toBe(200);
    // The last one cannot be removed, not even with the right to remove others.
    const taking: Statement = {
      effect: 'allow',
      actions: ['AssignRole'],
      resources: ['srn2:role#system-admin'],
    };
    gateway.store.seed(policy('taking', { statements: [taking] }), role('taking', { policies: ['taking'] }));
    gateway.store.seed(roleAssignment('t', { role: 'taking', subjects: [{ type: 'user-email', name: MALLORY.id }] }));
    const second = { subject: 'admins', subjectType: 'group' };
    const taken = gateway.call('POST', `/roles/${inPath('role', 'system-admin')}/delete-assignment`, second);
    expect((await taken).body.message).toContain('a deny keeps the present others from assigning it');
  });

  it('is refused for the last one also to whoever holds everything', async () => {
    const gateway = await scene(undefined, RBAC, ['system-admin']);
    expect((await assign(gateway, chief)).status).toBe(200);
    expect((await assign(gateway, { type: 'user-email', name: MALLORY.id })).status).toBe(409);
    expect((await assign(gateway, { type: 'domain', name: 'example.com' })).status).toBe(409);
  });

  it('does not come about where its parts are written at the same time', async () => {
    for (let round = 0; round < 12; round++) {
      const { managers, store, settled } = await together([TABLES], round);
      const [first, second, third] = managers as [RbacManager, RbacManager, RbacManager];
      const document = { version: 'v1', statements: [HARMLESS, TABLES] };
      await Promise.allSettled([
        first.policies.update(MALLORY, 'p', { policyDocument: document }),
        second.roles.attach(MALLORY, 'r', 'p'),
        third.assignments.create(MALLORY, 'r', chief),
      ]);
      await settled();
      const reader = new Directory(store, { environment: 'olap', cluster: 'pinot' });
      expect(reader.isAllowed(CHIEF, 'Query', { levels: [{ kind: 'table', id: 't' }] })).toBe(true);
    }
  });

  it('gives nothing to others when it is refused: a policy keeps the deny that its allow relies on', async () => {
    for (let round = 0; round < 12; round++) {
      const { managers, store, settled } = await together([TABLES], round);
      const [first, second] = managers as [RbacManager, RbacManager];
      store.seed(roleAssignment('mixed', { role: 'r', subjects: [chief, { type: 'user-email', name: MALLORY.id }] }));
      await settled();
      const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }, TABLES];
      await Promise.allSettled([
        first.policies.update(MALLORY, 'p', { policyDocument: { version: 'v1', statements } }),
        second.roles.attach(MALLORY, 'r', 'p'),
      ]);
      await settled();
      const reader = new Directory(store, { environment: 'olap', cluster: 'pinot' });
      const table = { levels: [{ kind: 'table', id: 't' }] };
      expect([MALLORY, CHIEF].map((principal) => reader.isAllowed(principal, 'Query', table))).toEqual([false, true]);
    }
  });

  it('does not leave nobody where two administrators deny each other', async () => {
    for (let round = 0; round < 12; round++) {
      const { managers, store, settled } = await together([NEEDED], round);
      const [first, second] = managers as [RbacManager, RbacManager];
      store.seed(roleAssignment('other', { role: 'system-admin', subjects: [{ type: 'group', name: 'admins' }] }));
      await settled();
      const other: Principal = { ...MALLORY, id: 'nobody', groups: ['admins'] };
      const taken = round % 2 === 0;
      const done = await Promise.allSettled([
        first.assignments.create(CHIEF, 'denied', { type: 'group', name: 'admins' }),
        taken
          ? second.assignments.delete(other, 'system-admin', chief)
          : second.assignments.create(other, 'denied', chief),
      ]);
      await settled();
      expect(done.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(2);
      const reader = new Directory(store, { environment: 'olap', cluster: 'pinot' });
      const left = [CHIEF, other].filter((principal) =>
        reader.isAllowed(principal, 'AssignRole', { levels: [{ kind: 'role', id: 'system-admin' }] }),
      );
      expect(left.length).toBeGreaterThan(0);
    }
  });
});

/** Three gateways whose views are behind, and calls that take a different number of turns in each round. */
async function together(
  denies: Statement[],
  round: number,
): Promise<{ managers: RbacManager[]; store: MemoryStore; settled: () => Promise<void> }> {
  const world = memoryWorld(3);
  const stores = world.stores as MemoryStore[];
  const [store] = stores as [MemoryStore];
  const gateway = await testGateway({ principal: MALLORY, roles: ['rbac-admin'], store });
  gateway.directory.close();
  store.seed(
    roleAssignment('chief', { role: 'system-admin', subjects: [chief] }),
    role('r'),
    policy('p', { statements: [HARMLESS] }),
    policy('denying', { statements: denies }),
    role('denied', { policies: ['denying'] }),
  );
  await world.settled();
  const managers = stores.map((at, index) => {
    let calls = 0;
    const wait = async (): Promise<void> => {
      for (let turns = (round * (index + 3) + ++calls * 7) % 5; turns > 0; turns--) await world.settled();
    };
    at.beforeWrite = wait;
    at.beforeRead = wait;
    const directory = new Directory(at, { environment: 'olap', cluster: 'pinot' });
    return new RbacManager({ store: at, directory, clock: { ...systemClock, now: () => NOW.getTime() } });
  });
  return { managers, store, settled: world.settled };
}
