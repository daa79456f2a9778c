import { describe, expect, it } from 'vitest';
import { Backoff, backoffDelay } from '../../../src/platform/backoff.ts';
import { retry, type RetryOptions } from '../../../src/platform/retry.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('Backoff', () => {
  it('is random below a limit that doubles, and not below the minimum', () => {
    const clock = new FakeClock();
    const backoff = new Backoff(clock, { baseMs: 800, maxMs: 30_000, minMs: 50 });
    clock.chance = 0;
    expect(backoff.next()).toBe(50);
    clock.chance = 1;
    const delays = [backoff.next(), backoff.next(), backoff.next(5000), backoff.next(0, 5000)];
    expect(delays).toEqual([1600, 3200, 5000 + 6400, 5000]);
    for (let i = 0; i < 2000; i++) backoff.next();
    expect(backoff.next()).toBe(30_000);
    backoff.reset();
    expect(backoff.next()).toBe(800);
  });

  it.each([
    ['full', 0, 0],
    ['full', 0.5, 200],
    ['half', 0, 200],
    ['half', 0.5, 300],
    ['none', 0, 400],
  ] as const)('with jitter %s and chance %d: %d ms', (jitter, chance, ms) => {
    const clock = new FakeClock();
    clock.chance = chance;
    expect(backoffDelay(2, { baseMs: 100, maxMs: 10_000, jitter }, clock)).toBe(ms);
  });
});

describe('retry', () => {
  const failing = (times: number) => {
    const attempts: number[] = [];
    return {
      attempts,
      work: (attempt: number) => {
        attempts.push(attempt);
        return attempt <= times ? Promise.reject(new Error(`attempt ${attempt}`)) : Promise.resolve('done');
      },
    };
  };
  const optionsFor = (clock: FakeClock, more: Partial<RetryOptions> = {}): RetryOptions => ({
    attempts: 3,
    backoff: { baseMs: 100, maxMs: 1000, jitter: 'none' },
    clock,
    retryAfterMs: () => 0,
    ...more,
  });
  /** The outcome as a value, so that a rejection before the test awaits it is handled. */
  const outcomeOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

  it('repeats with growing delays until the work succeeds', async () => {
    const clock = new FakeClock();
    const { attempts, work } = failing(2);
    const outcome = outcomeOf(retry(work, optionsFor(clock)));
    await clock.advance(300);
    expect(await outcome).toBe('done');
    expect(attempts).toEqual([1, 2, 3]);
    expect(clock.delays).toEqual([100, 200]);
  });

  it('throws the error of the last attempt', async () => {
    const clock = new FakeClock();
    const { attempts, work } = failing(9);
    const outcome = outcomeOf(retry(work, optionsFor(clock)));
    await clock.advance(10_000);
    expect(await outcome).toEqual(new Error('attempt 3'));
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('does not repeat after a final error', async () => {
    const { attempts, work } = failing(9);
    const outcome = outcomeOf(retry(work, optionsFor(new FakeClock(), { retryAfterMs: () => undefined })));
    expect(await outcome).toEqual(new Error('attempt 1'));
    expect(attempts).toEqual([1]);
  });

  it('waits as long as the server requested, in addition to the backoff', async () => {
    const clock = new FakeClock();
    const outcome = outcomeOf(retry(failing(1).work, optionsFor(clock, { retryAfterMs: () => 5000 })));
    await clock.advance(5100);
    expect(await outcome).toBe('done');
    expect(clock.delays).toEqual([5100]);
  });

  it('throws at once when the delay would use up the time left', async () => {
    const clock = new FakeClock();
    const outcome = outcomeOf(retry(failing(1).work, optionsFor(clock, { remainingMs: () => 100 })));
    expect(await outcome).toEqual(new Error('attempt 1'));
    expect(clock.delays).toEqual([]);
  });

  it('rejects with the reason of the signal during a delay, and does not begin another attempt', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const { attempts, work } = failing(9);
    const outcome = outcomeOf(retry(work, optionsFor(clock, { signal: controller.signal })));
    await clock.advance(50);
    controller.abort(new Error('stopped'));
    expect(await outcome).toEqual(new Error('stopped'));
    expect(attempts).toEqual([1]);
    expect(clock.timers).toBe(0);
  });
});
