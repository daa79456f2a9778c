import { beforeEach, describe, expect, it } from 'vitest';
import type { ResultReader, ResultRecord } from '../../../../../src/results/result-store.ts';
import { unreadableResult } from '../../../../../src/results/stores/record-json.ts';
import { MemoryStore } from '../../../../../src/results/stores/memory/memory-store.ts';
import { collect } from '../../answers.ts';

const DAY_MS = 24 * 3_600_000;
const CAPACITY = 100_000;
const INDEX = { stride: 1, checkpoints: new Float64Array(2) };

function recordOf(requestId: string): ResultRecord {
  const found = { requestId, modifiedMs: 0, reason: '', bytes: 0, dataFile: '', metadataFile: '' };
  return unreadableResult(found).record;
}

async function storing(store: MemoryStore, id: string, ...sizes: readonly number[]): Promise<void> {
  const writer = await store.begin();
  for (const size of sizes) await writer.write(Buffer.alloc(size));
  await writer.seal(INDEX);
  await writer.commit(recordOf(id));
}

describe('the capacity of the memory store', () => {
  it('counts the rows, the index and the record of each result', async () => {
    const store = new MemoryStore({ maxBytes: CAPACITY });
    await storing(store, 'a', 1000, 500);
    const record = 4096 + 2 * JSON.stringify(recordOf('a')).length;
    expect(store.usedBytes).toBe(1500 + INDEX.checkpoints.byteLength + record);
    expect(await store.delete('a')).toBe(true);
    expect(store.usedBytes).toBe(0);
  });

  it('applies to all results together, also to those that are being written', async () => {
    const store = new MemoryStore({ maxBytes: CAPACITY });
    const [one, two] = [await store.begin(), await store.begin()];
    await one.write(Buffer.alloc(60_000));
    const message = `the memory store uses 60000 of ${CAPACITY} bytes`;
    await expect(two.write(Buffer.alloc(60_000))).rejects.toThrow(message);
    await two.write(Buffer.alloc(40_000));
    await expect(two.write(Buffer.alloc(1))).rejects.toMatchObject({ code: 'store-full' });
    await one.discard();
    expect(store.usedBytes).toBe(40_000);
    await two.write(Buffer.alloc(60_000));
  });
});

const signal = new AbortController().signal;

describe('the rows in memory', () => {
  const BLOCK = 256 * 1024;
  /** Each byte's value depends on its position. */
  const rows = Buffer.from(Array.from({ length: 2 * BLOCK + 1000 }, (_, at) => at % 251));

  async function reading(...ends: readonly number[]): Promise<ResultReader> {
    const writer = await new MemoryStore({ maxBytes: 2 ** 30 }).begin();
    let from = 0;
    for (const end of [...ends, rows.length]) {
      await writer.write(rows.subarray(from, end));
      from = end;
    }
    await writer.seal(INDEX);
    return writer.commit(recordOf('a'));
  }

  it.each([[[]], [[10, 20]], [[BLOCK - 1, BLOCK + 1]], [[BLOCK, 2 * BLOCK]], [[7, BLOCK + 300, 2 * BLOCK + 999]]])(
    'are the same for pieces that end at %j',
    async (ends) => {
      const reader = await reading(...ends);
      for (const [from, to] of [
        [0, rows.length],
        [3, 7],
        [BLOCK - 2, BLOCK + 2],
        [BLOCK + 100, BLOCK + 200],
        [2 * BLOCK + 900, rows.length],
      ] as const) {
        const bytes = Buffer.concat(await reader.read(from, to, signal));
        expect(bytes.equals(rows.subarray(from, to)), `${from} to ${to}`).toBe(true);
      }
    },
  );

  it('are readable before the result is committed, which needs its index', async () => {
    const writer = await new MemoryStore({ maxBytes: CAPACITY }).begin();
    await writer.write(Buffer.from('[1],[2]'));
    expect(await collect(writer.read(4, 7, signal))).toBe('[2]');
    await expect(writer.commit(recordOf('a'))).rejects.toThrow('must be sealed');
  });
});

describe('the results in memory', () => {
  let store: MemoryStore;
  beforeEach(async () => {
    store = new MemoryStore({ maxBytes: CAPACITY });
    await storing(store, 'a', 1000);
  });

  const listed = async (): Promise<[string, number, number][]> => {
    const found: [string, number, number][] = [];
    for await (const { record, bytes } of store.list()) found.push([record.requestId, record.expirationTimeMs, bytes]);
    return found;
  };

  it('are listed with their size until they are deleted', async () => {
    expect(await listed()).toEqual([['a', DAY_MS, store.usedBytes]]);
    expect([await store.delete('a'), await store.delete('a')]).toEqual([true, false]);
    expect([await listed(), await store.open('a')]).toEqual([[], undefined]);
  });

  it('are renewed, unless they were deleted', async () => {
    await store.renew({ ...recordOf('a'), expirationTimeMs: 5 });
    await store.renew(recordOf('b'));
    expect(await listed()).toEqual([['a', 5, store.usedBytes]]);
    const reader = (await store.open('a'))!;
    expect([reader.record.expirationTimeMs, await reader.index(signal)]).toEqual([5, INDEX]);
  });

  it('are gone when the store is closed', async () => {
    await store.close();
    expect([await listed(), store.usedBytes]).toEqual([[], 0]);
  });

  it('have notes beside them, which are listed by their kind', async () => {
    const { notes } = store;
    await notes.put('a', 'run', 'one');
    await notes.put('b', 'cancel', 'two');
    const found: string[] = [];
    for await (const id of notes.list('run')) found.push(id);
    expect([found, await notes.get('a', 'run'), await notes.get('a', 'cancel')]).toEqual([['a'], 'one', undefined]);
    await notes.delete('a', 'run');
    expect(await notes.get('a', 'run')).toBeUndefined();
  });
});
