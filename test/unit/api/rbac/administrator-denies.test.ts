// @module-tag slow
import { describe, expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../../src/access/directory.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { memoryWorld } from '../../../support/walks/memory-world.ts';
import { MemoryStore, SharedBackend } from '../../access/memory-store.ts';
import { ADMINISTRATION } from '../../access/naive.ts';
import { inPath, NOW, testGateway, type Answer, type TestGateway } from './gateway.ts';

/** May do all of the RBAC manager, and attach and assign what it does not hold itself. */
const MALLORY: Principal = { ...ALICE, id: 'mallory@example.com', srn: 'srn2:user#mallory@example.com', groups: [] };
const CHIEF: Principal = { ...MALLORY, id: 'chief@ops.example', groups: ['g'], domain: 'ops.example' };
const user = (name: string): Subject => ({ type: 'user-email', name });
const chief = user(CHIEF.id);
const mallory = user(MALLORY.id);

const DENY_ALL: Statement = { effect: 'deny', actions: ['*'], resources: ['*'] };
const BINDING: Statement = {
  effect: 'allow',
  actions: ['BindPolicy', 'AssignRole'],
  resources: ['srn2:policy#denying', 'srn2:role#r'],
};
const HARMLESS: Statement = { effect: 'allow', actions: ['GetRole'], resources: ['srn2:role#x'] };
const INVALID: Statement = { effect: 'allow', actions: ['Quary'], resources: ['*'] };
const EVERYTHING: Statement = { effect: 'allow', actions: ['*'], resources: ['*'] };
const table = { levels: [{ kind: 'table', id: 't' }] };
const adminRole = { levels: [{ kind: 'role', id: 'system-admin' }] };

/** Two gateways at one store: of the delegate and of the administrator. */
async function scene(): Promise<{ delegate: TestGateway; admin: TestGateway; settled: () => Promise<void> }> {
  const backend = new SharedBackend();
  const [first, second] = [new MemoryStore(backend), new MemoryStore(backend)];
  const delegate = await testGateway({ principal: MALLORY, roles: ['rbac-admin', 'binder'], store: first });
  delegate.store.seed(
    role('binder', { policies: ['binding'] }),
    policy('binding', { statements: [BINDING] }),
    roleAssignment('chief', { role: 'system-admin', subjects: [chief] }),
    role('r', { policies: [] }),
    policy('denying', { statements: [DENY_ALL] }),
    policy('invalid', { statements: [INVALID] }),
    policy('harmless', { statements: [HARMLESS] }),
  );
  const settled = async (): Promise<void> => {
    for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
  };
  await settled();
  const admin = await testGateway({ principal: CHIEF, store: second });
  return { delegate, admin, settled };
}

const attach = ({ call }: TestGateway, name: string): Promise<Answer> =>
  call('POST', `/roles/${inPath('role', 'r')}/attach-policy`, { policySrn: `srn2:policy#${name}` });
const detach = ({ call }: TestGateway, name: string): Promise<Answer> =>
  call('POST', `/roles/${inPath('role', 'r')}/detach-policy`, { policySrn: `srn2:policy#${name}` });
const assign = ({ call }: TestGateway, { type, name }: Subject, to = 'r'): Promise<Answer> =>
  call('POST', `/roles/${inPath('role', to)}/create-assignment`, { subject: name, subjectType: type });
const unassign = ({ call }: TestGateway, { type, name }: Subject): Promise<Answer> =>
  call('POST', `/roles/${inPath('role', 'r')}/delete-assignment`, { subject: name, subjectType: type });
const update = ({ call }: TestGateway, name: string, ...statements: Statement[]): Promise<Answer> =>
  call('PUT', `/policies/${inPath('policy', name)}`, { policyDocument: { version: 'v1', statements } });

describe('a deny on a holder of system-admin', () => {
  it.each<[string, Subject]>([
    ['itself', chief],
    ['its domain', { type: 'domain', name: 'Ops.Example' }],
    ['a group', { type: 'group', name: 'g' }],
  ])('applies to %s until the administrator removes it', async (_by, subject) => {
    const { delegate, admin, settled } = await scene();
    const mayQuery = (): boolean => admin.directory.isAllowed(CHIEF, 'Query', table);
    const deny = async (): Promise<void> => {
      expect((await attach(delegate, 'denying')).status).toBe(200);
      expect((await assign(delegate, subject)).status).toBe(200);
      await settled();
      expect(mayQuery()).toBe(false);
    };
    const undoings = [
      () => detach(admin, 'denying'),
      () => unassign(admin, subject),
      () => update(admin, 'denying', HARMLESS),
    ];
    for (const undo of undoings) {
      await deny();
      expect((await undo()).status).toBe(200);
      await settled();
      expect(mayQuery()).toBe(true);
      await update(admin, 'denying', DENY_ALL);
      await detach(admin, 'denying');
      await settled();
    }
  });

  it('leaves all actions on access, and is shown the same by every question about access', async () => {
    const { delegate, admin, settled } = await scene();
    await attach(delegate, 'denying');
    await assign(delegate, chief);
    await settled();
    const because = { roleSrn: 'srn2:role#system-admin', policySrn: 'srn2:policy#system-admin', statementIndex: 0 };
    for (const [kind, actions] of Object.entries(ADMINISTRATION)) {
      const resource = `srn2:${kind}#x`;
      const requests = actions.map((action) => ({ action, resourceSrn2String: resource }));
      const asked = { subjectTypeToSubject: { 'user-email': CHIEF.id }, requests };
      const { body } = await admin.call('POST', '/simulate-access', asked);
      for (const [at, action] of actions.entries()) {
        const levels = [{ kind, id: 'x' }];
        expect([action, admin.directory.isAllowed(CHIEF, action, { levels })]).toEqual([action, true]);
        expect(admin.directory.decide(CHIEF, action, { levels }).reason).toBe('systemAdmin');
        const answer = { decision: 'ALLOW', reason: 'systemAdmin', matchedStatements: [because] };
        expect(body.results[at]).toMatchObject({ action, ...answer });
      }
      const path = `/who-can?action=${actions[0]}&resource=${encodeURIComponent(resource)}`;
      const { subjects } = (await admin.call('GET', path)).body;
      expect(subjects).toContainEqual({
        ...{ subject: CHIEF.id, subjectType: 'user-email', expiresAt: null },
        ...{ role: 'system-admin', policy: 'system-admin', statementIndex: 0 },
      });
    }
    const { body } = await admin.call('GET', '/who-can?action=Query&resource=srn2%3Atable%23t');
    expect(body.subjects).not.toContainEqual(expect.objectContaining({ subject: CHIEF.id }));
    expect((await admin.call('GET', '/whoami')).body.roles.map(({ name }: { name: string }) => name)).toEqual([
      'r',
      'system-admin',
    ]);
  });

  it('can be an invalid policy, which the administrator repairs or detaches', async () => {
    const { admin, settled } = await scene();
    // As a client of the Kubernetes API writes it.
    admin.store.seed(role('r', { policies: ['invalid'] }), roleAssignment('r', { role: 'r', subjects: [chief] }));
    await settled();
    expect(admin.directory.decide(CHIEF, 'Query', table).reason).toBe('invalidPolicy');
    expect((await update(admin, 'invalid', HARMLESS)).status).toBe(200);
    expect(admin.directory.isAllowed(CHIEF, 'Query', table)).toBe(true);
    admin.store.seed(policy('invalid', { statements: [INVALID] }));
    expect(admin.directory.isAllowed(CHIEF, 'Query', table)).toBe(false);
    expect((await detach(admin, 'invalid')).status).toBe(200);
    expect(admin.directory.isAllowed(CHIEF, 'Query', table)).toBe(true);
  });

  it('does not count for a service token with the role, and counts once the assignment or the role has ended', async () => {
    const { admin } = await scene();
    const token: Subject = { type: 'service-token', name: 'ci' };
    const soon = new Date(NOW.getTime() + 1000).toISOString();
    admin.store.seed(
      serviceToken('ci'),
      role('r', { policies: ['denying'] }),
      roleAssignment('ci', { role: 'system-admin', subjects: [{ ...token, expiresAt: soon }] }),
      roleAssignment('r', { role: 'r', subjects: [token] }),
      policy('everything', { statements: [EVERYTHING] }),
      role('wide', { policies: ['everything'] }),
      roleAssignment('wide', { role: 'wide', subjects: [token] }),
    );
    const mayAssign = (): boolean => admin.directory.isAllowed(tokenPrincipal('ci'), 'AssignRole', adminRole);
    expect(mayAssign()).toBe(true);
    admin.clock.time += 1000;
    expect(mayAssign()).toBe(false);
  });
});

describe('the rule for administrators', () => {
  it('makes nobody an administrator', async () => {
    const { delegate, settled } = await scene();
    const { store, directory } = delegate;
    const refused = async (): Promise<void> => {
      await settled();
      expect((await assign(delegate, mallory, 'system-admin')).status).toBe(403);
      await settled();
      expect(directory.isAllowed(MALLORY, 'AssignRole', adminRole)).toBe(false);
    };
    await refused();
    // The stored role is not what decides about this, in the moments until the operator restores it.
    store.seed(role('system-admin', { policies: [] }));
    await refused();
    store.seed(role('system-admin', { policies: ['system-admin', 'denying'] }));
    await refused();
    // Everything but the right to assign the role: the new administrator would have that right although the own deny is in the role, too.
    const denied = { statements: [{ effect: 'deny' as const, actions: ['AssignRole'], resources: ['*'] }] };
    store.seed(
      policy('everything', { statements: [EVERYTHING] }),
      policy('but', denied),
      role('wide', { policies: ['everything', 'but'] }),
      role('system-admin', { policies: ['system-admin', 'but'] }),
      roleAssignment('wide', { role: 'wide', subjects: [mallory] }),
    );
    await refused();
  });

  it('keeps a last administrator, whatever is denied to it', async () => {
    const { delegate, admin, settled } = await scene();
    await attach(delegate, 'denying');
    await assign(delegate, chief);
    await settled();
    const { status, body } = await admin.call('POST', `/roles/${inPath('role', 'system-admin')}/delete-assignment`, {
      ...{ subject: CHIEF.id, subjectType: 'user-email' },
    });
    expect([status, body.message]).toEqual([
      409,
      'role `system-admin` would have no subject left that holds it for another 24 hours: assign it to another subject first',
    ]);
  });

  it('leaves somebody where two administrators deny each other everything, or remove each other, at the same time', async () => {
    for (let round = 0; round < 12; round++) {
      const { managers, store, settled } = await together(round);
      const [first, second] = managers as [RbacManager, RbacManager];
      const other: Principal = { ...MALLORY, id: 'nobody', groups: ['admins'] };
      const admins: Subject = { type: 'group', name: 'admins' };
      store.seed(roleAssignment('other', { role: 'system-admin', subjects: [admins] }));
      await settled();
      await Promise.allSettled([
        first.assignments.create(CHIEF, 'denied', admins),
        second.assignments.create(other, 'denied', chief),
        first.assignments.delete(CHIEF, 'system-admin', admins),
        second.assignments.delete(other, 'system-admin', chief),
      ]);
      await settled();
      const reader = new Directory(store, { environment: 'olap', cluster: 'pinot' });
      const left = [CHIEF, other].filter((principal) => reader.isAllowed(principal, 'AssignRole', adminRole));
      expect(left).toHaveLength(1);
    }
  });

  it('gives nothing to others: a policy keeps the deny that its allow relies on', async () => {
    for (let round = 0; round < 12; round++) {
      const { managers, store, settled } = await together(round);
      const [first, second] = managers as [RbacManager, RbacManager];
      store.seed(roleAssignment('mixed', { role: 'r', subjects: [chief, mallory] }));
      await settled();
      const statements: Statement[] = [EVERYTHING, DENY_ALL];
      await Promise.allSettled([
        first.policies.update(MALLORY, 'p', { policyDocument: { version: 'v1', statements } }),
        second.roles.attach(MALLORY, 'r', 'p'),
      ]);
      await settled();
      const reader = new Directory(store, { environment: 'olap', cluster: 'pinot' });
      expect(reader.isAllowed(MALLORY, 'Query', table)).toBe(false);
      expect(reader.isAllowed(MALLORY, 'AssignRole', adminRole)).toBe(false);
      expect(reader.isAllowed(CHIEF, 'AssignRole', adminRole)).toBe(true);
    }
  });
});

/** Gateways whose views are behind, and calls that take a different number of turns in each round. */
async function together(
  round: number,
): Promise<{ managers: RbacManager[]; store: MemoryStore; settled: () => Promise<void> }> {
  const world = memoryWorld(2);
  const stores = world.stores as MemoryStore[];
  const [store] = stores as [MemoryStore];
  const gateway = await testGateway({ principal: MALLORY, roles: ['rbac-admin'], store });
  gateway.directory.close();
  store.seed(
    roleAssignment('chief', { role: 'system-admin', subjects: [chief] }),
    role('r'),
    policy('p', { statements: [HARMLESS] }),
    policy('denying', { statements: [DENY_ALL] }),
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
