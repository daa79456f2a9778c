import { expect, it } from 'vitest';
import { serviceTokenReconciler } from '../../../../src/operator/reconcilers/service-token.ts';
import type { ServiceToken } from '../../../../src/resources/kinds.ts';
import { roleAssignment, serviceToken, withHashes, withMeta } from '../../../builders/resources.ts';
import { FakeStore } from '../fakes.ts';

const { signal } = new AbortController();
const KEY = 'a'.repeat(16);
const byRest = withHashes({ accessKey: KEY })(serviceToken('job', {}, withMeta<ServiceToken>({ uid: 'uid-1' })));

/** The reconciler after the events of a store. */
function watch(...objects: ConstructorParameters<typeof FakeStore>) {
  const store = new FakeStore(...objects);
  const reconciler = serviceTokenReconciler();
  store.subscribe('ServiceToken', (event) => reconciler.onOwnEvent?.(event));
  const [, assignments] = reconciler.watches;
  store.subscribe('RoleAssignment', (event) => void assignments?.keysOf(event as never));
  return { observe: async () => reconciler.observe(store, 'job', signal) };
}

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
