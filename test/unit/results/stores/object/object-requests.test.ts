import { beforeEach, describe, expect, it } from 'vitest';
import { newRequestId } from '../../../../../src/results/request-id.ts';
import { recordToJson } from '../../../../../src/results/stores/record-json.ts';
import type { ResultRecord, StoredResultSummary } from '../../../../../src/results/result-store.ts';
import { ObjectResultStore } from '../../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../../src/results/submit/submit.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../../answers.ts';
import { MemoryBucket } from './memory-bucket.ts';

// Which requests a store sends to its bucket, and what it makes of the responses.

const DAY_MS = 24 * 3_600_000;
const signal = new AbortController().signal;

let bucket: MemoryBucket;
let clock: FakeClock;
let problems: string[];
let store: ObjectResultStore;
let seed = 0;

beforeEach(() => {
  bucket = new MemoryBucket();
  clock = new FakeClock();
  problems = [];
  store = gateway();
});

function gateway(id = 'gateway-0', compression?: 'zstd'): ObjectResultStore {
  const onProblem = (message: string): void => void problems.push(message);
  return new ObjectResultStore(bucket, { gatewayId: id, clock, onProblem }, compression);
}

const newId = (): string => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, `-${++seed}`));
const keys = (): string[] => [...bucket.objects.keys()].sort();

async function stored(over: Partial<ResultRecord> = {}, into = store): Promise<ResultRecord> {
  const expirationTimeMs = clock.now() + DAY_MS;
  const wanted = submission({ requestId: newId(), expirationTimeMs, ...over });
  const outcome = await storeResponse(responseOf(answerText(rowTexts(5))), into, wanted, signal);
  if (outcome.kind !== 'stored') throw new Error('not stored');
  return outcome.reader.record;
}

async function listed(from = store): Promise<StoredResultSummary[]> {
  const all: StoredResultSummary[] = [];
  for await (const summary of from.list(signal)) all.push(summary);
  return all;
}

/** Copies a result, with changes to its record. */
function copied(record: ResultRecord, over: Partial<ResultRecord> = {}): ResultRecord {
  const rows = bucket.objects.get(`${record.requestId}.rows`)!;
  const copy = { ...record, requestId: newId(), ...over };
  bucket.objects.set(`${copy.requestId}.rows`, rows);
  bucket.objects.set(`${copy.requestId}.json`, { bytes: Buffer.from(recordToJson(copy)), modifiedMs: 0 });
  return copy;
}

/** The calls of the bucket. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  bucket.calls.length = 0;
  await work();
  return [...bucket.calls];
}

describe('a listing of a bucket', () => {
  it('has the bytes and the addresses of both objects of a result', async () => {
    const record = await stored();
    const { requestId } = record;
    const bytes = bucket.objects.get(`${requestId}.rows`)!.bytes.length + recordToJson(record).length;
    const [dataFile, metadataFile] = [`mem://bucket/${requestId}.rows`, `mem://bucket/${requestId}.json`];
    expect(await listed()).toEqual([{ record, bytes, dataFile, metadataFile }]);
  });

  it('reads at most eight records at once', async () => {
    const record = await stored();
    for (let count = 0; count < 16; count++) copied(record);
    let [reading, most] = [0, 0];
    const get = bucket.get.bind(bucket);
    bucket.get = async (key) => {
      most = Math.max(most, ++reading);
      await settle();
      reading--;
      return get(key);
    };
    expect(await listed(gateway('gateway-1'))).toHaveLength(17);
    expect(most).toBe(8);
  });

  it('has a result whose rows are listed much later, and asks for their size', async () => {
    const { requestId } = await stored();
    const rows = bucket.objects.get(`${requestId}.rows`)!;
    bucket.objects.delete(`${requestId}.rows`);
    bucket.onCall = (name) => name === 'size' && bucket.objects.set(`${requestId}.rows`, rows);
    const found = await listed(gateway('gateway-1'));
    expect(found.map(({ record, damaged }) => [record.requestId, damaged])).toEqual([[requestId, undefined]]);
  });

  it('has the age of a record that cannot be read, which is new if the bucket does not tell', async () => {
    const [known, unknown] = [newId(), newId()];
    for (const [id, modifiedMs] of [
      [known, 5000],
      [unknown, undefined],
    ] as const)
      for (const end of ['json', 'rows']) bucket.objects.set(`${id}.${end}`, { bytes: Buffer.from('[1]'), modifiedMs });
    const times = (await listed()).map(({ record, bytes }) => [record.requestId, record.submissionTimeMs, bytes]);
    expect(new Map(times.map(([id, ...rest]) => [id, rest]))).toEqual(
      new Map([
        [known, [5000, 3]],
        [unknown, [clock.now(), 3]],
      ]),
    );
  });

  it('says that a record belongs to another result', async () => {
    const [one, two] = [await stored(), await stored()];
    bucket.objects.set(`${two.requestId}.json`, bucket.objects.get(`${one.requestId}.json`)!);
    const damaged = (await listed(gateway('gateway-1'))).map(({ damaged }) => damaged);
    expect(damaged.filter((reason) => reason !== undefined)).toEqual([
      expect.stringContaining('its record belongs to another result'),
    ]);
  });

  it('fails where a record cannot be requested', async () => {
    await stored();
    bucket.failing.set('get', 'SlowDown');
    await expect(listed(gateway('gateway-1'))).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  it('has a renewal of another gateway at once, where the bucket tells when objects changed', async () => {
    const record = await stored();
    const other = gateway('gateway-1');
    await listed(other);
    bucket.now = 1;
    await store.renew({ ...record, expirationTimeMs: record.expirationTimeMs + 1 }, signal);
    expect((await listed(other))[0]?.record.expirationTimeMs).toBe(record.expirationTimeMs + 1);
    expect(await callsOf(() => listed(other))).toEqual(['list']);
  });

  it('reads a record again when it has expired, where the bucket does not tell when objects changed', async () => {
    const { requestId } = await stored({ expirationTimeMs: clock.now() + 1000 });
    const found = bucket.objects.get(`${requestId}.json`)!;
    bucket.objects.set(`${requestId}.json`, { ...found, modifiedMs: undefined });
    clock.jump(999);
    expect(await callsOf(() => listed())).toEqual(['list']);
    clock.jump(1);
    expect(await callsOf(() => listed())).toEqual(['list', 'get']);
  });

  it('keeps records that it read only where these displace no result that was opened', async () => {
    // About a megabyte each, of 16 for all.
    const dataSchema = JSON.stringify({ columnNames: ['x'.repeat(500_000)] });
    const first = await stored();
    const other = gateway('gateway-1');
    const opened = Array.from({ length: 16 }, () => copied(first, { dataSchema }));
    for (const { requestId } of opened) await other.open(requestId, signal);
    const more = copied(first, { dataSchema });
    await store.delete(first.requestId, signal);
    expect(await callsOf(() => listed(other))).toEqual(['list', 'get']);
    expect(await callsOf(() => listed(other))).toEqual(['list', 'get']);
    for (const { requestId } of opened) expect(await callsOf(() => other.open(requestId, signal))).toEqual([]);
    // A record that is kept already is replaced.
    await store.delete(more.requestId, signal);
    clock.jump(2 * DAY_MS);
    expect(await callsOf(() => listed(other))).toHaveLength(1 + opened.length);
    expect(await callsOf(() => listed(other))).toEqual(['list']);
  });
});

describe('opening a result in a bucket', () => {
  it('asks for it again two seconds after the last time', async () => {
    const { requestId } = await stored();
    const open = (): Promise<string[]> => callsOf(() => store.open(requestId, signal));
    expect(await open()).toEqual([]);
    clock.jump(1999);
    expect(await open()).toEqual([]);
    clock.jump(1);
    expect((await open()).sort()).toEqual(['get', 'size']);
    clock.jump(1999);
    expect(await open()).toEqual([]);
    clock.jump(1);
    expect((await open()).sort()).toEqual(['get', 'size']);
    expect(await store.open(requestId, signal)).toBeDefined();
  });

  it('reads its record again from the millisecond of its expiration', async () => {
    const { requestId } = await stored({ expirationTimeMs: clock.now() + 1000 });
    clock.jump(999);
    expect(await callsOf(() => store.open(requestId, signal))).toEqual([]);
    clock.jump(1);
    expect((await callsOf(() => store.open(requestId, signal))).sort()).toEqual(['get', 'size']);
  });

  it('fails for a record of another result', async () => {
    const [one, two] = [await stored(), await stored()];
    bucket.objects.set(`${two.requestId}.json`, bucket.objects.get(`${one.requestId}.json`)!);
    await expect(gateway('gateway-1').open(two.requestId, signal)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('gives nothing without a record, until nobody can be writing it', async () => {
    bucket.now = clock.now();
    const { requestId } = await stored();
    bucket.objects.delete(`${requestId}.json`);
    const another = gateway('gateway-1');
    expect(await another.open(requestId, signal)).toBeUndefined();
    clock.step(DAY_MS + 1);
    const opened = another.open(requestId, signal);
    const failure = expect(opened).rejects.toMatchObject({ code: 'damaged' });
    await clock.advance(1_000);
    await failure;
  });

  it('gives nothing where the rows follow the record, which another gateway deletes', async () => {
    const { requestId } = await stored();
    bucket.objects.delete(`${requestId}.json`);
    const opened = gateway().open(requestId, signal);
    await settle();
    bucket.objects.delete(`${requestId}.rows`);
    await clock.advance(1_000);
    expect(await opened).toBeUndefined();
  });
});

describe('a store in a bucket', () => {
  it('compresses only with the setting', () => {
    expect(store.compression).toBeUndefined();
    expect(gateway('gateway-1', 'zstd').compression).toBe('zstd');
  });

  it('deletes both objects of a result, and says whether there was one', async () => {
    const { requestId } = await stored();
    expect(await store.delete(requestId, signal)).toBe(true);
    expect(keys()).toEqual([]);
    expect(await callsOf(async () => expect(await store.delete(requestId, signal)).toBe(false))).toEqual([
      'size',
      'list',
    ]);
  });

  it('does not renew a result whose rows were deleted', async () => {
    const record = await stored();
    await store.delete(record.requestId, signal);
    await store.renew(record, signal);
    expect(keys()).toEqual([]);
  });

  it('keeps the index of a result that it renews', async () => {
    const record = await stored();
    const index = await (await store.open(record.requestId, signal))!.index(signal);
    await store.renew({ ...record, expirationTimeMs: record.expirationTimeMs + 1 }, signal);
    expect((await store.open(record.requestId, signal))!.knownIndex).toBe(index);
  });

  it.each([
    [90_999, 90],
    [1000, 1],
    [1, 1],
  ])('signs links from the second that has begun, for whole seconds of %d ms', async (lifetimeMs, seconds) => {
    const second = clock.now();
    clock.jump(999);
    expect(await store.link('r1', lifetimeMs, signal)).toEqual({
      url: 'mem://bucket/r1.rows?signed',
      expirationTimeMs: second + seconds * 1000,
    });
  });
});

describe('a result that is written to a bucket', () => {
  const INDEX = { stride: 1, checkpoints: Float64Array.of(0) };

  it('is readable when its rows are complete', async () => {
    const requestId = newId();
    const writer = await store.begin(requestId, signal);
    await writer.write(Buffer.from('[1],[2]'));
    await writer.seal(INDEX);
    expect(await collect(writer.read(4, 7, signal))).toBe('[2]');
    bucket.objects.clear();
    await expect(collect(writer.read(4, 7, signal))).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is discarded: its upload is aborted until it is complete, then its object is deleted', async () => {
    const unfinished = await store.begin(newId(), signal);
    await unfinished.write(Buffer.from('[1]'));
    expect(await callsOf(() => unfinished.discard())).toEqual(['abort']);
    const requestId = newId();
    const complete = await store.begin(requestId, signal);
    await complete.write(Buffer.from('[1]'));
    await complete.seal(INDEX);
    expect(await callsOf(() => complete.discard())).toEqual(['delete', `delete:${requestId}.rows`]);
    expect([keys(), problems]).toEqual([[], []]);
  });

  it('is no leftover where its other object appears during the search', async () => {
    const [one, two] = [newId(), newId()];
    const object = { bytes: Buffer.from('[1]'), modifiedMs: 0 };
    bucket.objects.set(`${one}.rows`, object);
    bucket.objects.set(`${two}.json`, object);
    bucket.onCall = (name) => {
      if (name === 'size') for (const key of [`${one}.json`, `${two}.rows`]) bucket.objects.set(key, object);
    };
    await store.tidy(signal);
    expect(keys()).toEqual([`${one}.json`, `${one}.rows`, `${two}.json`, `${two}.rows`].sort());
  });
});
