import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/platform/clock.ts';
import { WorkQueue } from '../../../../src/operator/controller/work-queue.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { metrics } from '../fakes.ts';

let clock: FakeClock;
let registry: Registry;
let queue: WorkQueue;

beforeEach(() => {
  clock = new FakeClock();
  registry = new Registry();
  queue = new WorkQueue(clock, metrics(registry).queue('role'));
});

/** The sum of a histogram. */
async function sum(name: string): Promise<number | undefined> {
  const { values } = (await registry.getSingleMetric(name)!.get()) as {
    values: { value: number; metricName?: string }[];
  };
  return values.find(({ metricName }) => metricName?.endsWith('_sum'))?.value;
}

async function metric(name: string): Promise<number | undefined> {
  const { values } = (await registry.getSingleMetric(name)!.get()) as {
    values: { value: number; metricName?: string }[];
  };
  return (values.find(({ metricName }) => metricName?.endsWith('_count')) ?? values[0])?.value;
}

describe('a key', () => {
  it('is queued once, also if it is added several times', async () => {
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(queue.length).toBe(2);
    expect([await queue.get(), await queue.get()]).toEqual(['a', 'b']);
  });

  it('is given to a waiting worker', async () => {
    const taken = queue.get();
    queue.add('a');
    expect(await taken).toBe('a');
  });

  it('is never in progress twice; if added meanwhile, it is queued again afterwards', async () => {
    queue.add('a');
    await queue.get();
    queue.add('a');
    let second: string | undefined;
    const taken = queue.get().then((key) => (second = key));
    await settle();
    expect(second).toBeUndefined();
    queue.done('a');
    await taken;
    expect(second).toBe('a');
  });
});

describe('the delays of a key', () => {
  it('double from 5 ms for each failure of a key, and start again after a success', async () => {
    const delays: number[] = [];
    for (let failure = 0; failure < 25; failure++) {
      const before = clock.monotonic();
      queue.addRateLimited('a');
      for (let step = 0; queue.length === 0 && step < 30; step++)
        await clock.advance(5 * 2 ** step - (clock.monotonic() - before));
      const began = clock.monotonic();
      delays.push(began - before);
      queue.done((await queue.get())!);
    }
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(queue.requeues('a')).toBe(25);
    queue.forget('a');
    queue.addRateLimited('a');
    await clock.advance(4);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('are at most 1000 s', async () => {
    for (let failure = 0; failure < 60; failure++) {
      queue.addRateLimited('a');
      await clock.advance(1_000_000);
      expect(queue.length).toBe(1);
      queue.done((await queue.get())!);
    }
  });

  it('are at least as long as requested', async () => {
    queue.addRateLimited('a', 3000);
    await clock.advance(2999);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });

  it('use the earliest of several times', async () => {
    queue.addAfter('a', 1000);
    queue.addAfter('a', 5000);
    queue.addAfter('a', 100);
    await clock.advance(100);
    expect(await queue.get()).toBe('a');
    queue.done('a');
    await clock.advance(10_000);
    expect(queue.length).toBe(0);
  });

  it('end with a timer that fires up to 1 ms early, as timers of Node do', async () => {
    const early: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      random: () => clock.random(),
      schedule: (callback, ms) => clock.schedule(callback, Math.max(1, ms - 1)),
    };
    queue = new WorkQueue(early, metrics().queue('role'));
    queue.addAfter('a', 10);
    await clock.advance(9);
    expect(queue.length).toBe(1);
  });

  it('can be longer than a timer of Node', async () => {
    const year = 365 * 24 * 3_600_000;
    queue.addAfter('a', year);
    await clock.advance(year - 1);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
  });
});

describe('shutting down', () => {
  it('waits for the work in progress and returns no further keys', async () => {
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await queue.get();
    let ended = false;
    const down = queue.shutDown().then(() => (ended = true));
    await clock.advance(100);
    expect(ended).toBe(false);
    expect(await queue.get()).toBeUndefined();
    queue.add('d');
    queue.done('a');
    await down;
    expect(ended).toBe(true);
    expect(queue.length).toBe(0);
  });

  it('releases waiting workers', async () => {
    const taken = queue.get();
    await queue.shutDown();
    expect(await taken).toBeUndefined();
  });
});

it('has the metric names of client-go', async () => {
  queue.add('a');
  queue.add('b');
  expect(await metric('workqueue_adds_total')).toBe(2);
  expect(await metric('workqueue_depth')).toBe(2);
  await queue.get();
  clock.jump(1500);
  expect(await metric('workqueue_depth')).toBe(1);
  expect(await metric('workqueue_unfinished_work_seconds')).toBe(1.5);
  expect(await metric('workqueue_longest_running_processor_seconds')).toBe(1.5);
  queue.done('a');
  queue.addRateLimited('a');
  expect(await metric('workqueue_retries_total')).toBe(1);
  expect(await metric('workqueue_work_duration_seconds')).toBe(1);
  expect(await sum('workqueue_work_duration_seconds')).toBe(1.5);
  expect(await metric('workqueue_queue_duration_seconds')).toBe(1);
});

it('counts keys that failed ten times in a row as failing, until they succeed', async () => {
  const failing = async () => metric('olapwarden_operator_failing_objects');
  for (let failures = 0; failures < 9; failures++) queue.addRateLimited('a');
  queue.addRateLimited('b');
  expect(await failing()).toBe(0);
  queue.addRateLimited('a');
  expect(await failing()).toBe(1);
  queue.forget('a');
  expect(await failing()).toBe(0);
});
