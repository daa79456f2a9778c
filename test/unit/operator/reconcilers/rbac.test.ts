import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import { observeConditions } from '../../../../src/operator/reconcilers/conditions-metric.ts';
import { policyReconciler, type PolicyOptions } from '../../../../src/operator/reconcilers/policy.ts';
import { pruneExpired } from '../../../../src/operator/reconcilers/assignment-expiry.ts';
import { roleAssignmentReconciler } from '../../../../src/operator/reconcilers/role-assignment.ts';
import { roleReconciler } from '../../../../src/operator/reconcilers/role.ts';
import type { CustomKind, Role } from '../../../../src/resources/kinds.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { policy, role, roleAssignment, statement, withAnnotations, withMeta } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../fakes.ts';

const people = (...names: string[]) => ({ subjects: names.map((name) => ({ type: 'user-email' as const, name })) });

/** All three controllers over one store, as the operator runs them. */
async function run(...objects: ConstructorParameters<typeof FakeStore>) {
  const [store, clock, recorder] = [new FakeStore(...objects), new FakeClock(), new FakeRecorder()];
  const ports = { store, recorder, clock, metrics: metrics(), log: silent };
  new Controller(policyReconciler(), ports).start();
  new Controller(roleReconciler(), ports).start();
  new Controller(roleAssignmentReconciler(), ports).start();
  await clock.advance(0);
  const ready = (kind: CustomKind, name: string): string => {
    const condition = store.get(kind, name)?.status?.conditions?.find(({ type }) => type === 'Ready');
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  };
  return { store, ready, clock, events: recorder.events, settle: () => clock.advance(0) };
}

describe('the mark of a deletion that a gateway did not finish', () => {
  it.each([
    ['Role', role('r')],
    ['Policy', policy('r')],
  ] as const)('is removed from a %s after a minute', async (kind, object) => {
    const annotations = { 'olapwarden.io/deleting': '2026-01-01T00:00:00Z', other: 'kept' };
    const marked = { ...object, metadata: { ...object.metadata, annotations } };
    const { store, clock } = await run(marked);
    await clock.advance(59_000);
    expect(store.get(kind, 'r')?.metadata.annotations).toEqual(annotations);
    await clock.advance(1_000);
    expect(store.get(kind, 'r')?.metadata.annotations).toEqual({ other: 'kept' });
    expect(store.get(kind, 'r')?.status?.conditions?.[0]?.type).toBe('Ready');
  });

  it.each([
    ['Role', role('r'), '2025-12-31T00:00:00Z'],
    ['Role', role('r'), '2026-01-02T00:00:00Z'],
    ['Policy', policy('r'), '2025-12-31T00:00:00Z'],
    ['Policy', policy('r'), '2026-01-02T00:00:00Z'],
  ] as const)('stays on a %s for the same minute where the clock of a gateway differs', async (kind, object, at) => {
    const annotations = { 'olapwarden.io/deleting': at };
    const { store, clock } = await run({ ...object, metadata: { ...object.metadata, annotations } });
    await clock.advance(59_000);
    expect(store.get(kind, 'r')?.metadata.annotations).toEqual(annotations);
    await clock.advance(1_000);
    expect(store.get(kind, 'r')?.metadata.annotations).toEqual({});
  });

  it('has a minute of its own where another one was there before', async () => {
    const marked = (at: string) => withAnnotations<Role>({ 'olapwarden.io/deleting': at });
    const { store, clock } = await run(marked('2026-01-01T00:00:00Z')(role('r')));
    await clock.advance(50_000);
    await store.update('Role', marked('2026-01-01T00:00:50Z')(store.get('Role', 'r')!));
    await clock.advance(59_000);
    expect(store.get('Role', 'r')?.metadata.annotations).not.toEqual({});
    await clock.advance(1_000);
    expect(store.get('Role', 'r')?.metadata.annotations).toEqual({});
  });
});

describe('a Policy', () => {
  it('is ready if it is valid', async () => {
    const { store, ready } = await run(policy('read', { statements: [statement(), statement()] }));
    expect(ready('Policy', 'read')).toBe('True Ready: the resource is ready');
    expect(store.get('Policy', 'read')?.status).toMatchObject({ srn: 'srn2:policy#read', statementCount: 2 });
  });

  it('is stalled if it is invalid, with the errors', async () => {
    const bad = policy('bad', { statements: [statement({ actions: ['Quary'] })] });
    const { store, ready } = await run(bad);
    expect(ready('Policy', 'bad')).toMatch(/^False InvalidPolicy: .*statements\[0\]\.actions\[0\].*`?Query`?/);
    expect(store.get('Policy', 'bad')?.status?.conditions?.[1]).toMatchObject({ type: 'Stalled', status: 'True' });
  });
});

describe('a Policy that refers to missing tables or resources', () => {
  it('is ready with a warning until it exists', async () => {
    let tables: string[] | undefined;
    const [store, clock] = [
      new FakeStore(policy('read', { statements: [statement({ resources: ['srn2:table#evnets'] })] })),
      new FakeClock(),
    ];
    const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
    const deployment = { environment: 'olap', cluster: 'pinot' };
    new Controller(policyReconciler({ deployment, tableNames: () => tables }), ports).start();
    const types = () => store.get('Policy', 'read')?.status?.conditions?.map(({ type, status }) => `${type}=${status}`);
    await clock.advance(0);
    expect(types()).toEqual(['Ready=True']);
    tables = ['events'];
    await clock.advance(60_000);
    expect(types()).toEqual(['Ready=True', 'Warning=True']);
    expect(store.get('Policy', 'read')?.status?.conditions?.[1]).toMatchObject({
      reason: 'NameNotFound',
      message: '`statements[0].resources[0]`: table `evnets` does not exist; did you mean `events`?',
    });
    tables = ['events', 'evnets'];
    await clock.advance(11 * 60_000);
    expect(types()).toEqual(['Ready=True']);
  });
});

describe('a Policy with conditions', () => {
  const deployment = { environment: 'olap', cluster: 'pinot' };
  const withFilter = policy('part', { statements: [statement({ conditions: { rowFilters: ["region = 'eu'"] } })] });

  function start(options: Partial<PolicyOptions>) {
    const [store, clock] = [new FakeStore(withFilter), new FakeClock()];
    const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
    new Controller(policyReconciler({ deployment, tableNames: () => ['events'], ...options }), ports).start();
    const shown = () =>
      store.get('Policy', 'part')?.status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
    return {
      store,
      clock,
      shown,
      messages: () => store.get('Policy', 'part')?.status?.conditions?.map(({ message }) => message),
    };
  }

  it('is stalled while no table has its columns, also in an outage, and recovers', async () => {
    let columns: string[] | undefined = ['regoin'];
    const { clock, shown, messages } = start({
      schemas: {
        tableNames: async () => ['events'],
        columnsOf: async () => {
          if (columns === undefined) throw new Error('no response');
          return new Set(columns);
        },
      },
    });
    const stalled = ['Ready=False ColumnNotFound', 'Stalled=True ColumnNotFound'];
    await clock.advance(0);
    // The comparison with schemas takes turns of the event loop, beside the clock of the test.
    await expect.poll(shown).toEqual(stalled);
    expect(messages()?.[0]).toBe(
      'the conditions do not fit the tables, and allow nothing: `statements[0].conditions.rowFilters[0]`: the column `region` does not exist in `events`; did you mean `regoin`?',
    );
    columns = undefined;
    await clock.advance(60_000);
    await expect.poll(shown).toEqual([...stalled, 'Warning=True ColumnsNotChecked']);
    columns = ['region'];
    await clock.advance(60_000);
    await expect.poll(shown).toEqual(['Ready=True Ready']);
    columns = ['other'];
    await clock.advance(11 * 60_000);
    await expect.poll(shown).toEqual(stalled);
  });

  it.each<[string, Partial<PolicyOptions>]>([
    ['without a connection to Pinot', {}],
    [
      'while the tables cannot be listed',
      { schemas: { tableNames: () => Promise.reject(new Error('no')), columnsOf: async () => new Set() } },
    ],
    [
      'while the schema cannot be read',
      { schemas: { tableNames: async () => ['events'], columnsOf: () => Promise.reject(new Error('no')) } },
    ],
  ])('says that it was not checked %s', async (_, options) => {
    const { clock, shown, messages } = start(options);
    await clock.advance(0);
    await expect.poll(shown).toEqual(['Ready=True Ready', 'Warning=True ColumnsNotChecked']);
    expect(messages()?.[1]).toContain('could not be checked');
  });

  it('is counted by the metric while it is stalled, on the leader', async () => {
    const { store, clock } = start({
      schemas: { tableNames: async () => ['events'], columnsOf: async () => new Set(['other']) },
    });
    const registry = new Registry();
    let isLeader = true;
    observeConditions(registry, () => (isLeader ? store.list('Policy') : undefined));
    const value = async (): Promise<unknown> =>
      (await registry.getMetricsAsJSON()).find(({ name }) => name === 'olap_warden_policy_conditions_invalid')?.values;
    expect(await value()).toMatchObject([{ value: 0 }]);
    await clock.advance(0);
    await expect.poll(value).toMatchObject([{ value: 1 }]);
    isLeader = false;
    expect(await value()).toEqual([]);
  });
});

describe('what can never match', () => {
  const warningOf = (store: FakeStore, kind: 'Policy' | 'RoleAssignment') => {
    const conditions = store.get(kind, 'old')?.status?.conditions ?? [];
    expect(conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
    return conditions[1];
  };

  it('is in the condition of a stored Policy, which stays in effect', async () => {
    const statements = [
      statement({ effect: 'deny', actions: ['Query'], resources: ['srn2:table#events', 'srn2:table#t_OFFLINE'] }),
      statement({ actions: ['GetHealth'], resources: ['srn2:table#*'] }),
    ];
    const [store, clock] = [new FakeStore(policy('old', { statements })), new FakeClock()];
    const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
    const deployment = { environment: 'olap', cluster: 'pinot' };
    new Controller(policyReconciler({ deployment, tableNames: () => ['events'] }), ports).start();
    await clock.advance(0);
    expect(warningOf(store, 'Policy')).toMatchObject({
      type: 'Warning',
      reason: 'NeverMatches',
      message:
        '`statements[0].resources[1]`: `srn2:table#t_OFFLINE` never matches: a table has its name without the type; did you mean `srn2:table#t`?; ' +
        '`statements[1].actions[0]`: `GetHealth` exists on the cluster, not on a table, so the statement never matches it; did you mean `srn2:cluster#*`?; ' +
        '`statements[0].resources[1]`: table `t_OFFLINE` does not exist',
    });
  });

  it('is in the condition of a stored RoleAssignment', async () => {
    const subjects = [
      { type: 'group', name: 'a' },
      { type: 'domain', name: '@x.test' },
    ] as const;
    const { store } = await run(role('r'), roleAssignment('old', { role: 'r', subjects: [...subjects] }));
    expect(warningOf(store, 'RoleAssignment')).toMatchObject({
      type: 'Warning',
      reason: 'NeverMatches',
      message:
        '`subjects[1]`: `@x.test` must be the part of e-mail addresses after the `@`, such as `example.com`; did you mean `x.test`?',
    });
  });
});

it('a Policy that names no table is not looked at again while the tables are not known', async () => {
  const [store, clock] = [
    new FakeStore(policy('all', { statements: [statement({ resources: ['*'] })] })),
    new FakeClock(),
  ];
  const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
  let reads = 0;
  const tableNames = (): undefined => void reads++;
  const deployment = { environment: 'olap', cluster: 'pinot' };
  new Controller(policyReconciler({ deployment, tableNames }), ports).start();
  await clock.advance(0);
  const before = reads;
  await clock.advance(120_000);
  expect(reads).toBe(before);
});

describe('a Role', () => {
  it('waits for its policies, created in any order, and names missing ones', async () => {
    const { store, ready, settle } = await run(role('analysts', { policies: ['read', 'write'] }));
    expect(ready('Role', 'analysts')).toBe(
      'False PolicyNotFound: policies `read`, `write` not found: create them, or remove them from spec.policies',
    );
    await store.create('Policy', policy('read'));
    await settle();
    expect(ready('Role', 'analysts')).toMatch(/^False PolicyNotFound: policy `write` not found: create it/);
    await store.create('Policy', policy('write'));
    await settle();
    expect(ready('Role', 'analysts')).toBe('True Ready: the resource is ready');
    await store.delete('Policy', 'read');
    await settle();
    expect(ready('Role', 'analysts')).toMatch(/^False PolicyNotFound: policy `read`/);
  });

  it('is not ready while one of them is invalid', async () => {
    const bad = policy('bad', { statements: [statement({ actions: ['Quary'] })] });
    const { store, ready, settle } = await run(role('analysts', { policies: ['bad'] }), bad);
    expect(ready('Role', 'analysts')).toMatch(/^False InvalidPolicy: policy `bad` is invalid/);
    await store.update('Policy', { ...store.get('Policy', 'bad')!, spec: policy('x').spec });
    await settle();
    expect(ready('Role', 'analysts')).toBe('True Ready: the resource is ready');
  });

  it('counts its policies and, over all assignments, its subjects', async () => {
    const { store, settle } = await run(
      role('analysts', { policies: ['read'] }),
      policy('read'),
      roleAssignment('one', { role: 'analysts', ...people('a', 'b') }),
      roleAssignment('two', { role: 'analysts', ...people('c') }),
      roleAssignment('other', { role: 'others', ...people('d') }),
    );
    expect(store.get('Role', 'analysts')?.status).toMatchObject({ policyCount: 1, subjectCount: 3 });
    await store.delete('RoleAssignment', 'one');
    await settle();
    expect(store.get('Role', 'analysts')?.status).toMatchObject({ subjectCount: 1 });
  });

  it('has the names of some assignments in the status, and its policies that of the role', async () => {
    const { store, settle } = await run(policy('read'), policy('free'), role('analysts', { policies: ['read'] }));
    const referrers = () =>
      [store.get('Policy', 'read'), store.get('Policy', 'free'), store.get('Role', 'analysts')].map(
        (found) => found?.status?.referencedBy,
      );
    expect(referrers()).toEqual([['analysts'], [], []]);
    await store.create('RoleAssignment', roleAssignment('team', { role: 'analysts' }));
    await settle();
    expect(referrers()).toEqual([['analysts'], [], ['team']]);
    const found = store.get('Role', 'analysts')!;
    await store.update('Role', { ...found, spec: { policies: ['free'] } });
    await store.delete('RoleAssignment', 'team');
    await settle();
    expect(referrers()).toEqual([[], ['analysts'], []]);
    await store.delete('Role', 'analysts');
    await settle();
    expect(referrers().slice(0, 2)).toEqual([[], []]);
  });

  it('writes no status for one referrer more of many, and reconciles none of them for a status', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `r${index}`);
    const { store, settle } = await run(policy('read'), ...names.map((name) => role(name, { policies: ['read'] })));
    const [version, roleVersion] = [store.get('Policy', 'read'), store.get('Role', 'r0')].map(
      (object) => object?.metadata.resourceVersion,
    );
    await store.create('Role', role('another', { policies: ['read'] }));
    await settle();
    expect(store.get('Policy', 'read')?.metadata.resourceVersion).toBe(version);
    expect(store.get('Role', 'r0')?.metadata.resourceVersion).toBe(roleVersion);
  });

  it('limits the number of names in a message', async () => {
    const { ready } = await run(role('r', { policies: Array.from({ length: 12 }, (_, index) => `p${index}`) }));
    expect(ready('Role', 'r')).toContain('`p9` and 2 more not found');
  });
});

describe('a RoleAssignment', () => {
  it('waits for its role', async () => {
    const { store, ready, settle } = await run(roleAssignment('team', { role: 'analysts', ...people('a', 'b') }));
    expect(ready('RoleAssignment', 'team')).toMatch(/^False RoleNotFound: role `analysts` not found: create it/);
    expect(store.get('RoleAssignment', 'team')?.status).toMatchObject({ subjectCount: 2 });
    expect(store.get('RoleAssignment', 'team')?.status).not.toHaveProperty('srn');
    await store.create('Role', role('analysts'));
    await settle();
    expect(ready('RoleAssignment', 'team')).toBe('True Ready: the resource is ready');
    await store.delete('Role', 'analysts');
    await settle();
    expect(ready('RoleAssignment', 'team')).toMatch(/^False RoleNotFound/);
  });
});

describe('a RoleAssignment with subjects that expire', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  const ada = { type: 'user-email', name: 'ada@example.com' } as const;
  const until = (expiresAt: string, name = 'ada@example.com') => ({ type: 'user-email' as const, name, expiresAt });
  const expiryEvents = (events: readonly string[]) => events.filter((event) => /Assignment|Removed/.test(event));

  it('is reported once 24 hours before the expiry and once at the expiry, to the second', async () => {
    const { store, clock, events } = await run(
      role('analysts'),
      roleAssignment('team', { subjects: [until('2026-01-03T00:00:00Z'), { type: 'group', name: 'data' }] }),
    );
    const status = () => store.get('RoleAssignment', 'team')?.status;
    expect(status()).toMatchObject({ subjectCount: 2, nextExpiry: '2026-01-03T00:00:00Z' });
    expect(status()).not.toHaveProperty('expiries');
    await clock.advance(DAY - 1000);
    expect(expiryEvents(events)).toEqual([]);
    await clock.advance(1000);
    const soon =
      'Normal AssignmentExpiring team: subject `user-email:ada@example.com` loses role `analysts` within 24 hours, at 2026-01-03T00:00:00Z';
    expect(expiryEvents(events)).toEqual([soon]);
    expect(status()?.expiries).toEqual([{ ...until('2026-01-03T00:00:00Z'), state: 'Expiring' }]);
    await clock.advance(DAY - 1000);
    expect(status()?.subjectCount).toBe(2);
    expect(store.get('Role', 'analysts')?.status?.subjectCount).toBe(2);
    await clock.advance(1000);
    expect(expiryEvents(events)).toEqual([
      soon,
      'Normal AssignmentExpired team: subject `user-email:ada@example.com` no longer has role `analysts`: the assignment has expired',
    ]);
    expect(status()).toMatchObject({ subjectCount: 1, expiries: [{ state: 'Expired' }] });
    expect(status()).not.toHaveProperty('nextExpiry');
    expect(store.get('Role', 'analysts')?.status?.subjectCount).toBe(1);
    await clock.advance(DAY);
    expect(expiryEvents(events)).toHaveLength(2);
  });

  it('causes no second Event in another operator', async () => {
    const first = await run(role('analysts'), roleAssignment('team', { subjects: [until('2026-01-01T10:00:00Z')] }));
    await first.clock.advance(HOUR);
    expect(expiryEvents(first.events)).toHaveLength(1);
    const second = await run(first.store.get('Role', 'analysts')!, first.store.get('RoleAssignment', 'team')!);
    await second.clock.advance(11 * HOUR);
    expect(expiryEvents(second.events)).toEqual([expect.stringContaining('AssignmentExpired')]);
  });

  it('causes no second Event when the status cannot be written at first', async () => {
    const { store, clock, events } = await run(
      role('analysts'),
      roleAssignment('team', { subjects: [until('2026-01-03T00:00:00Z')] }),
    );
    store.failures.push(new StoreError('conflict', 'changed'));
    await clock.advance(DAY + 60_000);
    expect(expiryEvents(events)).toHaveLength(1);
  });

  it('keeps them where somebody else manages the object, and says so once', async () => {
    const managedFields = [
      { manager: 'olap-warden-operator', operation: 'Update', subresource: 'status' },
      { manager: 'kustomize-controller', operation: 'Apply' },
    ];
    const { store, clock, ready, events } = await run(
      role('analysts'),
      roleAssignment('one', { subjects: [until('2026-01-01T00:00:10Z')] }, withMeta({ managedFields })),
    );
    expect(ready('RoleAssignment', 'one')).toMatch(/^True Ready/);
    store.writes.length = 0;
    await clock.advance(60 * DAY);
    expect(store.get('RoleAssignment', 'one')?.spec.subjects).toHaveLength(1);
    expect(ready('RoleAssignment', 'one')).toMatch(/^True ExpiredSubjectsKept/);
    expect(store.writes.filter((write) => !write.startsWith('status'))).toEqual([]);
    expect(events.filter((event) => event.includes('ExpiredSubjectsKept'))).toEqual([
      expect.stringContaining('`kustomize-controller`'),
    ]);
  });

  it('loses them 30 days after the expiry, and is deleted with the last one', async () => {
    const { store, clock, events } = await run(
      role('analysts'),
      roleAssignment('one', { subjects: [until('2026-01-01T00:00:10Z')] }),
      roleAssignment('two', { subjects: [ada, until('2026-01-01T00:00:10Z', 'bob@example.com')] }),
    );
    await clock.advance(30 * DAY + 9000);
    expect(store.get('RoleAssignment', 'one')).toBeDefined();
    await clock.advance(1000);
    expect(store.get('RoleAssignment', 'one')).toBeUndefined();
    expect(store.get('RoleAssignment', 'two')?.spec.subjects).toEqual([ada]);
    expect(store.get('RoleAssignment', 'two')?.status).not.toHaveProperty('expiries');
    expect(expiryEvents(events)).toContain(
      'Normal ExpiredSubjectsRemoved two: removed expired subject `user-email:bob@example.com` from role `analysts`',
    );
  });

  it('keeps a subject that is renewed while it is being removed', async () => {
    const expired = roleAssignment('one', { subjects: [until('2025-06-01T00:00:00Z')] });
    const object = new FakeStore(expired).get('RoleAssignment', 'one')!;
    expect(pruneExpired(object, Date.parse('2026-01-01T00:00:00Z'), DAY)?.[0]).toEqual({
      do: 'delete',
      kind: 'RoleAssignment',
      name: 'one',
      uid: object.metadata.uid,
      resourceVersion: object.metadata.resourceVersion,
    });
  });

  it('keeps them if the setting is 0', () => {
    const object = roleAssignment('one', { subjects: [until('2001-01-01T00:00:00Z')] });
    expect(pruneExpired(object, Date.parse('2026-01-01T00:00:00Z'), 0)).toBeUndefined();
  });
});
