import { expect, it } from 'vitest';
import { sessionKeyTask } from '../../../src/operator/session-key.ts';
import { parseSessionKeys } from '../../../src/api/ui/session-keys.ts';
import { StoreError } from '../../../src/store/resource-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, silent } from './fakes.ts';

const NAME = 'olap-warden-session-key';

function start() {
  const [store, clock, abort] = [new FakeStore(), new FakeClock(), new AbortController()];
  const ports = { store, recorder: new FakeRecorder(), isLeader: () => true };
  const ended = sessionKeyTask({ name: NAME, clock, log: silent }).run(abort.signal, ports);
  const key = (): string => Buffer.from(store.get('Secret', NAME)?.data?.['keys'] ?? '', 'base64').toString();
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  return { store, clock, key, stop };
}

it('creates a key that gateways accept, and never changes it', async () => {
  const { store, clock, key, stop } = start();
  await clock.advance(0);
  const created = key();
  expect(parseSessionKeys(created)).toHaveLength(1);
  expect(store.get('Secret', NAME)).toMatchObject({
    type: 'Opaque',
    metadata: { labels: { 'olapwarden.io/part': 'session-key' } },
  });
  await clock.advance(3_600_000);
  expect([store.writes, key()]).toEqual([[`create Secret/${NAME}`], created]);
  await stop();
});

it('creates another one after a deletion', async () => {
  const { store, clock, key, stop } = start();
  await clock.advance(0);
  const first = key();
  await store.delete('Secret', NAME);
  await clock.advance(300_000);
  expect(parseSessionKeys(key())).toHaveLength(1);
  expect(key()).not.toBe(first);
  await stop();
});

it('retries after a failure', async () => {
  const { store, clock, key, stop } = start();
  store.failures.push(new StoreError('unavailable', 'away'), new StoreError('forbidden', 'no right'));
  await clock.advance(0);
  await clock.advance(20_000);
  expect(parseSessionKeys(key())).toHaveLength(1);
  await stop();
});
