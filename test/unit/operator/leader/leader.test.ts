import type { Logger } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Leases } from '../../../../src/kubernetes/leases.ts';
import { DEFAULT_TIMES, LeaderElector, type LeaderTimes } from '../../../../src/operator/leader/leader.ts';
import { FakeLeases } from './fake-leases.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { loggedLines, silent } from '../fakes.ts';

interface Candidate {
  readonly elector: LeaderElector;
  readonly clock: FakeClock;
  /** Starts and ends of terms. */
  readonly terms: { began: number; ended: number };
}

function candidate(
  identity: string,
  leases: Leases,
  clock: FakeClock,
  { work, times = DEFAULT_TIMES, log = silent }: { work?: Promise<void>; times?: LeaderTimes; log?: Logger } = {},
): Candidate {
  const terms = { began: 0, ended: 0 };
  const elector = new LeaderElector({
    leases,
    identity,
    clock,
    log,
    times,
    async lead(signal) {
      terms.began++;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await work;
      terms.ended++;
    },
  });
  elector.start();
  return { elector, clock, terms };
}

describe('one candidate', () => {
  it('creates the lease and renews it', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const { elector, terms } = candidate('a', leases, clock);
    await settle();
    expect(elector.isLeader()).toBe(true);
    expect(leases.record).toMatchObject({ holder: 'a', durationSeconds: 15, transitions: 0 });
    const acquiredAt = leases.record!.acquiredAt;
    await clock.advance(60_000);
    expect(elector.isLeader()).toBe(true);
    expect(terms).toEqual({ began: 1, ended: 0 });
    expect(leases.record!.acquiredAt).toEqual(acquiredAt);
    expect(clock.now() - leases.record!.renewedAt).toBeLessThan(3000);
    await elector.stop();
  });

  it('that is stopped while it requests the lease does no work', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    leases.hangs = true;
    const { elector, terms } = candidate('a', leases, clock);
    await settle();
    await elector.stop();
    expect(terms).toEqual({ began: 0, ended: 0 });
  });

  it('stays leader while the API server is unreachable for less than the deadline', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const { elector, terms } = candidate('a', leases, clock);
    await settle();
    leases.down = true;
    await clock.advance(7000);
    leases.down = false;
    await clock.advance(4000);
    expect(elector.isLeader()).toBe(true);
    expect(terms).toEqual({ began: 1, ended: 0 });
    await elector.stop();
  });

  it.each(['down', 'hangs'] as const)(
    'stops at the deadline when the API server %s, and leads again later',
    async (how) => {
      const clock = new FakeClock();
      const leases = new FakeLeases(clock);
      const { elector, terms } = candidate('a', leases, clock);
      await settle();
      leases[how] = true;
      await clock.advance(10_001);
      expect(elector.isLeader()).toBe(false);
      expect(terms).toEqual({ began: 1, ended: 1 });
      leases[how] = false;
      await clock.advance(60_000);
      expect(elector.isLeader()).toBe(true);
      await elector.stop();
    },
  );
});

describe('two candidates', () => {
  it('never lead together, and the second takes over at once when the first stops', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const first = candidate('a', leases, clock);
    await settle();
    const second = candidate('b', leases, clock);
    await clock.advance(60_000);
    expect([first.elector.isLeader(), second.elector.isLeader()]).toEqual([true, false]);
    expect(second.elector.holder).toBe('a');
    await first.elector.stop();
    expect(first.terms).toEqual({ began: 1, ended: 1 });
    expect(leases.record).toMatchObject({ holder: '' });
    await clock.advance(2500);
    expect(second.elector.isLeader()).toBe(true);
    expect(leases.record).toMatchObject({ holder: 'b', transitions: 1 });
    await second.elector.stop();
  });

  it('the lease is released only after the work has ended', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    let finish = (): void => {};
    const work = new Promise<void>((resolve) => (finish = resolve));
    const { elector } = candidate('a', leases, clock, { work });
    await settle();
    const stopped = elector.stop();
    await clock.advance(1000);
    expect(leases.record).toMatchObject({ holder: 'a' });
    finish();
    await stopped;
    expect(leases.record).toMatchObject({ holder: '' });
  });

  it('the second waits for the whole lease when the first does not renew', async () => {
    const leases = new FakeLeases();
    const first = candidate('a', leases, new FakeClock());
    await settle(); // paused: its clock does not advance from here on
    const clock = new FakeClock();
    const second = candidate('b', leases, clock);
    await clock.advance(14_900);
    expect(second.elector.isLeader()).toBe(false);
    await clock.advance(3000);
    expect(second.elector.isLeader()).toBe(true);
    await second.elector.stop();
    await first.elector.stop();
  });

  it('the second waits for as long as the lease of the first says, where that is longer than its own', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const times = { acquiredAt: clock.now(), renewedAt: clock.now(), transitions: 0 };
    leases.record = { resourceVersion: 'foreign', holder: 'another version', durationSeconds: 40, ...times };
    const { elector } = candidate('b', leases, clock);
    await clock.advance(39_900);
    expect(elector.isLeader()).toBe(false);
    await clock.advance(3000);
    expect(elector.isLeader()).toBe(true);
    await elector.stop();
  });

  it('one that was paused longer than its lease is not leader before its timers fire', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const { elector } = candidate('a', leases, clock);
    await settle();
    expect(elector.isLeader()).toBe(true);
    clock.jump(10_000);
    expect(elector.isLeader()).toBe(false);
    await elector.stop();
  });

  it('a former leader does not release the lease of the new one', async () => {
    const leases = new FakeLeases();
    const paused = candidate('a', leases, new FakeClock());
    await settle();
    const other = candidate('b', leases, new FakeClock());
    await other.clock.advance(20_000);
    expect(other.elector.isLeader()).toBe(true);
    paused.clock.jump(20_000);
    await paused.clock.advance(3000);
    expect(paused.elector.isLeader()).toBe(false);
    expect(paused.terms).toEqual({ began: 1, ended: 1 });
    await paused.elector.stop();
    expect(leases.record).toMatchObject({ holder: 'b' });
    await other.elector.stop();
  });

  it('that write at the same time: the API server accepts one', async () => {
    const [clock, leases] = [new FakeClock(), new FakeLeases()];
    const all = ['a', 'b', 'c'].map((identity) => candidate(identity, leases, clock));
    await settle();
    expect(all.filter(({ elector }) => elector.isLeader())).toHaveLength(1);
    await Promise.all(all.map(({ elector }) => elector.stop()));
  });
});

it.each([
  ['conflict', 0],
  ['already-exists', 0],
  ['unavailable', 1],
  ['forbidden', 1],
] as const)('warns of the error %s of a write %i times: another candidate may be faster', async (code, warnings) => {
  const [clock, leases, { log, lines }] = [new FakeClock(), new FakeLeases(), loggedLines()];
  leases.write = async () => Promise.reject(new StoreError(code, 'rejected'));
  const { elector } = candidate('b', leases, clock, { log });
  await settle();
  expect(lines.map(({ msg, level }) => [level, msg])).toEqual(
    Array.from({ length: warnings }, () => [40, 'failed to read or write the lease; retrying']),
  );
  await elector.stop();
});
