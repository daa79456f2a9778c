import { expect, it } from 'vitest';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../../src/access/policy/predefined.ts';
import { keepOwned } from '../../../../src/operator/reconcilers/predefined.ts';
import { NotLeaderError } from '../../../../src/operator/leader/fenced-store.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, roleAssignment } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, loggedLines, metrics } from '../fakes.ts';

function start(...objects: ConstructorParameters<typeof FakeStore>) {
  const [store, recorder, clock] = [new FakeStore(...objects), new FakeRecorder(), new FakeClock()];
  const abort = new AbortController();
  const { log, lines } = loggedLines();
  const ended = keepOwned({ store, recorder, clock, metrics: metrics(), log }, abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  return { store, recorder, clock, lines, stop };
}

it('creates all of them with the author of the specification, and writes them only once', async () => {
  const { store, clock, stop } = start();
  await clock.advance(0);
  const count = PREDEFINED_POLICIES.length + PREDEFINED_ROLES.length;
  expect(store.writes).toHaveLength(count);
  expect(store.get('Policy', 'system-admin')).toMatchObject({
    metadata: {
      labels: { 'olapwarden.io/predefined': 'true' },
      annotations: {
        'olapwarden.io/created-by': 'platform-rbac-manager',
        'olapwarden.io/last-updated-at': '2026-01-01T00:00:00.000Z',
      },
    },
    spec: { statements: [{ effect: 'allow', actions: ['*'], resources: ['*'] }] },
  });
  expect(store.get('Role', 'system-admin')?.spec.policies).toEqual(['system-admin']);
  await clock.advance(3_600_000);
  expect(store.writes).toHaveLength(count);
  await stop();
});

it('creates a deleted one again', async () => {
  const { store, clock, stop } = start();
  await clock.advance(0);
  await store.delete('Role', 'table-reader');
  await clock.advance(0);
  expect(store.get('Role', 'table-reader')).toBeDefined();
  await stop();
});

it('restores changed fields, keeps additions, and records an Event', async () => {
  const { store, recorder, clock, stop } = start();
  await clock.advance(0);
  const found = store.get('Policy', 'table-reader')!;
  const labels = { team: 'data' };
  await store.update('Policy', { ...found, metadata: { ...found.metadata, labels }, spec: policy('x').spec });
  await clock.advance(0);
  const restored = store.get('Policy', 'table-reader')!;
  expect(restored.spec).toEqual(found.spec);
  expect(restored.metadata.labels).toMatchObject({ team: 'data', 'olapwarden.io/predefined': 'true' });
  expect(recorder.events).toEqual([expect.stringContaining('Warning Restored table-reader')]);
  await stop();
});

it('restores removed labels and annotations', async () => {
  const { store, clock, stop } = start();
  await clock.advance(0);
  for (const change of [{ labels: {} }, { annotations: {} }, { labels: {}, annotations: {} }]) {
    const found = store.get('Role', 'table-reader')!;
    await store.update('Role', { ...found, metadata: { ...found.metadata, ...change } });
    await clock.advance(0);
    const { labels, annotations } = store.get('Role', 'table-reader')!.metadata;
    expect(labels).toMatchObject({ 'olapwarden.io/predefined': 'true' });
    expect(annotations).toMatchObject({ 'olapwarden.io/created-by': 'platform-rbac-manager' });
  }
  await stop();
});

it('logs only what it writes', async () => {
  const { store, clock, lines, stop } = start();
  await clock.advance(0);
  // Each write is an event of the store, after which the object is compared again.
  expect(lines).toHaveLength(PREDEFINED_POLICIES.length + PREDEFINED_ROLES.length);
  lines.length = 0;
  await store.delete('Role', 'table-reader');
  await clock.advance(0);
  expect(lines).toMatchObject([{ kind: 'Role', name: 'table-reader', existed: false }]);
  await stop();
});

it('takes over an existing object of the name', async () => {
  const { store, clock, stop } = start(policy('system-admin'));
  await clock.advance(0);
  expect(store.get('Policy', 'system-admin')?.spec).toEqual(
    PREDEFINED_POLICIES.find(({ metadata }) => metadata.name === 'system-admin')?.spec,
  );
  await stop();
});

it('does not change other objects', async () => {
  const { store, clock, stop } = start(policy('mine'));
  await clock.advance(0);
  await store.delete('Policy', 'mine');
  await clock.advance(0);
  expect(store.get('Policy', 'mine')).toBeUndefined();
  await stop();
});

it('neither retries nor logs what it may not write after its leadership has ended', async () => {
  const { store, clock, lines, stop } = start();
  await clock.advance(0);
  [lines.length, store.writes.length] = [0, 0];
  await store.delete('Role', 'table-reader');
  store.failures.push(new NotLeaderError());
  await clock.advance(3_600_000);
  expect(store.failures).toEqual([]);
  expect(store.writes).toEqual(['delete Role/table-reader']);
  expect(lines).toEqual([]);
  await stop();
});

it('retries while the API server is unreachable', async () => {
  const { store, clock, stop } = start();
  store.failures.push(...Array.from({ length: 8 }, () => new StoreError('unavailable', 'away')));
  await clock.advance(10_000);
  expect(store.list('Policy')).toHaveLength(PREDEFINED_POLICIES.length);
  expect(store.list('Role')).toHaveLength(PREDEFINED_ROLES.length);
  await stop();
});

it('tries again every ten seconds, however long the API server has refused, with few lines in the log', async () => {
  const { store, clock, lines, stop } = start();
  const create = store.create.bind(store);
  store.create = async () => Promise.reject(new StoreError('not-found', 'the kind is not served'));
  await clock.advance(3_600_000);
  expect(store.list('Role')).toEqual([]);
  expect(lines.length).toBeLessThan(200);
  store.create = create;
  await clock.advance(10_000);
  expect(store.list('Policy')).toHaveLength(PREDEFINED_POLICIES.length);
  expect(store.list('Role')).toHaveLength(PREDEFINED_ROLES.length);
  await stop();
});

it('creates another owned object again after its deletion, and leaves changes of it', async () => {
  const store = new FakeStore();
  const clock = new FakeClock();
  const abort = new AbortController();
  const name = 'mine';
  const ensured: string[] = [];
  const ensure = async (): Promise<void> => {
    ensured.push(name);
    if (!store.get('RoleAssignment', name)) await store.create('RoleAssignment', roleAssignment(name));
  };
  const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: loggedLines().log };
  const ended = keepOwned(ports, abort.signal, [{ kind: 'RoleAssignment', name, ensure }]);
  await clock.advance(0);
  const found = store.get('RoleAssignment', name)!;
  await store.update('RoleAssignment', { ...found, metadata: { ...found.metadata, labels: { team: 'data' } } });
  await clock.advance(60_000);
  expect(ensured).toEqual([name]);
  await store.delete('RoleAssignment', name);
  await clock.advance(0);
  expect(store.get('RoleAssignment', name)).toBeDefined();
  abort.abort();
  await ended;
});
