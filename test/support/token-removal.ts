import { expect } from 'vitest';
import { ServiceTokenAuthenticator } from '../../src/access/authenticators/service-token.ts';
import { Directory } from '../../src/access/directory.ts';
import { RbacManager } from '../../src/access/manager/manager.ts';
import { tableResource } from '../../src/access/policy/srn.ts';
import { tableNameOf } from '../../src/pinot/table-name.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { StoreError, type ResourceStore } from '../../src/store/resource-store.ts';
import { policy, role, roleAssignment } from '../builders/resources.ts';
import { ALICE } from './app.ts';

const TABLES = ['events', 'salaries'].map((name) => tableResource(tableNameOf(name)));
const onTable = (effect: 'allow' | 'deny', table: string) => ({
  statements: [{ effect, actions: ['Query'], resources: [`srn2:table#${table}`] }],
});

/** The store, until its n-th write: that one and all later ones fail, as if the process had been killed. */
function failingStore(store: ResourceStore, failAt: number, afterWrite: () => Promise<void>): ResourceStore {
  let writes = 0;
  const written = async <T>(write: () => Promise<T>): Promise<T> => {
    if (++writes >= failAt) throw new StoreError('unavailable', 'killed');
    const result = await write();
    await afterWrite();
    return result;
  };
  return {
    synced: (signal) => store.synced(signal),
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    read: (kind, name, options) => store.read(kind, name, options),
    readAll: (kind, options) => store.readAll(kind, options),
    subscribe: (kind, listener) => store.subscribe(kind, listener),
    health: () => store.health(),
    close: () => store.close(),
    create: (kind, object, options) => written(() => store.create(kind, object, options)),
    update: (kind, object, options) => written(() => store.update(kind, object, options)),
    updateStatus: (kind, object, options) => written(() => store.updateStatus(kind, object, options)),
    delete: (kind, name, options) => written(() => store.delete(kind, name, options)),
  };
}

/**
 * Deletes a service token whose access is limited by denies, again and again, and each time one write later ends the process. After each write the
 * token must have no access that it did not have before, and the repeated deletion must leave nothing.
 * @param store with the predefined roles and an administrator
 */
export async function checkTokenRemoval(store: ResourceStore): Promise<void> {
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
  const authenticator = new ServiceTokenAuthenticator(directory, systemClock);
  const managerOf = (over: ResourceStore) => new RbacManager({ store: over, directory, clock: systemClock });
  const healthy = managerOf(store);
  for (const table of ['events', 'salaries', '*'])
    await store.create('Policy', policy(`allow-${table.length}`, onTable('allow', table)));
  await store.create('Policy', policy('deny-salaries', onTable('deny', 'salaries')));
  await store.create('Policy', policy('deny-events', onTable('deny', 'events')));
  // Whichever of the two mixed roles is removed first, the other one gives what the first has denied.
  const roles = {
    'a-mixed': ['allow-6', 'deny-salaries'],
    'b-denying': ['deny-events', 'deny-salaries'],
    'c-mixed': ['allow-8', 'deny-events'],
    'd-allowing': ['allow-1'],
  };
  for (const [name, policies] of Object.entries(roles)) await store.create('Role', role(name, { policies }));
  // A token with the role of administrators is removed by an administrator only.
  const remover = [{ type: 'user-email' as const, name: ALICE.id }];
  await store.create('RoleAssignment', roleAssignment('remover', { role: 'system-admin', subjects: remover }));
  let completed = false;
  for (let failAt = 1; !completed; failAt++) {
    expect(failAt).toBeLessThan(30);
    const { bearerToken, accessKey } = await healthy.serviceTokens.create(ALICE, {});
    const subject = { type: 'service-token' as const, name: accessKey };
    const other = { type: 'group' as const, name: 'analysts' };
    for (const name of [...Object.keys(roles), 'system-admin']) {
      const subjects = name === 'b-denying' ? [other, subject] : [subject];
      await store.create('RoleAssignment', roleAssignment(`${name}-${failAt}`, { role: name, subjects }));
    }
    const access = async (): Promise<boolean[]> => {
      const result = await authenticator.authenticate({ scheme: 'bearer', token: bearerToken });
      if (result.outcome !== 'authenticated') return [];
      return TABLES.map((table) => directory.isAllowed(result.principal, 'Query', table));
    };
    expect(await access()).toEqual([false, false]);
    const check = async (): Promise<void> => expect(await access()).not.toContain(true);
    try {
      await managerOf(failingStore(store, failAt, check)).serviceTokens.remove(ALICE, accessKey);
      completed = true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'unavailable' });
      await check();
      // Without its object there is nothing to delete; what is left names no token.
      if (store.get('ServiceToken', accessKey)) await healthy.serviceTokens.remove(ALICE, accessKey);
    }
    expect(await access()).toEqual([]);
    const named = store
      .list('RoleAssignment')
      .filter(({ spec }) => spec.subjects.some(({ name }) => name === accessKey));
    expect(named).toEqual([]);
    expect(store.get('ServiceToken', accessKey)).toBeUndefined();
    const rest = store.list('RoleAssignment').find(({ metadata }) => metadata.name === `b-denying-${failAt}`);
    expect(rest?.spec.subjects).toEqual([other]);
  }
  directory.close();
}
