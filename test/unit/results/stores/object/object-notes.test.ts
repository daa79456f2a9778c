import { expect, it } from 'vitest';
import { NOTE_KEPT_MS } from '../../../../../src/results/notes.ts';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { reasonOf } from '../../../../../src/results/stores/object/object-leftovers.ts';
import { ObjectNotes } from '../../../../../src/results/stores/object/object-notes.ts';
import { checkRights } from '../../../../../src/results/stores/object/rights-check.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { MemoryBucket } from './memory-bucket.ts';

const signal = new AbortController().signal;

it('one run removes at most 1,000 old notes, and no young ones', async () => {
  const [bucket, clock] = [new MemoryBucket(), new FakeClock()];
  const notes = new ObjectNotes(bucket);
  bucket.now = clock.now();
  for (let count = 0; count < 1_003; count++)
    await notes.put(
      newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, `${count}-`)),
      'run',
      '{}',
      signal,
    );
  await notes.removeOld({ now: () => clock.now() + NOTE_KEPT_MS }, signal);
  expect(bucket.objects.size).toBe(1_003);
  const later = { now: () => clock.now() + NOTE_KEPT_MS + 1 };
  await notes.removeOld(later, signal);
  expect(bucket.objects.size).toBe(3);
  await notes.removeOld(later, signal);
  expect(bucket.objects.size).toBe(0);
});

it('the check of the rights reads nothing that could not be written, and reports what failed', async () => {
  const bucket = new MemoryBucket();
  const problems: string[] = [];
  const context = { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: (text: string) => problems.push(text) };
  bucket.failing.set('put', 'the bucket is full');
  await checkRights(bucket, new ObjectNotes(bucket), context, signal);
  expect(bucket.calls).toEqual(['put']);
  expect(problems).toEqual([expect.stringContaining('writing an object')]);
});

it.each([
  [new Error('AKIASECRET'), 'unknown'],
  [Object.assign(new Error('AKIASECRET'), { code: 'ECONNRESET' }), 'ECONNRESET'],
  [Object.assign(new Error('AKIASECRET'), { name: 'SlowDown' }), 'SlowDown'],
  [Object.assign(new Error('AKIASECRET'), { name: 'ApiError', code: 403 }), '403'],
  [new Error('AKIASECRET', { cause: Object.assign(new Error(), { name: 'AccessDenied' }) }), 'AccessDenied'],
])('the reason of %o is its kind', (error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});
