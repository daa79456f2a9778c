import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectClient, StoredObject } from '../../../../../src/results/stores/object/object-client.ts';
import { BUCKET_READ_MS, limitedClient } from '../../../../../src/results/stores/object/limited-client.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { MemoryBucket } from './memory-bucket.ts';

let clock: FakeClock;
let bucket: MemoryBucket;
let client: ObjectClient;
/** Signals of the calls that the bucket got. */
let signals: AbortSignal[];
const none = new AbortController().signal;

/** Never responds, and notes the signal, which ends the request. */
function still<T>(signal: AbortSignal): Promise<T> {
  signals.push(signal);
  return new Promise<T>((_, fail) => signal.addEventListener('abort', () => fail(new Error('socket closed'))));
}

beforeEach(() => {
  clock = new FakeClock();
  bucket = new MemoryBucket();
  bucket.objects.set('a.rows', { bytes: Buffer.from('[1],[2]'), modifiedMs: 0 });
  signals = [];
  client = limitedClient(bucket, clock);
});

async function text(pieces: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces ?? []) all.push(piece);
  return Buffer.concat(all).toString();
}

async function keys(objects: AsyncIterable<StoredObject>): Promise<string[]> {
  const all: string[] = [];
  for await (const { key } of objects) all.push(key);
  return all;
}

const CALLS: readonly [keyof ObjectClient, (signal: AbortSignal) => Promise<unknown>][] = [
  ['get', (signal) => client.get('a.rows', signal)],
  ['size', (signal) => client.size('a.rows', signal)],
  ['range', (signal) => client.range('a.rows', 0, 3, signal)],
  ['delete', (signal) => client.delete('a.rows', signal)],
  ['list', (signal) => keys(client.list('', signal))],
];

/** The call of the bucket with this name never ends. */
function stop(name: string): void {
  const index =
    name === 'range' ? 3 : name === 'list' || name === 'get' || name === 'size' || name === 'delete' ? 1 : 0;
  const never = (...parameters: unknown[]): unknown => {
    const signal = parameters[index] as AbortSignal;
    if (name !== 'list') return still(signal);
    return (async function* pieces() {
      yield await still<StoredObject>(signal);
    })();
  };
  Object.assign(bucket, { [name]: never });
}

describe('a bucket that stands still', () => {
  it.each(CALLS)('fails a call within the limit, and the request to it is ended: %s', async (name, call) => {
    stop(name);
    const outcome = call(none).catch((error: unknown) => error);
    await clock.advance(BUCKET_READ_MS - 1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(1);
    expect(await outcome).toMatchObject({
      code: 'store-unavailable',
      message: 'the bucket of the result store did not respond within 12 s; try again later',
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(clock.timers).toBe(0);
  });

  it.each(CALLS)('does not keep a caller that aborts: %s', async (name, call) => {
    stop(name);
    const caller = new AbortController();
    const outcome = call(caller.signal).catch((error: unknown) => error);
    await clock.advance(1);
    caller.abort();
    expect(await outcome).toMatchObject({ code: 'aborted' });
    expect(clock.timers).toBe(0);
    await expect(call(caller.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(signals).toHaveLength(1);
  });

  it('fails in the middle of a response, however long its reader took before', async () => {
    bucket.range = async (_key, _from, _to, signal = none) =>
      (async function* pieces() {
        yield Buffer.from('[1');
        yield Buffer.from(']');
        yield await still<Uint8Array>(signal);
      })();
    const pieces = (await client.range('a.rows', 0, 7, none))![Symbol.asyncIterator]();
    for (const piece of ['[1', ']']) {
      await clock.advance(10 * BUCKET_READ_MS);
      expect(await pieces.next()).toMatchObject({ done: false, value: Buffer.from(piece) });
    }
    await clock.advance(10 * BUCKET_READ_MS);
    const third = pieces.next().catch((error: unknown) => error);
    await clock.advance(BUCKET_READ_MS);
    expect(await third).toMatchObject({ code: 'store-unavailable' });
    expect(clock.timers).toBe(0);
  });
});

describe('a bucket that responds', () => {
  it('gives what it has, and leaves neither timers nor listeners', async () => {
    expect(Buffer.from((await client.get('a.rows', none))!).toString()).toBe('[1],[2]');
    expect(await client.size('a.rows', none)).toBe(7);
    expect(await text(await client.range('a.rows', 4, 7, none))).toBe('[2]');
    expect(await client.range('b.rows', 4, 7, none)).toBeUndefined();
    expect(await keys(client.list('', none))).toEqual(['a.rows']);
    await client.delete('a.rows', none);
    expect(await client.get('a.rows', none)).toBeUndefined();
    expect(clock.timers).toBe(0);
  });

  it('is told when its reader stops early', async () => {
    let isEnded = false;
    bucket.range = async () =>
      (async function* pieces() {
        try {
          for (;;) yield Buffer.from('[1],');
        } finally {
          isEnded = true;
        }
      })();
    for await (const _ of (await client.range('a.rows', 0, 7, none))!) break;
    expect(isEnded).toBe(true);
    expect(clock.timers).toBe(0);
  });

  it('keeps its own errors', async () => {
    bucket.failing.set('get', 'AccessDenied');
    await expect(client.get('a.rows', none)).rejects.toMatchObject({ cause: { name: 'AccessDenied' } });
    const error = new TypeError('x');
    bucket.get = async () => {
      throw error;
    };
    await expect(client.get('a.rows', none)).rejects.toBe(error);
  });

  it('has not responded in time where the caller has a time-out', async () => {
    bucket.size = () => new Promise(() => undefined);
    const caller = new AbortController();
    const outcome = client.size('a.rows', caller.signal).catch((error: unknown) => error);
    await clock.advance(1);
    caller.abort(new DOMException('too long', 'TimeoutError'));
    expect(await outcome).toMatchObject({
      code: 'store-unavailable',
      message: 'the result store did not respond in time',
    });
  });
});
