import { describe, expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { requireName, ResourceEditor } from '../../../../src/access/manager/editor.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import { isManagedByRest, roleView } from '../../../../src/access/manager/views.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { ANNOTATIONS, LABELS, NAME_MAX_LENGTH } from '../../../../src/resources/meta.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { atOnce } from '../../../../src/platform/long-work.ts';
import { policy, role, roleAssignment, serviceToken, stored } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryStore } from '../memory-store.ts';

const EVE: Principal = {
  kind: 'user',
  srn: 'srn2:user#eve@example.com',
  id: 'eve@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};
const END = '2026-01-02T00:00:00Z';

/** EVE has all rights. */
function setUp() {
  const [store, clock] = [new MemoryStore(), new FakeClock()];
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock });
  store.seed(
    policy('all', { statements: [{ effect: 'allow', resources: ['*'] }] }),
    role('all', { policies: ['all'] }),
    roleAssignment('all', { role: 'all', subjects: [{ type: 'user-email', name: EVE.id }] }),
  );
  return { store, clock, manager: new RbacManager({ store, directory, clock }) };
}

const group = (name: string, expiresAt?: string): Subject => ({
  type: 'group',
  name,
  ...(expiresAt !== undefined && { expiresAt }),
});

const listed = (manager: RbacManager) => atOnce(manager.assignmentList.ofRole('r'));

const problem = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof StoreError ? `${error.code}: ${error.message}` : String(error)),
  );

describe('a name', () => {
  it('has a form, and a length', () => {
    for (const name of ['a', 'a-b.c', 'a'.repeat(NAME_MAX_LENGTH)]) expect(() => requireName(name)).not.toThrow();
    for (const name of ['', 'A', 'a_b', '-a', 'a.', 'a'.repeat(NAME_MAX_LENGTH + 1)])
      expect(() => requireName(name)).toThrow('is not allowed: a name is at most');
  });
});

describe('the editor', () => {
  it('replaces what has the same content as the one that was read', async () => {
    const { store, clock } = setUp();
    const editor = new ResourceEditor({ store, clock });
    const read = store.get('Role', 'all')!;
    const change = (spec: object) => ({ ...spec, description: 'changed' });
    const edit = (spec: object) => editor.edit('Role', 'all', EVE, change, { replaces: { ...read, spec } });
    await expect(edit({})).rejects.toThrow('was changed');
    expect((await edit(structuredClone(read.spec))).spec.description).toBe('changed');
  });
});

describe('a view', () => {
  it('says whether REST created the object', () => {
    const managed = { name: 'a', labels: { [LABELS.managedBy]: 'olap-warden' } };
    const created = { [ANNOTATIONS.createdBy]: EVE.srn };
    expect(isManagedByRest({ ...managed, annotations: created })).toBe(true);
    expect(isManagedByRest(managed)).toBe(false);
    expect(isManagedByRest({ ...managed, annotations: { [ANNOTATIONS.createdBy]: 'kubectl' } })).toBe(false);
    expect(isManagedByRest({ name: 'a', annotations: created })).toBe(false);
    expect(isManagedByRest({ ...managed, labels: { [LABELS.managedBy]: 'helm' }, annotations: created })).toBe(false);
  });

  it('has the time of the last change, which is not that of a status', () => {
    const written = (fields: object) =>
      roleView(role('r', {}, stored({ creationTimestamp: '2026-01-01T00:00:00Z', ...fields }))).lastUpdatedAt;
    const entry = (time: string, subresource?: string) => ({
      manager: 'kubectl',
      operation: 'Update' as const,
      time,
      ...(subresource !== undefined && { subresource }),
    });
    expect(written({})).toBe('2026-01-01T00:00:00Z');
    expect(written({ managedFields: [entry('2026-01-03T00:00:00Z', 'status'), entry('2026-01-02T00:00:00Z')] })).toBe(
      '2026-01-02T00:00:00Z',
    );
    expect(
      written({
        managedFields: [entry('2026-01-02T00:00:00Z')],
        annotations: { [ANNOTATIONS.lastUpdatedAt]: '2026-01-04T00:00:00Z' },
      }),
    ).toBe('2026-01-04T00:00:00Z');
  });
});

describe('a role', () => {
  it('is not created while REST left an assignment of one with its name', async () => {
    const { store, manager } = setUp();
    const rest = stored<ReturnType<typeof roleAssignment>>({
      labels: { [LABELS.managedBy]: 'olap-warden' },
      annotations: { [ANNOTATIONS.createdBy]: EVE.srn },
    });
    store.seed(
      roleAssignment('of-another', { role: 'another' }, rest),
      roleAssignment('by-kubectl', { role: 'free' }),
      roleAssignment('left', { role: 'taken' }, rest),
    );
    expect(await problem(manager.roles.create(EVE, { name: 'free' }))).toBe('done');
    expect(await problem(manager.roles.create(EVE, { name: 'taken' }))).toContain(
      'conflict: role assignment `left` of an earlier role `taken` still exists',
    );
  });

  it('is not written where its description stays', async () => {
    const { store, manager } = setUp();
    store.seed(role('r', { description: 'x' }));
    let writes = 0;
    store.beforeWrite = () => void writes++;
    for (const changes of [{}, { description: 'x' }]) await manager.roles.update(EVE, 'r', changes);
    expect(writes).toBe(0);
    expect(await manager.roles.update(EVE, 'r', { description: 'y' })).toMatchObject({ description: 'y' });
    expect(writes).toBe(1);
  });

  it('has at most 256 policies', async () => {
    const { store, manager } = setUp();
    const names = Array.from({ length: 257 }, (_, index) => `p${index}`);
    store.seed(role('r', { policies: names.slice(0, 255) }), ...names.map((name) => policy(name)));
    expect(await problem(manager.roles.attach(EVE, 'r', 'p255'))).toBe('done');
    expect(await problem(manager.roles.attach(EVE, 'r', 'p0'))).toBe('done');
    expect(await problem(manager.roles.attach(EVE, 'r', 'p256'))).toBe(
      'invalid: role `r` has 256 policies, which is the maximum',
    );
    expect(store.get('Role', 'r')?.spec.policies).toHaveLength(256);
  });

  it('loses a policy that no longer exists, but not one that never did', async () => {
    const { store, manager } = setUp();
    store.seed(role('r', { policies: ['gone', 'other'] }), policy('other'), policy('free'));
    expect(await problem(manager.roles.detach(EVE, 'r', 'gone'))).toBe('done');
    expect(store.get('Role', 'r')?.spec.policies).toEqual(['other']);
    expect(await problem(manager.roles.detach(EVE, 'r', 'free'))).toBe('done');
    expect(await problem(manager.roles.detach(EVE, 'r', 'gone'))).toBe(
      'invalid: `policySrn`: there is no policy `gone`',
    );
  });
});

describe('assignments', () => {
  it('of a subject in several objects are shown by the one that ends last, and by the first of equal ones', () => {
    const { store, manager } = setUp();
    const by = (author: string) =>
      stored<ReturnType<typeof roleAssignment>>({
        annotations: { [ANNOTATIONS.createdBy]: author },
      });
    store.seed(
      role('r'),
      roleAssignment('1', { role: 'r', subjects: [group('a', END), group('b', END), group('c')] }, by('one')),
      roleAssignment('2', { role: 'r', subjects: [group('a'), group('b', END), group('c', END)] }, by('two')),
    );
    expect(listed(manager).items.map(({ subject, createdBy, expiresAt }) => [subject, createdBy, expiresAt])).toEqual([
      ['a', 'two', null],
      ['b', 'one', END],
      ['c', 'one', null],
    ]);
  });

  it('have another version with another expiry', () => {
    const { store, manager } = setUp();
    store.seed(role('r'));
    const version = (...subjects: Subject[]): string => {
      store.seed(roleAssignment('1', { role: 'r', subjects }));
      return listed(manager).version;
    };
    const first = version(group('a'), group('b', END));
    expect(version(group('b', END), group('a'))).toBe(first);
    const others = [
      version(group('a'), group('b')),
      version(group('a', END), group('b', END)),
      version(group('a'), group('b', '2026-01-03T00:00:00Z')),
      version(group('a')),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  it('are changed at most a hundred at once', async () => {
    const { store, manager } = setUp();
    store.seed(role('r'), roleAssignment('1', { role: 'r', subjects: [group('old')] }));
    const groups = (count: number) => Array.from({ length: count }, (_, index) => group(`g${index}`));
    expect(await problem(manager.assignmentSet.replace(EVE, 'r', groups(100)))).toBe(
      'invalid: the body changes 101 assignments of role `r`: at most 100 are allowed in one request',
    );
    expect(await problem(manager.assignmentSet.replace(EVE, 'r', groups(99)))).toBe('done');
    expect(listed(manager).items).toHaveLength(99);
  });

  it('are renewed with an expiry by a caller who may only assign, unless they end earlier', async () => {
    const { store, manager } = setUp();
    store.seed(role('r'), roleAssignment('1', { role: 'r', subjects: [group('a', END)] }));
    let writes = 0;
    store.beforeWrite = () => void writes++;
    expect(await manager.assignments.create(EVE, 'r', group('a', END))).toMatchObject({ expiresAt: END });
    expect(writes).toBe(0);
    expect(await manager.assignments.create(EVE, 'r', group('a'))).toMatchObject({ expiresAt: null });
    expect(writes).toBe(1);
  });
});

describe('a service token', () => {
  it('has expired from its expiry on', async () => {
    const { store, clock, manager } = setUp();
    store.seed(serviceToken('ci', { expiresAt: '2026-01-01T00:00:01Z' }), serviceToken('free'));
    const status = (name: string) => manager.serviceTokens.get(name).status;
    await clock.advance(999);
    expect([status('ci'), status('free')]).toEqual(['UNASSIGNED', 'UNASSIGNED']);
    await clock.advance(1);
    expect([status('ci'), status('free')]).toEqual(['EXPIRED', 'UNASSIGNED']);
  });

  it.each([
    ['forbidden', 'done'],
    ['unavailable', 'unavailable: x'],
  ] as const)('whose expiry cannot be written for `%s` is deleted: %s', async (thrown, expected) => {
    const { store, manager } = setUp();
    store.seed(serviceToken('ci'));
    store.beforeWrite = (verb) => {
      if (verb === 'update') throw new StoreError(thrown, 'x');
    };
    expect(await problem(manager.serviceTokens.remove(EVE, 'ci'))).toBe(expected);
    expect(store.truth('ServiceToken')).toHaveLength(expected === 'done' ? 0 : 1);
  });
});
