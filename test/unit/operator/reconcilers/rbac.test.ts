import { describe, expect, it } from 'vitest';
import { Controller } from '../../../../src/operator/controller-loop.ts';
import { policyReconciler } from '../../../../src/operator/reconcilers/policy.ts';
import { roleAssignmentReconciler } from '../../../../src/operator/reconcilers/role-assignment.ts';
import { roleReconciler } from '../../../../src/operator/reconcilers/role.ts';
import type { CustomKind } from '../../../../src/resources/kinds.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../fakes.ts';

const people = (...names: string[]) => ({ subjects: names.map((name) => ({ type: 'user-email' as const, name })) });

/** All three controllers over one store, as the operator runs them. */
async function run(...objects: ConstructorParameters<typeof FakeStore>) {
  const [store, clock] = [new FakeStore(...objects), new FakeClock()];
  const ports = { store, recorder: new FakeRecorder(), clock, metrics: metrics(), log: silent };
  new Controller(policyReconciler(), ports).start();
  new Controller(roleReconciler(), ports).start();
  new Controller(roleAssignmentReconciler(), ports).start();
  await clock.advance(0);
  const ready = (kind: CustomKind, name: string): string => {
    const condition = store.get(kind, name)?.status?.conditions?.find(({ type }) => type === 'Ready');
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  };
  return { store, ready, settle: () => clock.advance(0) };
}

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
