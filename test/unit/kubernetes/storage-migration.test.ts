import { describe, expect, it } from 'vitest';
import { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { migrateStorage, storedVersions } from '../../../src/kubernetes/storage-migration.ts';
import type { KubernetesTransport } from '../../../src/kubernetes/transport.ts';

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/roles.olapwarden.io';
const LIST = '/apis/olapwarden.io/v1beta1/roles';
const objectPath = (name: string): string => `/apis/olapwarden.io/v1beta1/namespaces/olap/roles/${name}`;

/** An API with three roles, whose answers a test replaces. `calls` has the requests and the waits, in order. */
function stub(answers: Readonly<Record<string, (body: unknown) => unknown>> = {}) {
  const calls: string[] = [];
  const bodies = new Map<string, unknown>();
  let version = 0;
  const defaults: Record<string, () => unknown> = {
    [`GET ${DEFINITION}`]: () => ({
      metadata: { resourceVersion: `${++version}` },
      spec: {
        versions: [
          { name: 'v1alpha1', storage: false },
          { name: 'v1beta1', storage: true },
        ],
      },
      status: { storedVersions: ['v1alpha1', 'v1beta1'] },
    }),
    [`GET ${LIST}`]: () => ({
      metadata: { resourceVersion: '9' },
      items: ['a', 'b', 'c'].map((name) => ({ metadata: { name, namespace: 'olap' } })),
    }),
  };
  const request: KubernetesTransport['request'] = async (method, path, options) => {
    const call = `${method} ${path}`;
    calls.push(call);
    bodies.set(call, options?.body);
    const answer = answers[call] ?? defaults[call] ?? (() => ({}));
    return { status: 200, body: answer(options?.body) as never };
  };
  const clock = {
    schedule: (callback: () => void, ms: number) => {
      calls.push(`wait ${ms}`);
      queueMicrotask(callback);
      return () => {};
    },
  };
  const run = (signal = new AbortController().signal) => migrateStorage({ request }, 'Role', { clock, signal });
  return { calls, bodies, request, run };
}

function failing(...errors: (Error | undefined)[]): () => unknown {
  return () => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return {};
  };
}
const conflict = (): Error => new KubernetesApiError('conflict', 'the object has been modified', { status: 409 });

describe('the migration of a kind', () => {
  it('waits for all API servers, writes each object and then the definition', async () => {
    const { calls, bodies, run } = stub();
    expect(await run()).toEqual({
      definition: 'roles.olapwarden.io',
      storage: 'v1beta1',
      stored: ['v1alpha1', 'v1beta1'],
      objects: 3,
    });
    expect(calls).toEqual([
      `GET ${DEFINITION}`,
      'wait 15000',
      `GET ${LIST}`,
      ...['a', 'b', 'c'].map((name) => `PATCH ${objectPath(name)}`),
      `PATCH ${DEFINITION}/status`,
    ]);
    expect(bodies.get(`PATCH ${objectPath('a')}`)).toEqual({});
    expect(bodies.get(`PATCH ${DEFINITION}/status`)).toEqual({
      metadata: { resourceVersion: '1' },
      status: { storedVersions: ['v1beta1'] },
    });
  });

  it('does nothing if all objects have the storage version', async () => {
    const definition = {
      metadata: { resourceVersion: '1' },
      spec: { versions: [{ name: 'v1beta1', storage: true }] },
      status: { storedVersions: ['v1beta1'] },
    };
    const { calls, run } = stub({ [`GET ${DEFINITION}`]: () => definition });
    expect(await run()).toMatchObject({ objects: 0 });
    expect(calls).toEqual([`GET ${DEFINITION}`]);
  });

  it('passes over an object that was deleted meanwhile', async () => {
    const gone = new KubernetesApiError('not-found', 'roles "b" not found', { status: 404 });
    const { calls, run } = stub({ [`PATCH ${objectPath('b')}`]: failing(gone) });
    expect(await run()).toMatchObject({ objects: 2 });
    expect(calls.at(-1)).toBe(`PATCH ${DEFINITION}/status`);
  });

  it('starts again if the definition is changed meanwhile, three times at most', async () => {
    const once = stub({ [`PATCH ${DEFINITION}/status`]: failing(conflict()) });
    expect(await once.run()).toMatchObject({ objects: 3 });
    expect(once.calls.filter((call) => call === `GET ${LIST}`)).toHaveLength(2);
    expect(once.bodies.get(`PATCH ${DEFINITION}/status`)).toMatchObject({ metadata: { resourceVersion: '2' } });

    const always = stub({ [`PATCH ${DEFINITION}/status`]: failing(conflict(), conflict(), conflict()) });
    await expect(always.run()).rejects.toThrow('the object has been modified');
    expect(always.calls.filter((call) => call === `GET ${LIST}`)).toHaveLength(3);
  });

  it('names the objects that the API server rejects, writes the others, and leaves the definition', async () => {
    const invalid = new KubernetesApiError('invalid', '`spec.policies`: too many', { status: 422 });
    const { calls, run } = stub({ [`PATCH ${objectPath('a')}`]: failing(invalid) });
    await expect(run()).rejects.toThrow(
      '1 objects of `roles.olapwarden.io` do not satisfy its schema; correct or delete them and start again:\n  olap/a: `spec.policies`: too many',
    );
    expect(calls).toContain(`PATCH ${objectPath('c')}`);
    expect(calls).not.toContain(`PATCH ${DEFINITION}/status`);
  });

  it.each(['unavailable', 'forbidden'] as const)('ends at an object whose write is %s', async (code) => {
    const { calls, run } = stub({ [`PATCH ${objectPath('b')}`]: failing(new KubernetesApiError(code, 'no')) });
    await expect(run()).rejects.toThrow('no');
    expect(calls.at(-1)).toBe(`PATCH ${objectPath('b')}`);
  });

  it('ends while it waits if it is interrupted', async () => {
    const { calls, run } = stub();
    await expect(run(AbortSignal.abort(new Error('interrupted')))).rejects.toThrow('interrupted');
    expect(calls).toEqual([`GET ${DEFINITION}`]);
  });

  it('reports a definition without a storage version', async () => {
    const { request } = stub({ [`GET ${DEFINITION}`]: () => ({ metadata: {}, spec: { versions: [] } }) });
    await expect(storedVersions({ request }, 'Role', new AbortController().signal)).rejects.toThrow(
      'the definition `roles.olapwarden.io` has no storage version',
    );
  });
});
