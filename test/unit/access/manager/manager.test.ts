import { hashSecretKey } from '../../../../src/access/service-token.ts';
import { describe, expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import { assignmentName } from '../../../../src/access/manager/assignment-name.ts';
import { proposeName } from '../../../../src/access/manager/editor.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { NAME_PATTERN } from '../../../../src/resources/meta.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { settle } from '../../../support/fake-clock.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryStore, SharedBackend } from '../memory-store.ts';

const NOW = new Date('2026-11-01T12:00:00Z');
const EVE: Principal = {
  kind: 'user',
  srn: 'srn2:user#eve@example.com',
  id: 'eve@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};

function setUp(backend = new SharedBackend()) {
  const store = new MemoryStore(backend);
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
  const pauses: number[] = [];
  const manager = new RbacManager({
    store,
    directory,
    clock: {
      now: () => NOW.getTime(),
      random: () => 0.5,
      schedule: (callback, ms) => {
        pauses.push(ms);
        const timer = setImmediate(callback);
        return () => clearImmediate(timer);
      },
    },
  });
  return { store, directory, manager, pauses };
}

/** Gives EVE all rights, so that she may grant every policy. */
function seedAdministrator(store: MemoryStore): void {
  store.seed(
    policy('all', { statements: [{ effect: 'allow', resources: ['*'] }] }),
    role('all', { policies: ['all'] }),
    roleAssignment('all', { role: 'all', subjects: [{ type: 'user-email', name: EVE.id }] }),
  );
}

const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => (error instanceof StoreError ? error.code : String(error)),
  );

describe('concurrent edits of one role on two gateways', () => {
  it('lose no policy', async () => {
    const backend = new SharedBackend();
    const gateways = [setUp(backend), setUp(backend)];
    gateways[0]!.store.seed(role('shared'), ...Array.from({ length: 20 }, (_, index) => policy(`p${index}`)));
    seedAdministrator(gateways[0]!.store);
    await settle();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => gateways[index % 2]!.manager.roles.attach(EVE, 'shared', `p${index}`)),
    );
    expect(
      gateways[0]!.store.truth('Role').find(({ metadata }) => metadata.name === 'shared')?.spec.policies,
    ).toHaveLength(20);
    expect(gateways.some(({ pauses }) => pauses.length > 0)).toBe(true);
  });

  it('fail after a bounded number of conflicts, with growing delays', async () => {
    const { store, manager, pauses } = setUp();
    store.seed(role('shared'), policy('p'));
    seedAdministrator(store);
    store.beforeWrite = () => {
      throw new StoreError('conflict', 'changed meanwhile');
    };
    expect(await code(manager.roles.attach(EVE, 'shared', 'p'))).toBe('conflict');
    expect(pauses.length).toBeGreaterThan(5);
    expect(pauses.length).toBeLessThan(20);
    expect(pauses.at(-1)).toBeGreaterThan(pauses[0]!);
  });

  it('retry a replacement after a change of the status, not after one of the spec', async () => {
    const { store, manager } = setUp();
    store.seed(role('shared', { description: 'before' }));
    let changes = 0;
    store.beforeWrite = async () => {
      if (changes++ > 0) return;
      const current = store.get('Role', 'shared')!;
      await store.updateStatus('Role', { ...current, status: { policyCount: 0 } });
    };
    expect(await manager.roles.update(EVE, 'shared', { description: 'mine' })).toMatchObject({
      description: 'mine',
      lastUpdatedBy: EVE.srn,
      lastUpdatedAt: NOW.toISOString(),
    });
    store.beforeWrite = () => {
      store.beforeWrite = () => undefined;
      store.seed(role('shared', { description: 'theirs' }));
    };
    expect(await code(manager.roles.update(EVE, 'shared', { description: 'again' }))).toBe('conflict');
    expect(manager.roles.get('shared').description).toBe('theirs');
  });
});

describe('races with a deletion', () => {
  it('undo the attachment of a deleted policy', async () => {
    const { store, manager } = setUp();
    store.seed(role('r'), policy('p'));
    seedAdministrator(store);
    store.beforeWrite = async (verb) => {
      if (verb !== 'update') return;
      store.beforeWrite = () => undefined;
      await store.delete('Policy', 'p');
    };
    expect(await code(manager.roles.attach(EVE, 'r', 'p'))).toBe('invalid');
    expect(store.get('Role', 'r')?.spec.policies).toEqual([]);
  });

  it('undo the assignment of a deleted role', async () => {
    const { store, manager } = setUp();
    store.seed(role('r'));
    store.beforeWrite = async (verb) => {
      if (verb !== 'create') return;
      store.beforeWrite = () => undefined;
      await store.delete('Role', 'r');
    };
    expect(await code(manager.assignments.create(EVE, 'r', { type: 'group', name: 'g' }))).toBe('not-found');
    expect(store.list('RoleAssignment')).toEqual([]);
  });

  it('keep a subject that was added while the last one was removed', async () => {
    const { store, manager } = setUp();
    const subjects = [{ type: 'group' as const, name: 'a' }];
    store.seed(role('r'), roleAssignment('by-hand', { role: 'r', subjects }));
    store.beforeWrite = () => {
      store.beforeWrite = () => undefined;
      store.seed(roleAssignment('by-hand', { role: 'r', subjects: [...subjects, { type: 'group', name: 'b' }] }));
    };
    await manager.assignments.delete(EVE, 'r', { type: 'group', name: 'a' });
    expect(store.get('RoleAssignment', 'by-hand')?.spec.subjects).toEqual([{ type: 'group', name: 'b' }]);
  });
});

describe('assignments', () => {
  it('have one valid Kubernetes name for each subject', () => {
    const name = (roleName: string, subject: string) => assignmentName(roleName, { type: 'user-email', name: subject });
    expect(name('analysts', 'Ada@Example.com')).toBe(name('analysts', 'ada@example.com'));
    expect(name('analysts', 'a')).not.toBe(name('analysts', 'b'));
    for (const long of ['a'.repeat(253), `${'a'.repeat(199)}.${'b'.repeat(53)}`]) {
      expect(name(long, 'x').length).toBeLessThanOrEqual(253);
      expect(name(long, 'x')).toMatch(new RegExp(NAME_PATTERN));
    }
  });

  it('are added to an object with their name that kubectl created', async () => {
    const { store, manager } = setUp();
    const subject = { type: 'group', name: 'g' } as const;
    const name = assignmentName('r', subject);
    store.seed(role('r'), roleAssignment(name, { role: 'r', subjects: [{ type: 'group', name: 'other' }] }));
    await manager.assignments.create(EVE, 'r', subject);
    expect(store.get('RoleAssignment', name)?.spec.subjects).toEqual([{ type: 'group', name: 'other' }, subject]);
  });
});

describe('service tokens', () => {
  it('leave no object if the hash could not be stored', async () => {
    const { store, manager } = setUp();
    store.updateStatus = () => Promise.reject(new StoreError('unavailable', 'the API is away'));
    expect(await code(manager.serviceTokens.create(EVE, { description: 'x' }))).toBe('unavailable');
    expect(store.truth('ServiceToken')).toEqual([]);
  });

  it('get their hash also if the operator writes the status at the same time', async () => {
    const { store, manager } = setUp();
    const updateStatus = store.updateStatus.bind(store);
    let first = true;
    store.updateStatus = async (kind, object) => {
      if (!first) return updateStatus(kind, object);
      first = false;
      const status = { state: 'Unassigned', conditions: [] };
      await updateStatus(kind, { ...object, status });
      throw new StoreError('conflict', 'the object was changed');
    };
    const issued = await manager.serviceTokens.create(EVE, { description: 'x' });
    expect(store.truth('ServiceToken')).toMatchObject([
      { status: { state: 'Unassigned', accessKey: issued.accessKey, secretHash: hashSecretKey(issued.secretKey) } },
    ]);
    expect(JSON.stringify(store.truth('ServiceToken'))).not.toContain(issued.secretKey);
    expect(store.truth('Secret')).toEqual([]);
  });
});

describe('the warnings of a policy', () => {
  it('leave no timer where the tables could be read', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore();
    const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
    const tables = { actualTables: async (names: readonly string[]) => names, tableNames: () => ['events'] };
    const manager = new RbacManager({ store, directory, clock, tables });
    const found = await manager.policyWarnings(EVE, { statements: [{ resources: ['srn2:table#nosuch'] }] });
    expect(found).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('the name that is proposed in place of an invalid one', () => {
  it.each([
    ['Data Engineers', 'data-engineers'],
    ['Café_Team', 'cafe-team'],
    ['--a--', 'a'],
    ['a..b', 'a.b'],
    ['日本', 'data-engineers'],
    [`${'x'.repeat(252)}--y`, 'x'.repeat(252)],
  ])('%s → %s', (name, proposal) => {
    expect(proposeName(name)).toBe(proposal);
    expect(proposal).toMatch(new RegExp(NAME_PATTERN));
  });
});
