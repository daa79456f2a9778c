import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Policy, Role, RoleAssignment, Secret } from '../../src/resources/kinds.ts';
import { API_VERSION, LABELS } from '../../src/resources/meta.ts';
import {
  StoreError,
  type ResourceStore,
  type StoreErrorCode,
  type StoreEvent,
} from '../../src/store/resource-store.ts';
import { policy, role as buildRole } from '../builders/resources.ts';
import { until } from '../support/until.ts';

/** An empty backing store, and functions that change it without the store under test. */
export interface StoreFixture {
  readonly store: ResourceStore;
  /** Writes an object as another client: by kubectl, or as a file in the folder. */
  putOutside(object: Role | Policy): Promise<void>;
  removeOutside(kind: 'Role' | 'Policy', name: string): Promise<void>;
  stop(): Promise<void>;
}

const role = (name: string, policies: string[] = []): Role =>
  buildRole(name, { description: `role ${name}`, policies });

function secret(name: string, labels: Record<string, string>): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels }, type: 'Opaque', data: { hash: 'YWJj' } };
}

async function refusal(promise: Promise<unknown>): Promise<{ code: StoreErrorCode; message: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('the store accepted what it must reject');
}

/** The contract of every ResourceStore. */
export function describeResourceStore(name: string, start: () => Promise<StoreFixture>): void {
  describe(`${name} as a ResourceStore`, () => {
    let fixture: StoreFixture;
    let store: ResourceStore;

    beforeEach(async () => {
      fixture = await start();
      store = fixture.store;
      await store.synced();
    });

    afterEach(async () => {
      await fixture.stop();
    });

    function record(): StoreEvent<'Role'>[] {
      const events: StoreEvent<'Role'>[] = [];
      store.subscribe('Role', (event) => events.push(event));
      return events;
    }

    const brief = (events: readonly StoreEvent[]) =>
      events.map(({ type, object }) => `${type} ${object.metadata.name}`);

    test('create sets the fields of the server, and the view has the result', async () => {
      const created = await store.create('Role', role('analysts', ['read-events']));
      expect(created).toMatchObject({
        apiVersion: API_VERSION,
        kind: 'Role',
        metadata: { name: 'analysts', generation: 1 },
        spec: { description: 'role analysts', policies: ['read-events'] },
      });
      expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(created.metadata.resourceVersion).toMatch(/^[0-9]+$/);
      expect(Math.abs(Date.now() - Date.parse(created.metadata.creationTimestamp ?? ''))).toBeLessThan(10_000);
      expect(store.get('Role', 'analysts')).toEqual(created);
      expect(store.list('Role')).toEqual([created]);
    });

    test('create rejects a second object with the same name', async () => {
      await store.create('Role', role('analysts'));
      const { code, message } = await refusal(store.create('Role', role('analysts')));
      expect(code).toBe('already-exists');
      expect(message).toContain('analysts');
      // An object of another kind may have the name.
      await store.create('Policy', policy('analysts'));
    });

    test.each(['Data Engineers', '..', '.', '', 'a/b', 'x'.repeat(254)])(
      'create refuses the name `%s`',
      async (name) => {
        const { code } = await refusal(store.create('Role', role(name)));
        expect(code).toBe('invalid');
        expect(store.list('Role')).toEqual([]);
      },
    );

    test.each(['..', '.', '', 'a/b'])('get, update and delete report the name `%s` as not found', async (name) => {
      await store.create('Role', role('stays'));
      expect(store.get('Role', name)).toBeUndefined();
      const object = { ...role(name), metadata: { name, resourceVersion: '1' } };
      expect((await refusal(store.update('Role', object))).code).toBe('not-found');
      expect((await refusal(store.updateStatus('Role', object))).code).toBe('not-found');
      expect((await refusal(store.delete('Role', name))).code).toBe('not-found');
      expect(store.list('Role')).toHaveLength(1);
    });

    test('an object that violates the schema is rejected with the name of the field', async () => {
      const broken = { ...role('broken'), spec: { policies: 'read-events' } } as unknown as Role;
      const { code, message } = await refusal(store.create('Role', broken));
      expect(code).toBe('invalid');
      expect(message).toContain('spec.policies');
      expect(store.get('Role', 'broken')).toBeUndefined();
    });

    test('a change of an immutable field is rejected with its rule', async () => {
      const assignment: RoleAssignment = {
        apiVersion: API_VERSION,
        kind: 'RoleAssignment',
        metadata: { name: 'a' },
        spec: { role: 'analysts', subjects: [{ type: 'group', name: 'data' }] },
      };
      const created = await store.create('RoleAssignment', assignment);
      const { code, message } = await refusal(
        store.update('RoleAssignment', { ...created, spec: { ...created.spec, role: 'admins' } }),
      );
      expect(code).toBe('invalid');
      expect(message).toContain('is immutable');
      expect(store.get('RoleAssignment', 'a')).toEqual(created);
    });

    test('update replaces spec, labels and annotations, and never status', async () => {
      const created = await store.create('Role', role('analysts', ['a']));
      const withStatus = await store.updateStatus('Role', { ...created, status: { srn: 'srn2:role#analysts' } });
      const updated = await store.update('Role', {
        ...withStatus,
        metadata: { ...withStatus.metadata, labels: { team: 'data' }, annotations: { note: 'x' } },
        spec: { policies: ['b'] },
        status: { srn: 'forged' },
      });
      expect(updated.metadata).toMatchObject({
        uid: created.metadata.uid,
        creationTimestamp: created.metadata.creationTimestamp,
        generation: 2,
        labels: { team: 'data' },
        annotations: { note: 'x' },
      });
      expect(updated.spec).toEqual({ policies: ['b'] });
      expect(updated.status).toEqual({ srn: 'srn2:role#analysts' });
      expect(store.get('Role', 'analysts')).toEqual(updated);
    });

    test('generation counts only changes of spec', async () => {
      const created = await store.create('Role', role('analysts', ['a']));
      const labelled = await store.update('Role', {
        ...created,
        metadata: { ...created.metadata, labels: { a: 'b' } },
      });
      expect(labelled.metadata.generation).toBe(1);
      expect(BigInt(labelled.metadata.resourceVersion ?? 0)).toBeGreaterThan(
        BigInt(created.metadata.resourceVersion ?? 0),
      );
      const changed = await store.update('Role', { ...labelled, spec: { policies: [] } });
      expect(changed.metadata.generation).toBe(2);
    });

    test('an update without a change keeps the version', async () => {
      const created = await store.create('Role', role('analysts', ['a']));
      const events = record();
      const updated = await store.update('Role', created);
      expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
      expect(brief(events)).toEqual(['added analysts']);
    });

    test('updateStatus replaces only status', async () => {
      const created = await store.create('Role', role('analysts', ['a']));
      const updated = await store.updateStatus('Role', {
        ...created,
        metadata: { ...created.metadata, labels: { forged: 'yes' } },
        spec: { policies: ['forged'] },
        status: { srn: 'srn2:role#analysts', policyCount: 1 },
      });
      expect(updated.status).toEqual({ srn: 'srn2:role#analysts', policyCount: 1 });
      expect(updated.spec).toEqual(created.spec);
      expect(updated.metadata.labels).toBeUndefined();
      expect(updated.metadata.generation).toBe(1);
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
    });

    test('a write with an old version is a conflict and changes nothing', async () => {
      const created = await store.create('Role', role('analysts', ['a']));
      const updated = await store.update('Role', { ...created, spec: { policies: ['b'] } });
      expect((await refusal(store.update('Role', { ...created, spec: { policies: ['c'] } }))).code).toBe('conflict');
      expect((await refusal(store.updateStatus('Role', { ...created, status: { srn: 'x' } }))).code).toBe('conflict');
      expect(store.get('Role', 'analysts')).toEqual(updated);
    });

    test('a write without a version is rejected', async () => {
      await store.create('Role', role('analysts'));
      const { code, message } = await refusal(store.update('Role', role('analysts')));
      expect(code).toBe('invalid');
      expect(message).toContain('resourceVersion');
    });

    test('an update of a deleted object is not-found, and of one created again is a conflict', async () => {
      const created = await store.create('Role', role('analysts'));
      await store.delete('Role', 'analysts');
      expect((await refusal(store.update('Role', created))).code).toBe('not-found');
      await store.create('Role', role('analysts'));
      expect((await refusal(store.update('Role', created))).code).toBe('conflict');
    });

    test('exactly one of many concurrent writers of a version succeeds', async () => {
      const created = await store.create('Role', role('analysts'));
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, async (_, i) => store.update('Role', { ...created, spec: { policies: [`p${i}`] } })),
      );
      const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      expect(won).toHaveLength(1);
      expect(store.get('Role', 'analysts')).toEqual(won[0]?.value);
    });

    test('delete removes the object, and a second delete is not-found', async () => {
      await store.create('Role', role('analysts'));
      await store.delete('Role', 'analysts');
      expect(store.get('Role', 'analysts')).toBeUndefined();
      expect((await refusal(store.delete('Role', 'analysts'))).code).toBe('not-found');
    });

    test('delete checks its preconditions', async () => {
      const created = await store.create('Role', role('analysts'));
      const updated = await store.update('Role', { ...created, spec: {} });
      const { uid = '', resourceVersion: old = '' } = created.metadata;
      const other = '00000000-0000-4000-8000-000000000000';
      expect((await refusal(store.delete('Role', 'analysts', { uid: other }))).code).toBe('conflict');
      expect((await refusal(store.delete('Role', 'analysts', { resourceVersion: old }))).code).toBe('conflict');
      expect(store.get('Role', 'analysts')).toEqual(updated);
      await store.delete('Role', 'analysts', { uid, resourceVersion: updated.metadata.resourceVersion ?? '' });
      expect(store.list('Role')).toEqual([]);
    });

    test('an object with finalizers exists until the last one is removed', async () => {
      const finalizers = ['olapwarden.io/test'];
      await store.create('Role', { ...role('held'), metadata: { name: 'held', finalizers } });
      const events = record();
      await store.delete('Role', 'held');
      const dying = store.get('Role', 'held');
      expect(Date.parse(dying?.metadata.deletionTimestamp ?? '')).not.toBeNaN();
      if (dying === undefined) throw new Error('unreachable');
      const metadata = { ...dying.metadata, finalizers: [] };
      await store.update('Role', { ...dying, metadata });
      expect(store.get('Role', 'held')).toBeUndefined();
      expect(brief(events)).toEqual(['added held', 'modified held', 'deleted held']);
    });

    test('a subscriber receives the existing objects, then every change in order, before the write resolves', async () => {
      await store.create('Role', role('b'));
      await store.create('Role', role('a'));
      const events = record();
      expect(brief(events)).toEqual(['added a', 'added b']);
      const created = await store.create('Role', role('c'));
      expect(brief(events).at(-1)).toBe('added c');
      const updated = await store.update('Role', { ...created, spec: {} });
      expect(events.at(-1)).toEqual({ type: 'modified', kind: 'Role', object: updated, previous: created });
      await store.delete('Role', 'c');
      expect(brief(events)).toEqual(['added a', 'added b', 'added c', 'modified c', 'deleted c']);
      expect(events.at(-1)?.object.spec).toEqual({});
    });

    test('a subscription can be ended, and an error in a listener does not affect others', async () => {
      const events: StoreEvent<'Role'>[] = [];
      store.subscribe('Role', () => {
        throw new Error('a broken listener');
      });
      const end = store.subscribe('Role', (event) => events.push(event));
      await store.create('Role', role('a'));
      end();
      await store.create('Role', role('b'));
      expect(brief(events)).toEqual(['added a']);
    });

    test('list is sorted by name', async () => {
      for (const name of ['b', 'a.z', 'a', 'c', 'a-z']) await store.create('Role', role(name));
      expect(store.list('Role').map(({ metadata }) => metadata.name)).toEqual(['a', 'a-z', 'a.z', 'b', 'c']);
    });

    test('a Secret is written with the label of its part, and read by its name', async () => {
      const labels = { [LABELS.part]: 'service-token-secret' };
      const created = await store.create('Secret', secret('token-a', labels));
      expect(created.data).toEqual({ hash: 'YWJj' });
      expect(await store.read('Secret', 'token-a')).toEqual(created);
      const updated = await store.update('Secret', { ...created, data: { hash: 'ZGVm' } });
      expect(await store.read('Secret', 'token-a')).toMatchObject({ data: { hash: 'ZGVm' } });
      expect((await refusal(store.update('Secret', created))).code).toBe('conflict');
      for (const wrong of [{}, { [LABELS.part]: 'something-else' }]) {
        const { code, message } = await refusal(store.create('Secret', secret('b', wrong)));
        expect(code).toBe('invalid');
        expect(message).toContain(LABELS.part);
      }
      await store.delete('Secret', 'token-a', { dryRun: true });
      expect(await store.read('Secret', 'token-a')).toEqual(updated);
      await store.delete('Secret', 'token-a', { uid: updated.metadata.uid! });
      expect((await refusal(store.delete('Secret', 'token-a', { dryRun: true }))).code).toBe('not-found');
      expect(await store.read('Secret', 'token-a')).toBeUndefined();
    });

    test('changes by others are seen', async () => {
      const events = record();
      await fixture.putOutside(role('outside', ['a']));
      await until('added', () => store.get('Role', 'outside') !== undefined);
      expect(store.get('Role', 'outside')).toMatchObject({ metadata: { generation: 1 }, spec: { policies: ['a'] } });
      await fixture.putOutside(role('outside', ['b']));
      await until('modified', () => store.get('Role', 'outside')?.spec.policies?.[0] === 'b');
      expect(store.get('Role', 'outside')?.metadata.generation).toBe(2);
      await fixture.removeOutside('Role', 'outside');
      await until('deleted', () => store.get('Role', 'outside') === undefined);
      expect(brief(events)).toEqual(['added outside', 'modified outside', 'deleted outside']);
    });

    test('objects written by others can be updated', async () => {
      await fixture.putOutside(role('outside', ['a']));
      await until('added', () => store.get('Role', 'outside') !== undefined);
      const outside = store.get('Role', 'outside');
      if (outside === undefined) throw new Error('unreachable');
      const updated = await store.update('Role', { ...outside, spec: { policies: ['b'] } });
      const final = await store.updateStatus('Role', { ...updated, status: { srn: 'srn2:role#outside' } });
      expect(final).toMatchObject({ spec: { policies: ['b'] }, status: { srn: 'srn2:role#outside' } });
      await store.delete('Role', 'outside');
      expect(store.list('Role')).toEqual([]);
    });

    test('many concurrent writes are all stored', async () => {
      const events = record();
      await Promise.all(Array.from({ length: 40 }, async (_, i) => store.create('Role', role(`r${i}`))));
      expect(store.list('Role')).toHaveLength(40);
      await Promise.all(store.list('Role').map(async (object) => store.update('Role', { ...object, spec: {} })));
      await Promise.all(store.list('Role').map(async ({ metadata }) => store.delete('Role', metadata.name)));
      expect(store.list('Role')).toEqual([]);
      for (let i = 0; i < 40; i++)
        expect(brief(events.filter(({ object }) => object.metadata.name === `r${i}`))).toEqual([
          `added r${i}`,
          `modified r${i}`,
          `deleted r${i}`,
        ]);
    });

    test('a write that was aborted before its start is not done', async () => {
      const reason = new Error('called off');
      await expect(store.create('Role', role('a'), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(store.list('Role')).toEqual([]);
    });

    test('health has no error', async () => {
      await store.create('Role', role('a'));
      const health = store.health();
      expect(health.synced).toBe(true);
      expect(health.lastError).toBeUndefined();
      expect(health.ageMs).toBeGreaterThanOrEqual(0);
      expect(health.ageMs).toBeLessThan(10_000);
    });

    test('close ends all events', async () => {
      const events = record();
      await store.close();
      await fixture.putOutside(role('late'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(events).toEqual([]);
    });
  });
}
