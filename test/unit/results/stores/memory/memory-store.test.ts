import { describe, expect, it } from 'vitest';
import type { ResultRecord } from '../../../../../src/results/result-store.ts';
import { unreadableResult } from '../../../../../src/results/record-json.ts';
import { Readers } from '../../../../../src/results/readers.ts';
import { MemoryStore } from '../../../../../src/results/stores/memory/memory-store.ts';

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

it('keeps no memory for a result beyond its bytes', async () => {
  const store = new MemoryStore({ maxBytes: CAPACITY });
  await storing(store, 'a', 1000, 500);
  const reader = await store.open('a');
  const pieces = await reader!.read(0, 1500, new AbortController().signal);
  expect(pieces.map(({ buffer }) => buffer.byteLength)).toEqual([1500]);
});

describe('the memory of pages', () => {
  it('leaves less room for others until the page is closed', async () => {
    const store = new MemoryStore({ maxBytes: CAPACITY });
    await storing(store, 'a', 1000);
    const opened = await store.open('a');
    if (opened === undefined) throw new Error('the result was stored');
    const readers = new Readers();
    const pages = Array.from({ length: 1000 }, () => readers.tracked(opened));
    const all = readers.room;
    for (const page of pages) readers.hold(page, all);
    expect(readers.room).toBe(0);
    expect(readers.isBeingRead('a')).toBe(true);
    for (const page of pages) await page.close();
    expect(readers.room).toBe(all);
    expect(readers.isBeingRead('a')).toBe(false);
  });
});
