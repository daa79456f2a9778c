import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { ObjectResultStore } from '../../../../../src/results/stores/object/object-store.ts';
import { storeAnswer } from '../../../../../src/results/submit.ts';
import { answerText, responseOf, rowTexts, submission } from '../../answers.ts';
import { MemoryBucket } from './memory-bucket.ts';

const OWN = 'gateway-0';
const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const signal = new AbortController().signal;

let bucket: MemoryBucket;
let problems: string[];
let store: ObjectResultStore;
let seed = 0;

beforeEach(() => {
  bucket = new MemoryBucket();
  bucket.now = 10 * DAY_MS;
  problems = [];
  store = gateway();
});

function gateway(id = OWN): ObjectResultStore {
  const clock = { ...systemClock, now: () => bucket.now, monotonic: () => bucket.now };
  return new ObjectResultStore(bucket, { gatewayId: id, clock, onProblem: (message) => problems.push(message) });
}

function newId(gatewayId = OWN): string {
  seed++;
  return newRequestId(gatewayId, (bytes) => Buffer.alloc(bytes, `-${seed}`));
}

async function stored(into = store, requestId = newId()): Promise<string> {
  const answer = responseOf(answerText(rowTexts(5)));
  const outcome = await storeAnswer(answer, into, submission({ requestId }), signal);
  expect(outcome.kind).toBe('stored');
  return requestId;
}

async function listed(from = store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record } of from.list(signal)) ids.push(record.requestId);
  return ids.sort();
}

function lay(key: string, modifiedMs: number | undefined): string {
  bucket.objects.set(key, { bytes: Buffer.from('[1]'), modifiedMs });
  return key;
}

const keys = (): string[] => [...bucket.objects.keys()].sort();

describe('what a killed gateway left in a bucket', () => {
  it('goes when it starts again: rows, records and uploads, whatever their age', async () => {
    const whole = await stored();
    lay(`${newId()}.rows`, bucket.now);
    lay(`${newId()}.json`, undefined);
    bucket.unfinished.push({ key: `${newId()}.rows`, uploadId: '1', modifiedMs: bucket.now });
    await gateway().start(signal);
    expect(keys()).toEqual([`${whole}.json`, `${whole}.rows`]);
    expect(bucket.unfinished).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('goes by the hand of another gateway once nobody can be at work on it, and not where its age is unknown', async () => {
    const other = (end: string): string => newId('gateway-1') + end;
    const old = bucket.now - DAY_MS - 1;
    const young = bucket.now - DAY_MS;
    lay(other('.rows'), old);
    lay(other('.json'), old);
    const kept = [lay(other('.rows'), young), lay(other('.rows'), undefined), lay(other('.json'), young)];
    for (const modifiedMs of [old, young, undefined]) {
      bucket.unfinished.push({ key: other('.rows'), uploadId: String(modifiedMs), modifiedMs });
    }
    await store.start(signal);
    expect(bucket.objects.size).toBe(5);
    await store.tidy(signal);
    expect(keys()).toEqual(kept.sort());
    expect(bucket.unfinished.map(({ modifiedMs }) => modifiedMs)).toEqual([young, undefined]);
  });

  it('is nothing that somebody else has put there', async () => {
    const strange = ['notes.json', 'a.rows', `${newId().toUpperCase()}.rows`, `${newId()}.rows.bak`].map((key) =>
      lay(key, 0),
    );
    bucket.unfinished.push({ key: 'backup.rows', uploadId: '1', modifiedMs: 0 });
    await store.start(signal);
    await store.tidy(signal);
    expect(keys()).toEqual(strange.sort());
    expect(bucket.unfinished).toHaveLength(1);
  });

  it('is looked for once an hour while it runs', async () => {
    await store.tidy(signal);
    const orphan = lay(`${newId()}.rows`, bucket.now);
    bucket.now += HOUR_MS - 1;
    await store.tidy(signal);
    expect(keys()).toEqual([orphan]);
    bucket.now += 1;
    await store.tidy(signal);
    expect(keys()).toEqual([]);
  });

  it('is not what is being written at the moment, unless its writer was forgotten for a day', async () => {
    const requestId = newId();
    const writer = await store.begin(requestId, signal);
    await writer.write(Buffer.from('[1]'));
    await writer.seal({ stride: 1, checkpoints: Float64Array.of(0) });
    bucket.unfinished.push({ key: `${requestId}.rows`, uploadId: '1', modifiedMs: bucket.now });
    await store.tidy(signal);
    expect([keys(), bucket.unfinished.length]).toEqual([[`${requestId}.rows`], 1]);
    bucket.now += DAY_MS;
    await store.tidy(signal);
    expect([keys(), bucket.unfinished.length]).toEqual([[], 0]);
  });

  it('is 2,000 objects at a time, and it is said that there are more', async () => {
    for (let i = 0; i < 2500; i++) lay(`${newId()}.rows`, bucket.now);
    await store.start(signal);
    expect(bucket.objects.size).toBe(500);
    expect(problems).toEqual([expect.stringContaining('more than 2000 objects')]);
    await store.tidy(signal);
    expect(bucket.objects.size).toBe(0);
  });
});

describe('a gateway that may not tidy up', () => {
  it('starts, says once what it needs, and removes what it may', async () => {
    bucket.failing.set('uploads', 'AccessDenied');
    lay(`${newId()}.rows`, bucket.now);
    await store.start(signal);
    await store.tidy(signal);
    expect(keys()).toEqual([]);
    expect(problems).toEqual([
      'uploads that were never completed could not be removed (AccessDenied); it is tried again; ' +
        'needed are `ListUploads` and `AbortUpload`, or a lifecycle rule of the bucket that ends them',
    ]);
    await stored();
    expect(await listed()).toHaveLength(1);
  });

  it('says again what was mended meanwhile', async () => {
    bucket.failing.set('uploads', 'AccessDenied');
    await store.start(signal);
    bucket.failing.clear();
    await store.tidy(signal);
    bucket.failing.set('uploads', 'AccessDenied');
    bucket.now += HOUR_MS;
    await store.tidy(signal);
    expect(problems).toHaveLength(2);
  });

  it('asks for no more where everything is refused, and goes on where one thing is', async () => {
    for (let i = 0; i < 100; i++) lay(`${newId()}.rows`, bucket.now);
    bucket.failing.set('delete', 'AccessDenied');
    await store.start(signal);
    expect(bucket.calls.filter((call) => call === 'delete')).toHaveLength(8);
    bucket.failing.clear();
    const locked = keys()[3] ?? '';
    bucket.failing.set(`delete:${locked}`, 'ObjectLocked');
    await store.tidy(signal);
    expect(keys()).toEqual([locked]);
    expect(problems).toEqual([
      expect.stringContaining('(AccessDenied); it is tried again; needed are `List` and `Delete`'),
      expect.stringContaining('(ObjectLocked)'),
    ]);
  });

  it('says that the time was over', async () => {
    const stopping = new AbortController();
    bucket.failing.set('uploads', 'AbortError');
    bucket.onCall = (name) => name === 'uploads' && stopping.abort();
    await store.start(stopping.signal);
    expect(problems[0]).toContain('the time for it was over');
  });

  it('does not start where it may not list: it could not serve either', async () => {
    bucket.failing.set('list', 'AccessDenied');
    await expect(store.start(signal)).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});

describe('a result in a bucket', () => {
  it('is listed once, in whatever order the bucket lists', async () => {
    const ids = [await stored(), await stored(), await stored(store, newId('gateway-1'))].sort();
    bucket.order = 'records last';
    expect(await listed()).toEqual(ids);
    await store.tidy(signal);
    expect(await listed(gateway('gateway-2'))).toEqual(ids);
  });

  it('is read once for any number of listings', async () => {
    await stored(gateway('gateway-1'));
    await stored();
    bucket.calls.length = 0;
    for (let i = 0; i < 3; i++) expect(await listed()).toHaveLength(2);
    expect(bucket.calls).toEqual(['list', 'get', 'list', 'list']);
  });

  it('is not there without its rows, nor with others than it was stored with', async () => {
    const [bare, short] = [await stored(), await stored()];
    bucket.objects.delete(`${bare}.rows`);
    lay(`${short}.rows`, bucket.now);
    const another = gateway('gateway-1');
    expect(await listed(another)).toEqual([]);
    expect(problems).toEqual([expect.stringMatching(`${short} have 3 bytes, not \\d+: left out`)]);
    expect(await another.open(bare, signal)).toBeUndefined();
    expect(await another.open(short, signal)).toBeUndefined();
  });

  it('is gone for the other gateways two seconds after it was deleted at the latest', async () => {
    const requestId = await stored();
    const another = gateway('gateway-1');
    expect(await another.open(requestId, signal)).toBeDefined();
    expect(await store.delete(requestId, signal)).toBe(true);
    expect(await store.open(requestId, signal)).toBeUndefined();
    const known = await another.open(requestId, signal);
    await expect(known?.read(0, 3, signal)).rejects.toMatchObject({ code: 'not-found' });
    await stored(another, requestId);
    expect(await another.open(requestId, signal)).toBeDefined();
    expect(await store.delete(requestId, signal)).toBe(true);
    bucket.now += 2000;
    expect(await another.open(requestId, signal)).toBeUndefined();
  });

  it.each(['complete', 'put'])('leaves nothing where `%s` worked and seemed to fail', async (call) => {
    bucket.failing.set(call, 'TimeoutError');
    await expect(stored()).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(keys()).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('that could not be removed goes with the next look, and it is said', async () => {
    bucket.failing.set('put', 'TimeoutError');
    bucket.failing.set('delete', 'TimeoutError');
    const requestId = newId();
    await expect(stored(store, requestId)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(problems).toEqual([
      `what was stored of ${requestId} could not be removed (TimeoutError); it goes within the hour, or when it expires`,
    ]);
    bucket.failing.clear();
    bucket.objects.delete(`${requestId}.json`);
    await store.tidy(signal);
    expect(keys()).toEqual([]);
  });
});
