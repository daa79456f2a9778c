import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { readPage } from '../../../../../src/results/rows/page.ts';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { ObjectResultStore } from '../../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../../src/results/submit/submit.ts';
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

async function stored(into = store, requestId = newId(), expirationTimeMs = Number.MAX_SAFE_INTEGER): Promise<string> {
  const answer = responseOf(answerText(rowTexts(5)));
  const outcome = await storeResponse(answer, into, submission({ requestId, expirationTimeMs }), signal);
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

describe('leftovers of a killed gateway in a bucket', () => {
  it('are removed at its next start: rows, records and uploads of any age', async () => {
    const whole = await stored();
    lay(`${newId()}.rows`, bucket.now);
    lay(`${newId()}.json`, undefined);
    bucket.unfinished.push({ key: `${newId()}.rows`, uploadId: '1', modifiedMs: bucket.now });
    await gateway().start(signal);
    expect(keys()).toEqual([`${whole}.json`, `${whole}.rows`]);
    expect(bucket.unfinished).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('are removed by other gateways after a day, unless their age is unknown', async () => {
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

  it('do not include objects of other programs', async () => {
    const strange = ['notes.json', 'a.rows', `${newId().toUpperCase()}.rows`, `${newId()}.rows.bak`].map((key) =>
      lay(key, 0),
    );
    bucket.unfinished.push({ key: 'backup.rows', uploadId: '1', modifiedMs: 0 });
    await store.start(signal);
    await store.tidy(signal);
    expect(keys()).toEqual(strange.sort());
    expect(bucket.unfinished).toHaveLength(1);
  });

  it('are searched for once an hour', async () => {
    await store.tidy(signal);
    const orphan = lay(`${newId()}.rows`, bucket.now);
    bucket.now += HOUR_MS - 1;
    await store.tidy(signal);
    expect(keys()).toEqual([orphan]);
    bucket.now += 1;
    await store.tidy(signal);
    expect(keys()).toEqual([]);
  });

  it('do not include results being written, unless their writer is more than a day old', async () => {
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

  it('are removed in batches of 2,000 objects, with a message if there are more', async () => {
    for (let i = 0; i < 2500; i++) lay(`${newId()}.rows`, bucket.now);
    await store.start(signal);
    expect(bucket.objects.size).toBe(500);
    expect(problems).toEqual([expect.stringContaining('more than 2000 objects')]);
    await store.tidy(signal);
    expect(bucket.objects.size).toBe(0);
  });
});

describe('a gateway without the permission to remove leftovers', () => {
  it('starts, reports the required permissions once, and removes what it is allowed to', async () => {
    bucket.failing.set('uploads', 'AccessDenied');
    lay(`${newId()}.rows`, bucket.now);
    await store.start(signal);
    await store.tidy(signal);
    expect(keys()).toEqual([]);
    expect(problems).toEqual([
      'failed to remove incomplete uploads (AccessDenied); retrying. ' +
        'Required: `ListUploads` and `AbortUpload`, or a lifecycle rule of the bucket that aborts them',
    ]);
    await stored();
    expect(await listed()).toHaveLength(1);
  });

  it('reports a problem again that was solved in between', async () => {
    bucket.failing.set('uploads', 'AccessDenied');
    await store.start(signal);
    bucket.failing.clear();
    await store.tidy(signal);
    bucket.failing.set('uploads', 'AccessDenied');
    bucket.now += HOUR_MS;
    await store.tidy(signal);
    expect(problems).toHaveLength(2);
  });

  it('stops after a batch of failures, and continues after a single one', async () => {
    for (let i = 0; i < 100; i++) lay(`${newId()}.rows`, bucket.now);
    bucket.failing.set('delete', 'AccessDenied');
    await store.start(signal);
    // And that of the check of permissions.
    expect(bucket.calls.filter((call) => call === 'delete')).toHaveLength(9);
    bucket.failing.clear();
    const locked = keys()[3] ?? '';
    bucket.failing.set(`delete:${locked}`, 'ObjectLocked');
    await store.tidy(signal);
    expect(keys().filter((key) => !key.endsWith('.check'))).toEqual([locked]);
    expect(problems).toEqual([
      expect.stringContaining('the credentials lack the permission `Delete` (AccessDenied)'),
      expect.stringContaining('(AccessDenied); retrying. Required: `List` and `Delete`'),
      expect.stringContaining('(ObjectLocked)'),
    ]);
  });

  it('reports that the time-out was exceeded', async () => {
    const stopping = new AbortController();
    bucket.failing.set('uploads', 'AbortError');
    bucket.onCall = (name) => name === 'uploads' && stopping.abort();
    await store.start(stopping.signal);
    expect(problems[0]).toContain('timed out');
  });

  it.each([
    ['put', 'the credentials lack the permission `Put` (AccessDenied)', 0],
    ['get', 'the credentials lack the permission `Get` (AccessDenied)', 0],
  ])('does not start without the permission to %s objects, and says so', async (call, says, left) => {
    bucket.failing.set(call, 'AccessDenied');
    // The bucket of the test stores before it fails.
    bucket.onCall = (name) => name === 'put' && call === 'put' && bucket.objects.clear();
    await expect(store.start(signal)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: `the result store \`mem://bucket\` cannot be used: ${says}`,
    });
    expect([bucket.objects.size, problems]).toEqual([left, []]);
  });

  it('starts without the permission to delete objects, says so, and leaves an object that is removed with old notes', async () => {
    bucket.failing.set('delete', 'AccessDenied');
    await store.start(signal);
    expect(problems).toEqual([
      'result store `mem://bucket`: the credentials lack the permission `Delete` (AccessDenied)',
    ]);
    expect(keys()).toEqual([expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{30}\.check$/)]);
    bucket.failing.clear();
    bucket.now += 3 * DAY_MS;
    await store.tidy(signal);
    expect(keys()).toEqual([]);
  });

  it.each(['put', 'get'])('starts where a bucket fails for another reason to %s objects, and says so', async (call) => {
    bucket.failing.set(call, 'SlowDown');
    await store.start(signal);
    expect(problems).toEqual([
      expect.stringMatching(/`mem:\/\/bucket`: (writing|reading) an object failed \(SlowDown\)$/),
    ]);
  });

  it('leaves no object of its check', async () => {
    await store.start(signal);
    expect([bucket.calls.filter((call) => ['put', 'get', 'delete'].includes(call)), keys()]).toEqual([
      ['put', 'get', 'delete'],
      [],
    ]);
  });

  it('does not start without the permission to list, because it could not serve results', async () => {
    bucket.failing.set('list', 'AccessDenied');
    await expect(store.start(signal)).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});

describe('a result in a bucket', () => {
  it('is listed once for any order of the bucket’s listing', async () => {
    const ids = [await stored(), await stored(), await stored(store, newId('gateway-1'))].sort();
    bucket.order = 'records last';
    expect(await listed()).toEqual(ids);
    await store.tidy(signal);
    expect(await listed(gateway('gateway-2'))).toEqual(ids);
  });

  it('is renewed for all gateways, also for those that read its record before', async () => {
    const one = gateway('gateway-1');
    bucket.now = 1_000;
    const requestId = await stored(one, undefined, 5_000);
    const two = gateway('gateway-2');
    const { record } = (await two.open(requestId, signal))!;
    expect(record.expirationTimeMs).toBe(5_000);
    bucket.now = 4_000;
    await one.renew({ ...record, expirationTimeMs: 9_000 }, signal);
    // Now the record in the memory of the other gateway has expired.
    bucket.now = 6_000;
    for (const store of [one, two]) {
      const expirations: number[] = [];
      for await (const summary of store.list(signal)) expirations.push(summary.record.expirationTimeMs);
      expect(expirations).toEqual([9_000]);
      expect((await store.open(requestId, signal))!.record.expirationTimeMs).toBe(9_000);
    }
  });

  it('is read once for several listings', async () => {
    await stored(gateway('gateway-1'));
    await stored();
    bucket.calls.length = 0;
    for (let i = 0; i < 3; i++) expect(await listed()).toHaveLength(2);
    expect(bucket.calls).toEqual(['list', 'get', 'list', 'list']);
  });

  it('is damaged without its rows, with rows of another length and with another record', async () => {
    const [bare, short, wrong] = [await stored(), await stored(), await stored()];
    bucket.objects.delete(`${bare}.rows`);
    lay(`${short}.rows`, bucket.now);
    const another = gateway('gateway-1');
    lay(`${wrong}.json`, bucket.now);
    const found = new Map<string, string | undefined>();
    for await (const { record, damaged } of another.list(signal)) found.set(record.requestId, damaged);
    expect(found).toEqual(
      new Map([
        [bare, expect.stringContaining('its rows are missing')],
        [short, expect.stringMatching(/its rows have 3 bytes instead of \d+/)],
        [wrong, expect.stringContaining('its record is not valid')],
      ]),
    );
    expect((await another.open(bare, signal))?.damage?.message).toContain('its rows are missing');
    const reader = await another.open(short, signal);
    await expect(reader?.index(signal)).rejects.toMatchObject({ code: 'damaged' });
    await expect(another.open(wrong, signal)).rejects.toMatchObject({ code: 'damaged' });
    for (const requestId of [bare, short, wrong]) expect(await another.delete(requestId, signal)).toBe(true);
    expect(await listed(another)).toEqual([]);
  });

  it('is damaged where a byte of its rows differs', async () => {
    const requestId = await stored();
    bucket.objects.get(`${requestId}.rows`)!.bytes[3]! ^= 1;
    const reader = await gateway('gateway-1').open(requestId, signal);
    const page = readPage(reader!, { offset: 0, numRows: 1 }, {}, signal);
    await expect(page).rejects.toMatchObject({ code: 'damaged' });
  });

  it('is absent for other gateways at most two seconds after its deletion', async () => {
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

  it.each(['complete', 'put'])('leaves no objects if `%s` had an effect but reported an error', async (call) => {
    bucket.failing.set(call, 'TimeoutError');
    await expect(stored()).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(keys()).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('is reported if it cannot be removed, and removed by the next run', async () => {
    bucket.failing.set('put', 'TimeoutError');
    bucket.failing.set('delete', 'TimeoutError');
    const requestId = newId();
    await expect(stored(store, requestId)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(problems).toEqual([
      `failed to remove the objects of the discarded result ${requestId} (TimeoutError); they are removed within an hour or when the result expires`,
    ]);
    bucket.failing.clear();
    bucket.objects.delete(`${requestId}.json`);
    await store.tidy(signal);
    expect(keys()).toEqual([]);
  });
});
