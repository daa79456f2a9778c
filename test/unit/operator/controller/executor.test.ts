import { describe, expect, it } from 'vitest';
import { execute } from '../../../../src/operator/controller/executor.ts';
import { StalledError } from '../../../../src/operator/controller/outcome.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { role } from '../../../builders/resources.ts';
import { FakeRecorder, FakeStore } from '../fakes.ts';

const signal = new AbortController().signal;

function setUp(...objects: ConstructorParameters<typeof FakeStore>) {
  const store = new FakeStore(...objects);
  return { store, ports: { store, recorder: new FakeRecorder(), signal } };
}

describe('the deletion of an object', () => {
  const action = { do: 'delete', kind: 'Role', name: 'analysts', uid: undefined } as const;

  it('succeeds where the object is deleted already', async () => {
    const { store, ports } = setUp();
    store.failures.push(new StoreError('not-found', 'no such role'));
    await expect(execute(action, undefined, ports)).resolves.toBeUndefined();
  });

  it.each([new StoreError('unavailable', 'no answer'), new StoreError('conflict', 'changed'), new Error('broken')])(
    'fails with the error of the store: %s',
    async (error) => {
      const { store, ports } = setUp(role('analysts'));
      store.failures.push(error);
      await expect(execute(action, undefined, ports)).rejects.toBe(error);
    },
  );
});

describe('the creation of an object that exists', () => {
  const create = { do: 'create', kind: 'Role', object: role('analysts') } as const;

  it('must be resolved by the user where the plan says so', async () => {
    const { ports } = setUp(role('analysts'));
    const ifExists = { class: 'stalled', reason: 'NameTaken', message: 'rename the role' } as const;
    const stalled = await execute({ ...create, ifExists }, undefined, ports).catch((error: unknown) => error);
    expect(stalled).toBeInstanceOf(StalledError);
    expect(stalled).toMatchObject({ outcome: ifExists });
  });

  it('is not resolved by the user where the store failed for another reason', async () => {
    const { store, ports } = setUp();
    const error = new StoreError('unavailable', 'no answer');
    store.failures.push(error);
    const ifExists = { class: 'stalled', reason: 'NameTaken', message: 'rename the role' } as const;
    await expect(execute({ ...create, ifExists }, undefined, ports)).rejects.toBe(error);
  });

  it('is otherwise tried again', async () => {
    const { ports } = setUp(role('analysts'));
    await expect(execute(create, undefined, ports)).rejects.toMatchObject({ code: 'already-exists' });
  });
});
