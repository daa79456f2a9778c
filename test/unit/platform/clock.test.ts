import { describe, expect, it } from 'vitest';
import { sleep, systemClock } from '../../../src/platform/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('sleep', () => {
  it('resolves when the time is over, and leaves no timer or listener', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    let done = false;
    const sleeping = sleep(clock, 1000, signal).then(() => (done = true));
    await clock.advance(999);
    expect(done).toBe(false);
    await clock.advance(1);
    await sleeping;
    expect(clock.timers).toBe(0);
  });

  it('rejects with the reason of the signal at once, and leaves no timer', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleeping = sleep(clock, 1_000_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(sleep(clock, 1, controller.signal)).rejects.toBe(reason);
    expect(clock.timers).toBe(0);
  });
});

describe('systemClock', () => {
  it('calls back once, unless it is cancelled', async () => {
    const calls: string[] = [];
    const cancel = systemClock.schedule(() => calls.push('cancelled'), 1);
    cancel();
    await new Promise<void>((resolve) => {
      systemClock.schedule(() => {
        calls.push('called');
        resolve();
      }, 5);
    });
    expect(calls).toEqual(['called']);
  });

  it('has a wall clock in milliseconds since the epoch and a monotonic clock that never goes back', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(10_000);
    const first = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
    expect(systemClock.random()).toBeLessThan(1);
  });
});
