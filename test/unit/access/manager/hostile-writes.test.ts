import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Directory, tokenPrincipal } from '../../../../src/access/directory.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import { reviewPorts } from '../../../../src/access/usage/access-review.ts';
import { policyResource, tableResource } from '../../../../src/access/policy/srn.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { RoleAssignment } from '../../../../src/resources/kinds.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';
import {
  policy,
  role,
  roleAssignment,
  serviceToken,
  stored,
  withHashes,
  withMeta,
} from '../../../builders/resources.ts';
import { MemoryStore, SharedBackend } from '../memory-store.ts';

// Requests of a caller who tries to gain something by unusual names, or by a gateway whose local view is behind the store.
const NOW = Date.parse('2026-11-01T12:00:00Z');
const EVE = user('eve@example.com');
const ADMIN = user('admin@example.com');
const EVERYTHING = { statements: [{ effect: 'allow' as const, actions: ['*'], resources: ['*'] }] };

function user(id: string): Principal {
  return { kind: 'user', srn: `srn2:user#${id}`, id, groups: [], domain: undefined, authenticator: 'test' };
}

function gateway(backend = new SharedBackend()) {
  const store = new MemoryStore(backend);
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock: { now: () => NOW } });
  const schedule = (callback: () => void) => {
    const timer = setImmediate(callback);
    return () => clearImmediate(timer);
  };
  const manager = new RbacManager({ store, directory, clock: { now: () => NOW, random: () => 0.5, schedule } });
  return { store, directory, manager };
}

function twoGateways() {
  const backend = new SharedBackend();
  return [gateway(backend), gateway(backend)] as const;
}

/** Waits until the views follow the store. */
const settle = async (): Promise<void> => {
  for (let count = 0; count < 5; count++) await turn();
};

it('a resource name with a control character gives nothing', async () => {
  const { store, directory, manager } = gateway();
  store.seed(role('team'));
  const policyDocument = {
    version: 'v1',
    statements: [
      { effect: 'allow', actions: ['*'], resources: ['srn2:*#*'] },
      { effect: 'deny', actions: ['*'], resources: ['srn2:*#\0'] },
    ],
  };
  await expect(manager.policies.create(EVE, { name: 'team-x', policyDocument })).rejects.toThrow('control characters');
  expect(directory.isAllowed(EVE, 'Query', tableResource(tableNameOf('salaries')))).toBe(false);
  expect(directory.isAllowed(EVE, 'EscalatePolicy', policyResource('any'))).toBe(false);
});

it('`If-Match` with an outdated version is rejected while the view is behind the store', async () => {
  const [one, two] = twoGateways();
  const deny = (resource: string) => [{ effect: 'deny' as const, actions: ['Query'], resources: [resource] }];
  one.store.seed(policy('p', { statements: deny('srn2:table#a') }));
  await settle();
  const { version } = two.manager.policies.get('p');
  await one.manager.policies.update(EVE, 'p', { description: 'changed' });
  expect(two.manager.policies.get('p').version).toBe(version);
  await expect(two.manager.policies.remove('p', [version])).rejects.toMatchObject({ code: 'conflict' });
});

it('attaching a policy that is attached already does not detach it', async () => {
  const [one, two] = twoGateways();
  const deny = { statements: [{ effect: 'deny' as const, actions: ['Query'], resources: ['srn2:table#salaries'] }] };
  one.store.seed(policy('d', deny), role('r', { policies: ['d'] }));
  await settle();
  await one.store.delete('Policy', 'd');
  one.store.seed(policy('d', deny));
  await expect(two.manager.roles.attach(EVE, 'r', 'd')).rejects.toThrow('`d`');
  expect(one.store.truth('Role').find(({ metadata }) => metadata.name === 'r')?.spec.policies).toEqual(['d']);
});

it('a service token that expires cannot assign its role without an end', async () => {
  const { store, manager } = gateway();
  const query = { statements: [{ effect: 'allow' as const, actions: ['Query'], resources: ['srn2:table#a'] }] };
  store.seed(
    policy('q', query),
    role('r', { policies: ['q'] }),
    serviceToken('tok', { expiresAt: '2026-11-01T13:00:00Z' }),
    roleAssignment('a', { role: 'r', subjects: [{ type: 'service-token', name: 'tok' }] }),
  );
  const subject = { type: 'user-email' as const, name: 'mallory@example.com' };
  await expect(manager.assignments.create(tokenPrincipal('tok'), 'r', subject)).rejects.toThrow('shorter time');
});

it('a renewal by a gateway behind the store does not shorten an assignment without an end', async () => {
  const [one, two] = twoGateways();
  const admin = { type: 'user-email' as const, name: ADMIN.id };
  one.store.seed(
    policy('system-admin', EVERYTHING),
    role('system-admin', { policies: ['system-admin'] }),
    roleAssignment('adm', { role: 'system-admin', subjects: [{ ...admin, expiresAt: '2026-11-01T13:00:00Z' }] }),
  );
  await settle();
  await one.manager.assignments.create(ADMIN, 'system-admin', admin);
  const shorter = { ...admin, expiresAt: '2026-11-01T14:00:00Z' };
  await expect(two.manager.assignments.create(ADMIN, 'system-admin', shorter)).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(one.store.truth('RoleAssignment')[0]?.spec.subjects[0]?.expiresAt).toBeUndefined();
});

it('warnings do not reveal whether a name exists that the caller may not read', async () => {
  const { store, manager } = gateway();
  store.seed(role('team'), policy('secret-project-x'));
  const warningsFor = (name: string) =>
    manager.policyWarnings(EVE, { statements: [{ resources: [`srn2:policy#${name}`] }] });
  const text = (name: string) => [
    `\`statements[0].resources[0]\`: policy \`${name}\` does not exist or is not visible to you`,
  ];
  expect(await warningsFor('secret-project-x')).toEqual(text('secret-project-x'));
  expect(await warningsFor('secret-projectx')).toEqual(text('secret-projectx'));
});

it('an administrator is not removed because another one remains whose assignment is being deleted', async () => {
  const { store, manager } = gateway();
  const subjects = (id: string) => [{ type: 'user-email' as const, name: id }];
  store.seed(role('system-admin', { policies: ['system-admin'] }));
  store.seed(policy('system-admin', EVERYTHING));
  store.seed(roleAssignment('last', { role: 'system-admin', subjects: subjects(ADMIN.id) }));
  const dying = withMeta<RoleAssignment>({ finalizers: ['a/b'], deletionTimestamp: '2026-11-01T11:00:00Z' });
  store.seed(dying(roleAssignment('other', { role: 'system-admin', subjects: subjects('other@example.com') })));
  const removal = manager.assignments.delete(ADMIN, 'system-admin', subjects(ADMIN.id)[0]!);
  await expect(removal).rejects.toThrow('no subject left');
});

it('an administrator whose assignment has expired can be removed although no other one is left', async () => {
  const { store, manager } = gateway();
  const old = { type: 'user-email' as const, name: 'old@example.com' };
  store.seed(policy('system-admin', EVERYTHING), role('all', { policies: ['system-admin'] }));
  store.seed(role('system-admin', { policies: ['system-admin'] }));
  store.seed(roleAssignment('all', { role: 'all', subjects: [{ type: 'user-email', name: ADMIN.id }] }));
  store.seed(
    roleAssignment('old', { role: 'system-admin', subjects: [{ ...old, expiresAt: '2026-10-01T00:00:00Z' }] }),
  );
  await manager.assignments.delete(ADMIN, 'system-admin', old);
  expect(store.truth('RoleAssignment').map(({ metadata }) => metadata.name)).toEqual(['all']);
});

it('a policy that is used is not deleted, and says so also if its mark was changed meanwhile', async () => {
  const { store, manager } = gateway();
  store.seed(policy('p'), role('r', { policies: ['p'] }));
  let writes = 0;
  store.beforeWrite = (verb, kind) => {
    if (verb !== 'update' || kind !== 'Policy' || ++writes !== 2) return;
    const [current] = store.truth('Policy');
    if (current !== undefined) store.replace(current);
  };
  await expect(manager.policies.remove('p', undefined)).rejects.toThrow('`r`');
  expect(writes).toBe(2);
});

it('a failure of the store while the mark of a used policy is removed is reported', async () => {
  const { store, manager } = gateway();
  store.seed(policy('p'), role('r', { policies: ['p'] }));
  let writes = 0;
  store.beforeWrite = (verb, kind) => {
    if (verb === 'update' && kind === 'Policy' && ++writes === 2) throw new Error('the store failed');
  };
  await expect(manager.policies.remove('p', undefined)).rejects.toThrow('the store failed');
});

const QUERY = (table: string) => ({
  statements: [{ effect: 'allow' as const, actions: ['Query'], resources: [`srn2:table#${table}`] }],
});
const toEve = { type: 'user-email' as const, name: EVE.id };
const toMallory = { type: 'user-email' as const, name: 'mallory@example.com' };

it('a role whose policies another gateway exchanged is not assigned by those that it had', async () => {
  const [one, two] = twoGateways();
  one.store.seed(
    policy('weather', QUERY('weather')),
    policy('salaries', QUERY('salaries')),
    role('own', { policies: ['weather'] }),
    role('r', { policies: ['weather'] }),
    roleAssignment('a', { role: 'own', subjects: [toEve] }),
  );
  await settle();
  const { metadata } = one.store.truth('Role').find((found) => found.metadata.name === 'r')!;
  one.store.replace({ ...role('r', { policies: ['salaries'] }), metadata });
  // The view of the other gateway still has the policy that she may grant.
  expect(two.store.get('Role', 'r')?.spec.policies).toEqual(['weather']);
  await expect(two.manager.assignments.create(EVE, 'r', toMallory)).rejects.toMatchObject({ code: 'conflict' });
  expect(one.store.truth('RoleAssignment')).toHaveLength(1);
});

it('whoever may only take a role away is not asked for the right to assign it', async () => {
  const { store, manager } = gateway();
  store.seed(
    policy('salaries', QUERY('salaries')),
    role('r', { policies: ['salaries'] }),
    roleAssignment('a', { role: 'r', subjects: [toMallory] }),
  );
  await manager.assignments.requireMayChange(EVE, 'r', { removed: [toMallory] });
  const assigned = manager.assignments.requireMayChange(EVE, 'r', { assigned: [toMallory] });
  await expect(assigned).rejects.toMatchObject({ code: 'forbidden' });
});

it('an assignment of a service token is shown with its access key', async () => {
  const { store, directory, manager } = gateway();
  store.seed(
    policy('weather', QUERY('weather')),
    role('r', { policies: ['weather'] }),
    roleAssignment('a', { role: 'r', subjects: [{ type: 'service-token', name: 'gone' }] }),
  );
  const accessKey = 'key-of-a-pipeline';
  store.seed(
    serviceToken('pipeline', {}, stored({ uid: 'first' }), withHashes({ accessKey })),
    roleAssignment('b', { role: 'r', subjects: [{ type: 'service-token', name: accessKey }] }),
  );
  expect(reviewPorts(store, directory).tokenNameOf(accessKey)).toBe('pipeline');
  const subjects = atOnce(manager.assignmentList.ofRole('r')).items.map(({ subject }) => subject);
  expect(subjects.toSorted()).toEqual(['gone', accessKey]);
});
