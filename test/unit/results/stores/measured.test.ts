import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../support/fake-clock.ts';
import { prometheusQueryMetrics } from '../../../../src/results/metrics.ts';
import type {
  ResultReader,
  ResultRecord,
  ResultStore,
  StoredResultSummary,
} from '../../../../src/results/result-store.ts';
import { measuredStore } from '../../../../src/results/stores/measured.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { answerText, responseOf, rowTexts, submission } from '../answers.ts';
import { MemoryBucket } from './object/memory-bucket.ts';

const signal = new AbortController().signal;

let bucket: MemoryBucket;
let registry: Registry;
let store: ResultStore;
let clockMs: number;

beforeEach(async () => {
  bucket = new MemoryBucket();
  registry = new Registry();
  clockMs = 0;
  const plain = objectStore();
  store = measuredStore(plain, prometheusQueryMetrics(registry), { monotonic: () => clockMs });
  const stored = await storeResponse(responseOf(answerText(rowTexts(5))), store, submission(), signal);
  if (stored.kind !== 'stored') throw new Error('not stored');
  await stored.reader.close();
});

function objectStore(): ObjectResultStore {
  return new ObjectResultStore(bucket, { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: () => undefined });
}

const metric = async (name: string, operation: string): Promise<string | undefined> => {
  const line = new RegExp(`olap_warden_pagination_store_${name}\\{operation="${operation}"\\} (.*)`);
  return line.exec(await registry.metrics())?.[1];
};

async function everything(): Promise<void> {
  for await (const { record } of store.list(signal)) {
    const reader = await store.open(record.requestId, signal);
    await reader!.index(signal);
    for await (const piece of reader!.stream(0, record.rowBytes, signal)) expect(piece.length).toBe(record.rowBytes);
    // Time spent by the consumer of a listing does not count as time of the store.
    clockMs += 5000;
    await store.delete(record.requestId, signal);
  }
}

describe('store metrics', () => {
  it('measure each kind of call', async () => {
    await everything();
    for (const operation of ['begin', 'write', 'seal', 'commit', 'open', 'list', 'delete']) {
      expect(await metric('duration_seconds_count', operation), operation).toBe('1');
      expect(await metric('errors_total', operation), operation).toBeUndefined();
    }
    expect(await metric('duration_seconds_count', 'read')).toBe('2');
    expect(await metric('duration_seconds_sum', 'list')).toBe('0');
  });

  it.each([
    ['list', 'list'],
    ['get', 'list'],
    ['delete', 'delete'],
    ['range', 'read'],
  ])('count a failed `%s` of the bucket as a failure of `%s`', async (call, operation) => {
    const another = measuredStore(objectStore(), prometheusQueryMetrics((registry = new Registry())), {
      monotonic: () => clockMs,
    });
    store = another;
    bucket.failing.set(call, 'SlowDown');
    await expect(everything()).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(await metric('errors_total', operation)).toBe('1');
  });

  it.each([
    ['an abort by the client', undefined, undefined],
    ['a time-out', new DOMException('too long', 'TimeoutError'), '1'],
  ])('count calls that end with %s', async (_, reason, errors) => {
    const { value: summary } = await store.list(signal)[Symbol.asyncIterator]().next();
    const reader = await store.open(summary!.record.requestId, signal);
    const caller = new AbortController();
    const never = (): Promise<never> =>
      new Promise((_resolve, reject) => {
        caller.signal.addEventListener('abort', () => reject(new Error('the call was ended')));
      });
    const inner = { ...store, open: never, delete: never, begin: never } as ResultStore;
    registry.clear();
    const metrics = prometheusQueryMetrics(registry);
    const another = measuredStore(inner, metrics, { monotonic: () => clockMs });
    const stuck = { ...reader!, record: summary!.record, read: never, index: never };
    const read = measuredStore({ ...store, open: async () => stuck }, metrics, { monotonic: () => clockMs });
    const from = await read.open('any', signal);
    const calls = [
      another.open('any', caller.signal),
      another.delete('any', caller.signal),
      another.begin('any', caller.signal),
      from!.read(0, 1, caller.signal),
    ];
    caller.abort(reason);
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    for (const operation of ['open', 'delete', 'begin', 'read']) {
      expect(await metric('errors_total', operation), operation).toBe(errors);
    }
    expect(await metric('duration_seconds_count', 'read')).toBe('1');
  });

  it('do not count a listing that the consumer stops as a failure', async () => {
    for await (const _ of store.list(signal)) break;
    expect(await metric('duration_seconds_count', 'list')).toBe('1');
    expect(await metric('errors_total', 'list')).toBeUndefined();
  });

  it('end the listing of the store when the consumer stops', async () => {
    let ended = false;
    async function* list(): AsyncIterable<StoredResultSummary> {
      try {
        yield* store.list(signal);
      } finally {
        ended = true;
      }
    }
    const another = measuredStore({ ...store, list }, prometheusQueryMetrics(new Registry()), {
      monotonic: () => clockMs,
    });
    for await (const _ of another.list(signal)) break;
    expect(ended).toBe(true);
  });

  it('pass `tidy` to the store', async () => {
    bucket.objects.set('00000000-000000000000000000000000000002.rows', { bytes: Buffer.from(''), modifiedMs: 0 });
    await store.tidy?.(signal);
    expect(bucket.objects.size).toBe(2);
  });
});

/** A store whose calls take so many milliseconds. */
function slow(ms: number, more: Partial<ResultStore> = {}): ResultStore {
  const takes = async (): Promise<void> => void (clockMs += ms);
  const record = submission() as unknown as ResultRecord;
  const reader = {
    record,
    knownIndex: undefined,
    index: takes,
    read: takes,
    async *stream(): AsyncIterable<Uint8Array> {
      for (let piece = 0; piece < 3; piece++) {
        await takes();
        yield Buffer.from('x');
      }
      await takes();
    },
    close: async () => undefined,
  } as unknown as ResultReader;
  const inner = {
    local: true,
    open: async (id: string) => {
      await takes();
      return id === 'known' ? reader : undefined;
    },
    renew: takes,
    delete: takes,
    ...more,
  } as unknown as ResultStore;
  return measuredStore(inner, prometheusQueryMetrics((registry = new Registry())), { monotonic: () => clockMs });
}

describe('a measured store', () => {
  it('reports the seconds of each call', async () => {
    clockMs = 1_000_000;
    const takesLong = slow(250);
    const reader = await takesLong.open('known', signal);
    expect(await takesLong.open('unknown', signal)).toBeUndefined();
    await takesLong.renew(reader!.record, signal);
    await takesLong.delete('known', signal);
    for await (const _ of reader!.stream(0, 3, signal)) clockMs += 5000;
    expect(await metric('duration_seconds_sum', 'open')).toBe('0.5');
    expect(await metric('duration_seconds_sum', 'renew')).toBe('0.25');
    expect(await metric('duration_seconds_sum', 'delete')).toBe('0.25');
    // Three pieces and the end, without the time of the consumer.
    expect(await metric('duration_seconds_sum', 'read')).toBe('1');
    expect(await metric('errors_total', 'read')).toBeUndefined();
  });

  it('has what its store has, and nothing else', async () => {
    const plain = slow(1);
    for (const name of ['link', 'tidy', 'capacityBytes', 'compression']) expect(plain).not.toHaveProperty(name);
    const found = slow(1, {
      capacityBytes: 5,
      compression: 'zstd',
      tidy: async () => undefined,
      link: async (id, lifetimeMs) => ({ url: `signed:${id}`, expirationTimeMs: lifetimeMs }),
    });
    expect(found).toMatchObject({ capacityBytes: 5, compression: 'zstd' });
    expect(await found.link?.('a', 7, signal)).toEqual({ url: 'signed:a', expirationTimeMs: 7 });
    expect(await metric('duration_seconds_count', 'link')).toBe('1');
  });

  it('counts a stream that is aborted by the client as no failure, and one that fails as one', async () => {
    for (const [reason, errors] of [
      [new Error('gone'), undefined],
      [new DOMException('too long', 'TimeoutError'), '1'],
    ] as const) {
      const caller = new AbortController();
      const failing = slow(1, {
        // oxlint-disable-next-line require-yield
        async *list(): AsyncIterable<StoredResultSummary> {
          caller.abort(reason);
          throw new Error('the listing ended');
        },
      });
      await expect(failing.list(caller.signal)[Symbol.asyncIterator]().next()).rejects.toThrow('the listing ended');
      expect(await metric('errors_total', 'list')).toBe(errors);
    }
  });
});
