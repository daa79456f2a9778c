import { expect, it } from 'vitest';
import { serviceTokenReconciler } from '../../../../src/operator/reconcilers/service-token.ts';
import type { Secret, ServiceToken } from '../../../../src/resources/kinds.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import {
  legacyHashSecret,
  ownedBy,
  roleAssignment,
  secret,
  serviceToken,
  withAnnotations,
  withHashes,
  withMeta,
} from '../../../builders/resources.ts';
import { FakeStore } from '../fakes.ts';

const { signal } = new AbortController();
const KEY = 'a'.repeat(16);
const owner = serviceToken('job', { secretName: 'job-token' }, withMeta<ServiceToken>({ uid: 'uid-1' }));
const hashed = withHashes({ accessKey: KEY })(owner);
const byRest = withHashes({ accessKey: KEY })(serviceToken('job', {}, withMeta<ServiceToken>({ uid: 'uid-1' })));
const given = secret('job-token', {}, ownedBy(owner));
const legacy = legacyHashSecret(owner, { accessKey: KEY, secretHash: 'x' });
const earlier = (name: string): Secret =>
  secret(name, {}, ownedBy({ ...owner, metadata: { name: 'job', uid: 'old' } }));

/** The reconciler after the events of a store, and the Secrets that it reads there. */
function watch(...objects: ConstructorParameters<typeof FakeStore>) {
  const store = new FakeStore(...objects);
  const reconciler = serviceTokenReconciler();
  store.subscribe('ServiceToken', (event) => reconciler.onOwnEvent?.(event));
  const [secrets, assignments] = reconciler.watches;
  store.subscribe('RoleAssignment', (event) => void assignments?.keysOf(event as never));
  const reads: string[] = [];
  const read = store.read.bind(store);
  store.read = async (kind, name) => {
    reads.push(name);
    return read(kind, name);
  };
  const observe = async () => reconciler.observe(store, 'job', signal);
  const keysOf = (object: Secret) => [
    ...(secrets?.keysOf({ type: 'modified', kind: 'Secret', object } as never) ?? []),
  ];
  return { store, reads, observe, keysOf, taken: () => reads.splice(0) };
}

it.each<[string, ServiceToken, readonly string[]]>([
  ['from REST', byRest, []],
  ['from REST without a hash', serviceToken('job', {}), ['job-hash']],
  ['with a Secret', hashed, ['job-token']],
  ['with a Secret and without a hash', owner, ['job-token', 'job-hash']],
  [
    'that is rotated',
    withAnnotations<ServiceToken>({ 'olapwarden.io/rotate-at': 'now' })(hashed),
    ['job-token', 'job-hash'],
  ],
  ['whose Secret has the name of that of version 0.1', serviceToken('job', { secretName: 'job-hash' }), ['job-hash']],
])('reads no other Secrets than it needs for a token %s', async (_what, object, expected) => {
  const { reads, observe } = watch(object, given);
  await observe();
  expect(reads).toEqual(expected);
});

it('reads the Secret of version 0.1 where the Secret of a token is missing', async () => {
  const { reads, observe } = watch(hashed, legacy);
  expect(await observe()).toMatchObject({ tokenSecret: undefined, legacy: { metadata: { name: 'job-hash' } } });
  expect(reads).toEqual(['job-token', 'job-hash']);
});

it('a Secret of an earlier ServiceToken of the name is deleted, not foreign', async () => {
  const { observe } = watch(hashed, earlier('job-token'));
  const { foreign, orphans } = await observe();
  expect([foreign, orphans.map(({ metadata }) => metadata.name)]).toEqual([undefined, ['job-token']]);
});

it('an error of the store ends the observation', async () => {
  const { store, observe } = watch(owner);
  store.read = async () => Promise.reject(new StoreError('unavailable', 'no answer'));
  await expect(observe()).rejects.toThrow('no answer');
});

it('finds each Secret of a deleted ServiceToken once, also by the list of the store', async () => {
  const { store, observe } = watch(owner, earlier('job-token'), earlier('job-hash'), earlier('else'), secret('other'));
  await store.delete('ServiceToken', 'job');
  const names = (await observe()).orphans.map(({ metadata }) => metadata.name);
  expect(names.toSorted()).toEqual(['else', 'job-hash', 'job-token']);
});

it('keeps the name of the Secret of a deleted ServiceToken until the Secret is deleted', async () => {
  const { store, observe, taken, keysOf } = watch(owner, given);
  store.list = () => [];
  expect(keysOf(secret('job-token'))).toEqual(['job']);
  await store.delete('ServiceToken', 'job');
  expect(keysOf(secret('job-token'))).toEqual([]);
  for (let time = 0; time < 2; time++) {
    await observe();
    expect(taken()).toEqual(['job-token', 'job-hash']);
  }
  await store.delete('Secret', 'job-token');
  await observe();
  expect(taken()).toEqual(['job-token', 'job-hash']);
  await observe();
  expect(taken()).toEqual(['job-hash']);
});

it('does not look for the Secret of a ServiceToken of which it saw no deletion', async () => {
  const { store, observe, reads } = watch(owner, given);
  store.get = () => undefined;
  await observe();
  expect(reads).toEqual(['job-hash']);
});

it('a role is assigned until the last expiry of its subjects of this name and type', async () => {
  const subject = (type: 'service-token' | 'user-email', name: string, expiresAt: string) => ({
    type,
    name,
    expiresAt,
  });
  const { observe } = watch(
    byRest,
    roleAssignment('a', {
      subjects: [
        subject('service-token', 'job', '2026-01-01T01:00:00Z'),
        subject('service-token', KEY, '2026-01-01T02:00:00Z'),
        subject('service-token', 'other', '2026-01-01T03:00:00Z'),
        subject('user-email', 'job', '2026-01-01T04:00:00Z'),
      ],
    }),
  );
  expect((await observe()).assignedUntil).toBe(Date.parse('2026-01-01T02:00:00Z'));
});
