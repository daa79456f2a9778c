import { describe, expect, it } from 'vitest';
import { Directory } from '../../../../src/access/directory.ts';
import { collectChanges, recordingStore, type Change } from '../../../../src/access/manager/changes.ts';
import { ResourceEditor } from '../../../../src/access/manager/editor.ts';
import { RbacManager } from '../../../../src/access/manager/manager.ts';
import { confirmTarget } from '../../../../src/access/manager/references.ts';
import type { Principal } from '../../../../src/access/principal.ts';
import { ANNOTATIONS } from '../../../../src/resources/meta.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, role, roleAssignment, serviceToken, statement, stored } from '../../../builders/resources.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { MemoryStore } from '../memory-store.ts';

const user = (name: string): Principal => ({
  kind: 'user',
  srn: `srn2:user#${name}`,
  id: name,
  groups: [],
  domain: undefined,
  authenticator: 'test',
});
/** May do everything, and nothing. */
const [EVE, MALLORY] = [user('eve@example.com'), user('mallory@example.com')];
const group = (name: string): Subject => ({ type: 'group', name });

function setUp() {
  const [store, clock] = [new MemoryStore(), new FakeClock()];
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock });
  store.seed(
    policy('all', { statements: [{ effect: 'allow', resources: ['*'] }] }),
    policy('deny', { statements: [statement({ effect: 'deny', actions: ['*'], resources: ['*'] })] }),
    role('all', { policies: ['all'] }),
    roleAssignment('all', { role: 'all', subjects: [{ type: 'user-email', name: EVE.id }] }),
    roleAssignment('admins', { role: 'system-admin', subjects: [{ type: 'user-email', name: 'ada@example.com' }] }),
  );
  const writes: string[] = [];
  store.beforeWrite = (verb, _kind, name) => void writes.push(`${verb} ${name}`);
  return { store, clock, directory, writes, manager: new RbacManager({ store, directory, clock }) };
}

const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof StoreError ? error.code : String(error)),
  );

describe('a caller without rights', () => {
  it('may attach and detach what changes nothing, where it may read the policy', async () => {
    const { store, writes, manager } = setUp();
    store.seed(
      role('r', { policies: ['deny'] }),
      roleAssignment('r', { role: 'r', subjects: [group('g')] }),
      role('s'),
    );
    const outcomes = async () => [
      await code(manager.roles.attach(MALLORY, 'r', 'deny')),
      await code(manager.roles.detach(MALLORY, 's', 'deny')),
      await code(manager.roles.detach(MALLORY, 'r', 'deny')),
    ];
    // Otherwise it would find out which roles have the policy.
    expect(await outcomes()).toEqual(['forbidden', 'forbidden', 'forbidden']);
    store.seed(
      policy('read', { statements: [{ effect: 'allow', actions: ['GetPolicy'], resources: ['srn2:policy#*'] }] }),
      role('read', { policies: ['read'] }),
      roleAssignment('read', { role: 'read', subjects: [{ type: 'user-email', name: MALLORY.id }] }),
    );
    expect(await outcomes()).toEqual(['done', 'done', 'forbidden']);
    expect(writes).toEqual([]);
  });

  it('may not learn whether a subject has a role, and may remove a token that is no administrator', async () => {
    const { store, manager } = setUp();
    store.seed(role('r', { policies: ['deny'] }), roleAssignment('r', { role: 'r', subjects: [group('g')] }));
    store.seed(serviceToken('ci'));
    const removed = (name: string) => manager.assignments.requireMayChange(MALLORY, 'r', { removed: [group(name)] });
    expect(await code(removed('other'))).toBe('forbidden');
    expect(await code(removed('g'))).toBe('forbidden');
    expect(await code(manager.serviceTokens.remove(MALLORY, 'ci'))).toBe('done');
  });
});

describe('the removal of a subject from all assignments', () => {
  it('takes the roles with denies last', async () => {
    const { store, writes, manager } = setUp();
    store.seed(
      role('denies', { policies: ['deny'] }),
      role('allows', { policies: ['all'] }),
      roleAssignment('1', { role: 'denies', subjects: [group('g')] }),
      roleAssignment('2', { role: 'allows', subjects: [group('g')] }),
      roleAssignment('3', { role: 'missing', subjects: [group('g')] }),
      roleAssignment('4', { role: 'allows', subjects: [group('other')] }),
    );
    await manager.assignments.deleteAll(EVE, group('g'));
    expect(writes).toEqual(['delete 2', 'delete 3', 'delete 1']);
  });

  it('finds what the local view lacks, and skips what is gone', async () => {
    const { store, writes, manager } = setUp();
    const gone = roleAssignment('gone', { role: 'r', subjects: [group('g')] });
    store.seed(role('r'), roleAssignment('new', { role: 'r', subjects: [group('g')] }));
    const get = store.get.bind(store);
    store.get = (kind, name) => (kind === 'RoleAssignment' ? undefined : get(kind, name));
    await manager.assignments.deleteAll(EVE, group('g'), [gone, ...store.truth('RoleAssignment')]);
    expect(writes).toEqual(['delete new']);
  });
});

it('the work on an object waits for all work before it', async () => {
  const { store, clock } = setUp();
  const editor = new ResourceEditor({ store, clock });
  const events: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) =>
    editor.inTurn('Role', 'all', async () => {
      events.push(`${name} begins`);
      await new Promise<void>((resolve) => ends.push(resolve));
      events.push(`${name} ends`);
    });
  const [first, second] = [work('first'), work('second')];
  await settle();
  ends.shift()!();
  await first;
  await settle();
  const third = work('third');
  await settle();
  expect(events).toEqual(['first begins', 'first ends', 'second begins']);
  ends.shift()!();
  await second;
  await settle();
  ends.shift()!();
  await third;
  expect(events.slice(3)).toEqual(['second ends', 'third begins', 'third ends']);
});

describe('the target of a reference', () => {
  const marked = stored<ReturnType<typeof role>>({
    uid: 'u',
    annotations: { [ANNOTATIONS.deleting]: '2026-01-01T00:00:00Z' },
  });

  it('exists if it has the same uid and is not being deleted', async () => {
    const { store, clock } = setUp();
    const editor = new ResourceEditor({ store, clock });
    store.seed(role('r', {}, stored({ uid: 'u' })), role('marked', {}, marked));
    store.seed(role('ends', {}, stored({ uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' })));
    const confirm = (name: string, uid = 'u') => confirmTarget(editor, 'Role', name, uid);
    expect(await confirm('r')).toBe(true);
    expect(await confirm('r', 'another')).toBe(false);
    expect(await confirm('missing')).toBe(false);
    expect(await confirm('ends')).toBe(false);
    expect(await confirm('marked')).toBe(true);
    expect(store.get('Role', 'marked')?.metadata.annotations).toEqual({});
  });

  it('is not confirmed while the mark of its deletion cannot be removed', async () => {
    const { store, clock } = setUp();
    const editor = new ResourceEditor({ store, clock });
    store.seed(role('marked', {}, marked));
    store.beforeWrite = () => {
      throw new StoreError('unavailable', 'x');
    };
    expect(await code(confirmTarget(editor, 'Role', 'marked', 'u'))).toBe('unavailable');
  });
});

describe('the recorded changes', () => {
  it('have the spec of the version that was replaced, also where the view was behind', async () => {
    const { store } = setUp();
    const recording = recordingStore(store);
    store.seed(role('r', { description: 'old' }));
    const old = store.get('Role', 'r')!;
    store.seed(role('r', { description: 'new' }));
    const get = store.get.bind(store);
    store.get = (kind, name) => (name === 'r' ? (old as ReturnType<typeof get>) : get(kind, name)) as never;
    const changes: Change[] = [];
    await collectChanges(changes, async () => {
      const current = (await recording.read('Role', 'r'))!;
      const updated = await recording.update('Role', { ...current, spec: { description: 'newer' } });
      await recording.delete('Role', 'r', { resourceVersion: updated.metadata.resourceVersion! });
      await recording.read('Role', 'missing');
    });
    expect(changes).toEqual([
      { kind: 'Role', name: 'r', before: { description: 'new' }, after: { description: 'newer' } },
      { kind: 'Role', name: 'r', before: { description: 'old' } },
    ]);
  });
});
