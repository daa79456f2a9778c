import { expect, it } from 'vitest';
import type { Leases } from '../../../../src/kubernetes/leases.ts';
import { DEFAULT_TIMES, LeaderElector } from '../../../../src/operator/leader/leader.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { FakeLeases } from './fake-leases.ts';
import { loggedLines } from '../fakes.ts';

function candidate(leases: Leases, clock: FakeClock) {
  const { log, lines } = loggedLines();
  const lead = async (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const elector = new LeaderElector({ leases, identity: 'b', clock, log, lead });
  elector.start();
  return { elector, lines };
}

/** A lease that another candidate took at this time and does not renew. */
const taken = (clock: FakeClock) => ({
  resourceVersion: 'foreign',
  holder: 'a',
  durationSeconds: 15,
  acquiredAt: clock.now(),
  renewedAt: clock.now(),
  transitions: 0,
});

it.each([
  [0, 2_000],
  [0.5, 2_200],
  [1, 2_400],
])('with the random number %d waits %i ms between two attempts', async (chance, ms) => {
  const [clock, leases] = [new FakeClock(), new FakeLeases()];
  clock.chance = chance;
  leases.record = taken(clock);
  const { elector } = candidate(leases, clock);
  await clock.advance(ms);
  expect(clock.delays).toEqual([ms, ms]);
  await elector.stop();
});

it('waits for the lease of another candidate also when its own process has run for a while', async () => {
  const [clock, leases] = [new FakeClock(), new FakeLeases()];
  clock.jump(100_000);
  clock.chance = 0;
  leases.record = taken(clock);
  const { elector } = candidate(leases, clock);
  await clock.advance(15_999);
  expect(elector.isLeader()).toBe(false);
  await clock.advance(1);
  expect(elector.isLeader()).toBe(true);
  await elector.stop();
});

it('limits each request to half of the renewal deadline', async () => {
  const [clock, leases] = [new FakeClock(), new FakeLeases()];
  const limits: number[] = [];
  const recorded: Leases = {
    read: async (timeoutMs, signal) => {
      limits.push(timeoutMs);
      return leases.read(timeoutMs, signal);
    },
    write: async (record, timeoutMs, signal) => {
      limits.push(timeoutMs);
      return leases.write(record, timeoutMs, signal);
    },
  };
  const { elector } = candidate(recorded, clock);
  await settle();
  expect(limits).toEqual([DEFAULT_TIMES.renewDeadlineMs / 2, DEFAULT_TIMES.renewDeadlineMs / 2]);
  await elector.stop();
});

it.each([
  ['conflict', 0],
  ['already-exists', 0],
  ['unavailable', 1],
  ['forbidden', 1],
] as const)('warns of the error %s of a write %i times: another candidate may be faster', async (code, warnings) => {
  const [clock, leases] = [new FakeClock(), new FakeLeases()];
  leases.write = async () => Promise.reject(new StoreError(code, 'rejected'));
  const { elector, lines } = candidate(leases, clock);
  await settle();
  expect(lines.map(({ msg, level }) => [level, msg])).toEqual(
    Array.from({ length: warnings }, () => [40, 'failed to read or write the lease; retrying']),
  );
  await elector.stop();
});
