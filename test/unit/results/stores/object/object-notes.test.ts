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

const idOf = (seed: number): string => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, seed));

it('a note is read as it was written, and listed by its kind', async () => {
  const bucket = new MemoryBucket();
  const notes = new ObjectNotes(bucket);
  await notes.put(idOf(1), 'run', 'Zürich', signal);
  await notes.put(idOf(2), 'cancel', 'b', signal);
  for (const key of ['backup.run', `${idOf(3)}.json`, 'README'])
    bucket.objects.set(key, { bytes: Buffer.from('x'), modifiedMs: 0 });
  expect(await notes.get(idOf(1), 'run', signal)).toBe('Zürich');
  expect(await notes.get(idOf(1), 'cancel', signal)).toBeUndefined();
  const found: string[] = [];
  for await (const id of notes.list('run', signal)) found.push(id);
  expect(found).toEqual([idOf(1)]);
  await notes.delete(idOf(1), 'run', signal);
  expect(await notes.get(idOf(1), 'run', signal)).toBeUndefined();
});

it('only notes of a known age are removed when they are old', async () => {
  const bucket = new MemoryBucket();
  const lay = (key: string, modifiedMs: number | undefined): string => {
    bucket.objects.set(key, { bytes: Buffer.from('x'), modifiedMs });
    return key;
  };
  lay(`${idOf(1)}.alive`, 0);
  const kept = ['backup.run', `${idOf(2)}.json`, 'README'].map((key) => lay(key, 0));
  kept.push(lay(`${idOf(3)}.alive`, undefined));
  await new ObjectNotes(bucket).removeOld({ now: () => NOTE_KEPT_MS + 1 }, signal);
  expect([...bucket.objects.keys()]).toEqual(kept);
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
