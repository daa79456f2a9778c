import { describe, expect, it } from 'vitest';
import { ensureAdministrators } from '../../../../src/app/parts/administrators-by-setting.ts';
import type { RoleAssignment } from '../../../../src/resources/kinds.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { MemoryStore, SharedBackend } from '../../access/memory-store.ts';

const NAME = 'administrators-by-setting';
const never = new AbortController().signal;
const ops: Subject = { type: 'group', name: 'ops' };
const ada: Subject = { type: 'user-email', name: 'ada@example.com' };
const lasting = roleAssignment('stays', { role: 'system-admin', subjects: [ada] });

const names = (store: MemoryStore): string[] => store.list('RoleAssignment').map(({ metadata }) => metadata.name);
const subjects = (store: MemoryStore): readonly Subject[] => store.get('RoleAssignment', NAME)?.spec.subjects ?? [];

/** A store with the assignment of an earlier setting. */
async function afterSetting(): Promise<MemoryStore> {
  const store = new MemoryStore();
  expect(await ensureAdministrators(store, [ops], never)).toBe('done');
  return store;
}

function labelled(spec: RoleAssignment['spec'], annotations: Record<string, string> = {}): RoleAssignment {
  const object = roleAssignment(NAME, spec);
  const labels = { 'app.kubernetes.io/managed-by': 'olap-warden' };
  return { ...object, metadata: { ...object.metadata, labels, annotations } };
}

describe('without the setting', () => {
  it('its subjects lose the role if another one has it for a day', async () => {
    const store = await afterSetting();
    store.seed(lasting);
    expect(await ensureAdministrators(store, [], never)).toBe('done');
    expect(names(store)).toEqual(['stays']);
  });

  it.each<[string, RoleAssignment]>([
    ['of another role', roleAssignment('other-role', { role: 'readers', subjects: [ada] })],
    [
      'that ends within a day',
      roleAssignment('ends', {
        role: 'system-admin',
        subjects: [{ ...ada, expiresAt: new Date(Date.now() + 3_600_000).toISOString() }],
      }),
    ],
    [
      'of a token that does not exist',
      roleAssignment('token', { role: 'system-admin', subjects: [{ type: 'service-token', name: 'gone' }] }),
    ],
    [
      'that is being deleted',
      { ...lasting, metadata: { ...lasting.metadata, deletionTimestamp: '2026-11-22T00:00:00Z' } },
    ],
  ])('they keep it beside an assignment %s', async (_what, other) => {
    const store = await afterSetting();
    store.seed(other);
    expect(await ensureAdministrators(store, [], never)).toBe('last');
    expect(subjects(store)).toEqual([ops]);
  });

  it('a token that exists is an administrator', async () => {
    const store = await afterSetting();
    store.seed(
      roleAssignment('token', { role: 'system-admin', subjects: [{ type: 'service-token', name: 'machine' }] }),
      serviceToken('machine'),
    );
    expect(await ensureAdministrators(store, [], never)).toBe('done');
    expect(names(store)).toEqual(['token']);
  });

  it('an assignment that somebody else has created is kept, also with the label of olap-warden', async () => {
    const spec = { role: 'system-admin', subjects: [ops] };
    for (const annotations of [{}, { 'olapwarden.io/created-by': 'ada@example.com' }] as Record<string, string>[]) {
      const store = new MemoryStore();
      store.seed(lasting, labelled(spec, annotations));
      expect(await ensureAdministrators(store, [], never)).toBe('done');
      expect(names(store)).toEqual([NAME, 'stays']);
    }
  });

  it('an assignment that somebody else has changed is kept', async () => {
    const store = await afterSetting();
    const own = store.get('RoleAssignment', NAME)!;
    const annotations = { ...own.metadata.annotations, 'olapwarden.io/last-updated-by': 'ada@example.com' };
    const byKubectl = [{ manager: 'kubectl-edit', operation: 'Update', apiVersion: own.apiVersion }];
    for (const metadata of [{ annotations }, { managedFields: byKubectl }]) {
      const other = new MemoryStore();
      other.seed(lasting, { ...own, metadata: { ...own.metadata, ...metadata } });
      expect(await ensureAdministrators(other, [], never)).toBe('changed');
      expect(names(other)).toEqual([NAME, 'stays']);
    }
  });

  it('nobody is left out when the other assignment is deleted at the same moment', async () => {
    const backend = new SharedBackend();
    const [operator, gateway] = [new MemoryStore(backend), new MemoryStore(backend)];
    await ensureAdministrators(operator, [ops], never);
    await gateway.create('RoleAssignment', lasting);
    operator.beforeWrite = async (verb) => {
      operator.beforeWrite = () => undefined;
      expect(verb).toBe('update');
      await gateway.delete('RoleAssignment', 'stays');
    };
    await expect(ensureAdministrators(operator, [], never)).rejects.toMatchObject({ code: 'conflict' });
    expect(await ensureAdministrators(operator, [], never)).toBe('last');
    expect((await operator.readAll('RoleAssignment')).map(({ metadata }) => metadata.name)).toEqual([NAME]);
  });

  it('it is kept when it was changed after it was read', async () => {
    const backend = new SharedBackend();
    const [operator, gateway] = [new MemoryStore(backend), new MemoryStore(backend)];
    await ensureAdministrators(operator, [ops], never);
    await gateway.create('RoleAssignment', lasting);
    operator.beforeWrite = async (verb) => {
      if (verb !== 'delete') return;
      operator.beforeWrite = () => undefined;
      const read = (await gateway.read('RoleAssignment', NAME))!;
      await gateway.update('RoleAssignment', { ...read, spec: { ...read.spec, subjects: [ops, ada] } });
    };
    await expect(ensureAdministrators(operator, [], never)).rejects.toMatchObject({ code: 'conflict' });
    expect((await operator.read('RoleAssignment', NAME))?.spec.subjects).toEqual([ops, ada]);
  });
});

describe('with the setting', () => {
  it('exactly its subjects have the role by the assignment of the operator', async () => {
    const store = await afterSetting();
    expect(await ensureAdministrators(store, [ada], never)).toBe('done');
    expect(subjects(store)).toEqual([ada]);
  });

  it('an assignment of somebody else with that name gets them in addition', async () => {
    const store = new MemoryStore();
    store.seed(labelled({ role: 'system-admin', subjects: [ops, { ...ada, expiresAt: '2030-01-01T00:00:00Z' }] }));
    expect(await ensureAdministrators(store, [ada], never)).toBe('done');
    expect(subjects(store)).toEqual([ada, ops]);
  });

  it('an assignment of another role with that name stays as it is', async () => {
    const store = new MemoryStore();
    store.seed(labelled({ role: 'readers', subjects: [ops] }, { 'olapwarden.io/created-by': 'platform-rbac-manager' }));
    expect(await ensureAdministrators(store, [ada], never)).toBe('foreign');
    expect(subjects(store)).toEqual([ops]);
  });
});
