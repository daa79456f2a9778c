import { expect, it } from 'vitest';
import { MAX_USED } from '../../../../src/access/usage/usage-record.ts';
import { USAGE_INTERVAL_MS, UsageTracker } from '../../../../src/access/usage/usage-tracker.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silent } from '../../operator/fakes.ts';
import { MemoryDocument } from './memory-document.ts';

it('writes the first time after a random part of ten minutes', async () => {
  const [clock, document] = [new FakeClock(), new MemoryDocument()];
  clock.chance = 0.25;
  const tracker = new UsageTracker({ document, clock, log: silent, liveKeys: async () => new Set() });
  tracker.start();
  tracker.mark('key');
  await clock.advance(150_000 - 1);
  expect(document.writes).toBe(0);
  await clock.advance(1);
  expect(document.writes).toBe(1);
  tracker.mark('another');
  await clock.advance(USAGE_INTERVAL_MS - 1);
  expect(document.writes).toBe(1);
  await clock.advance(1);
  expect(document.writes).toBe(2);
});

it('reads what exists only beyond the limit of the record', async () => {
  let reads = 0;
  const liveKeys = async () => {
    reads++;
    return new Set(['k0']);
  };
  const tracker = new UsageTracker({
    document: new MemoryDocument(),
    clock: new FakeClock(),
    log: silent,
    liveKeys,
  });
  for (let index = 0; index < MAX_USED; index++) tracker.mark(`k${index}`);
  await tracker.synchronize(new AbortController().signal);
  expect([reads, tracker.lastUsed('k1')]).toEqual([0, tracker.day]);
  tracker.mark('one more');
  await tracker.synchronize(new AbortController().signal);
  expect([reads, tracker.lastUsed('k0'), tracker.lastUsed('k1')]).toEqual([1, tracker.day, undefined]);
});
