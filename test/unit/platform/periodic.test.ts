import { expect, it } from 'vitest';
import { runPeriodically } from '../../../src/platform/periodic.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('waits for the end of a call before it schedules the next one', async () => {
  const clock = new FakeClock();
  const calls: PromiseWithResolvers<void>[] = [];
  const work = async (): Promise<void> => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    await call.promise;
  };
  const stop = runPeriodically(work, { clock, intervalMs: 100, onError: () => undefined });
  expect(calls).toHaveLength(0);
  await clock.advance(100);
  expect([calls.length, clock.timers]).toEqual([1, 0]);
  calls[0]?.resolve();
  await clock.advance(99);
  expect(calls).toHaveLength(1);
  await clock.advance(1);
  expect(calls).toHaveLength(2);
  calls[1]?.resolve();
  await stop();
  expect(clock.timers).toBe(0);
});

it('continues after an error', async () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const failure = new Error('failed');
  const stop = runPeriodically(() => Promise.reject(failure), {
    clock,
    intervalMs: 100,
    onError: (error) => void errors.push(error),
  });
  await clock.advance(250);
  expect(errors).toEqual([failure, failure]);
  await stop();
});

it('aborts the current call when it is stopped, and waits for its end', async () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  let ended = false;
  const work = (signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        setImmediate(() => {
          ended = true;
          reject(new Error('aborted'));
        });
      });
    });
  const stop = runPeriodically(work, { clock, intervalMs: 100, onError: (error) => void errors.push(error) });
  await clock.advance(100);
  await stop();
  expect({ ended, errors, timers: clock.timers }).toEqual({ ended: true, errors: [], timers: 0 });
});
