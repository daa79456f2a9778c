import { expect, it } from 'vitest';
import { sessionKeyTask } from '../../../../src/operator/tokens/session-key.ts';
import { parseSessionKeys } from '../../../../src/api/server/authentication/session-keys.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, loggedLines } from '../fakes.ts';

const NAME = 'olap-warden-session-key';

/** @param failures errors of the first writes */
function start(...failures: Error[]) {
  const [store, clock, abort] = [new FakeStore(), new FakeClock(), new AbortController()];
  store.failures.push(...failures);
  const ports = { store, recorder: new FakeRecorder(), isLeader: () => true };
  const { log, lines } = loggedLines();
  const ended = sessionKeyTask({ name: NAME, clock, log }).run(abort.signal, ports);
  const key = (): string => Buffer.from(store.get('Secret', NAME)?.data?.['keys'] ?? '', 'base64').toString();
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  return { store, clock, key, lines, stop };
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
  const failures = [new StoreError('unavailable', 'away'), new StoreError('forbidden', 'no right')];
  const { clock, key, lines, stop } = start(...failures);
  await clock.advance(0);
  await clock.advance(20_000);
  expect(parseSessionKeys(key())).toHaveLength(1);
  expect(clock.delays).toEqual([10_000, 10_000, 300_000]);
  expect(lines.map(({ level, error }) => [level, error])).toEqual([
    [40, 'away'],
    [40, 'no right'],
    [30, undefined],
  ]);
  await stop();
});
