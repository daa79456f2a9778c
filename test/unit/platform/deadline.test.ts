import { describe, expect, it } from 'vitest';
import { Deadline } from '../../../src/platform/deadline.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('Deadline', () => {
  it('aborts when the time is over', async () => {
    const clock = new FakeClock();
    const deadline = new Deadline(clock, 1000);
    await clock.advance(400);
    expect([deadline.remainingMs(), deadline.signal.aborted]).toEqual([600, false]);
    await clock.advance(600);
    expect([deadline.expired, deadline.signal.aborted, deadline.abortedBy]).toEqual([true, true, undefined]);
    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError', message: 'timed out after 1000 ms' });
  });

  it('aborts with the reason of the caller', async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const deadline = new Deadline(clock, 1000, outer.signal);
    const reason = new Error('the client left');
    outer.abort(reason);
    expect(deadline.signal.reason).toBe(reason);
    expect([deadline.expired, deadline.abortedBy]).toEqual([false, outer.signal]);
    deadline.clear();
    expect(clock.timers).toBe(0);
  });

  it('throws if the caller has aborted already', () => {
    const clock = new FakeClock();
    const reason = new Error('too late');
    expect(() => new Deadline(clock, 1000, AbortSignal.abort(reason))).toThrow(reason);
    expect(clock.timers).toBe(0);
  });

  it('restart() starts a new time-out', async () => {
    const clock = new FakeClock();
    const deadline = new Deadline(clock, 1000);
    await clock.advance(900);
    deadline.restart(500);
    await clock.advance(499);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect([deadline.expired, deadline.timeoutMs]).toEqual([true, 500]);
  });

  it('only the caller aborts it after stopTimer(), and nothing after clear()', async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const streaming = new Deadline(clock, 1000, outer.signal);
    const ended = new Deadline(clock, 1000, outer.signal);
    streaming.stopTimer();
    ended.clear();
    await clock.advance(5000);
    expect([streaming.signal.aborted, ended.signal.aborted]).toEqual([false, false]);
    outer.abort();
    expect([streaming.signal.aborted, ended.signal.aborted]).toEqual([true, false]);
  });

  it('limits a promise that takes no signal', async () => {
    const clock = new FakeClock();
    const deadline = new Deadline(clock, 1000);
    expect(await deadline.limit(Promise.resolve(1))).toBe(1);
    const limited = deadline.limit(new Promise(() => undefined)).catch((error: unknown) => error);
    await clock.advance(1000);
    expect(await limited).toBe(deadline.signal.reason);
    await expect(deadline.limit(Promise.resolve(1))).rejects.toBe(deadline.signal.reason);
  });
});
