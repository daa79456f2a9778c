import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { WorkQueue } from '../../../../src/operator/controller/work-queue.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { metrics } from '../fakes.ts';

let clock: FakeClock;
let registry: Registry;
let queue: WorkQueue;

beforeEach(() => {
  clock = new FakeClock();
  // A process that has run for a while: no time of the queue is 0.
  clock.jump(100_000);
  registry = new Registry();
  queue = new WorkQueue(clock, metrics(registry).queue('role'));
});

/** The values of the metrics of the queue, without buckets. */
async function values(): Promise<Record<string, number>> {
  const samples = (await registry.metrics()).matchAll(/^workqueue_(\w+)\{(?![^}]*le=)[^}]*\} (\S+)$/gmu);
  return Object.fromEntries([...samples].map(([, name = '', value]) => [name, Number(value)]));
}

it('measures how long keys wait and how long the work on them takes', async () => {
  queue.add('a');
  queue.add('b');
  clock.jump(700);
  await queue.get();
  clock.jump(500);
  await queue.get();
  clock.jump(250);
  expect(await values()).toMatchObject({
    queue_duration_seconds_sum: 0.7 + 1.2,
    queue_duration_seconds_count: 2,
    unfinished_work_seconds: 0.75 + 0.25,
    longest_running_processor_seconds: 0.75,
  });
  queue.done('a');
  expect(await values()).toMatchObject({
    unfinished_work_seconds: 0.25,
    longest_running_processor_seconds: 0.25,
    work_duration_seconds_sum: 0.75,
    work_duration_seconds_count: 1,
  });
});

it('measures the time since a key was queued again while it was in progress', async () => {
  queue.add('a');
  await queue.get();
  clock.jump(300);
  queue.add('a');
  clock.jump(400);
  queue.done('a');
  await queue.get();
  expect((await values())['queue_duration_seconds_sum']).toBe(0.4);
});
