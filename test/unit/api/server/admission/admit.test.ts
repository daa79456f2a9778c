import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { admit } from '../../../../../src/api/server/admission/admit.ts';
import { LimitMetrics } from '../../../../../src/api/server/admission/limit-metrics.ts';
import { memoryQueue } from '../../../../../src/api/server/admission/memory.ts';
import { FairQueue } from '../../../../../src/platform/fair-queue.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const signal = new AbortController().signal;

describe('a request that gets no place', () => {
  it('is told whose limit it is, which setting, and when to try again', async () => {
    const memory = memoryQueue({ totalBytes: 100, bytesPerCaller: 50, maxWaiting: 4 });
    await admit(memory, 'ann', { units: 50, signal });
    const client = new AbortController();
    const waiting = admit(memory, 'ann', { units: 1, signal: client.signal });
    await expect(admit(memory, 'ann', { units: 1, signal })).rejects.toMatchObject({
      statusCode: 429,
      message:
        'too many requests of this caller wait for memory for responses and bodies (limited by `max-answer-bytes`): try again in 2 s',
      headers: { 'retry-after': '2' },
    });
    client.abort();
    await expect(waiting).rejects.toMatchObject({ statusCode: 499 });
  });

  it('gets 503 where all wait, or it waited too long', async () => {
    const clock = new FakeClock();
    const memory = new FairQueue({ name: 'memory', total: 10, maxWaiting: 1, maxWaitMs: 10_000 }, clock);
    await admit(memory, 'ann', { units: 10, signal });
    const waits = expect(admit(memory, 'bob', { signal })).rejects.toMatchObject({
      statusCode: 503,
      message: expect.stringContaining('the request waited 10 s for memory') as string,
    });
    await expect(admit(memory, 'eve', { signal })).rejects.toMatchObject({
      statusCode: 503,
      message: expect.stringContaining('too many requests wait for memory') as string,
    });
    await clock.advance(10_000);
    await waits;
  });

  it('ends where its client leaves', async () => {
    const memory = memoryQueue({ totalBytes: 10, bytesPerCaller: 10 });
    await admit(memory, 'ann', { units: 10, signal });
    const client = new AbortController();
    const waiting = admit(memory, 'bob', { units: 10, signal: client.signal });
    client.abort();
    await expect(waiting).rejects.toMatchObject({ statusCode: 499 });
    expect(memory.waiting).toBe(0);
  });
});

it('the metrics show what is used of each limit, who waits, and what is refused', async () => {
  const registry = new Registry();
  const metrics = new LimitMetrics(registry);
  const clock = new FakeClock();
  const queues = [1, 2]
    .map(() => new FakeClock())
    .map(() => new FairQueue({ name: 'pool', total: 2, maxWaiting: 1 }, clock, metrics));
  const [first] = queues as [FairQueue, FairQueue];
  metrics.watch(...queues, new FairQueue({ name: 'queries', total: Infinity, maxWaiting: 0 }));
  const place = await first.acquire('ann', { units: 2 });
  const waiting = first.acquire('bob');
  expect(first.tryEnter('eve')).toBe('full');
  await clock.advance(300);
  place.release();
  await waiting;
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'olap_warden_limit_used{limit="pool"} 1',
      'olap_warden_limit_max{limit="pool"} 4',
      'olap_warden_limit_waiting{limit="pool"} 0',
      'olap_warden_limit_used{limit="queries"} 0',
      'olap_warden_limit_refused_total{limit="pool"} 1',
      'olap_warden_limit_wait_seconds_sum{limit="pool"} 0.3',
      'olap_warden_limit_wait_seconds_count{limit="pool"} 2',
    ]),
  );
  expect(lines.some((line) => line.startsWith('olap_warden_limit_max{limit="queries"}'))).toBe(false);
});
