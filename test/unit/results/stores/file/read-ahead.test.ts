import { beforeEach, describe, expect, it } from 'vitest';
import { BufferPool } from '../../../../../src/results/stores/file/buffer-pool.ts';
import { ReadAhead } from '../../../../../src/results/stores/file/read-ahead.ts';

const END = 1_000_000;

// Buffers and blocks are compared with `===`: the message of a failed `toBe` would take minutes.
let pool: BufferPool;
let ahead: ReadAhead;
let reads: [from: number, to: number][];

beforeEach(() => {
  pool = new BufferPool();
  ahead = new ReadAhead(pool);
  reads = [];
});

/** Each byte's value depends on its position. */
const read = async (buffer: Buffer, from: number, to: number): Promise<Buffer> => {
  reads.push([from, to]);
  for (let at = from; at < to; at++) buffer[at - from] = at % 251;
  return buffer.subarray(0, to - from);
};

describe('the read-ahead block of a file', () => {
  it('contains the bytes after a small page, up to the end of the rows', async () => {
    expect(ahead.find(0, 10)).toBeUndefined();
    const block = await ahead.load({ from: 100, to: 200 }, END, read);
    expect(reads).toEqual([[100, 100 + 256 * 1024]]);
    expect(ahead.find(100, 200) === block).toBe(true);
    expect(ahead.find(100 + 256 * 1024 - 10, 100 + 256 * 1024) === block).toBe(true);
    expect(ahead.find(99, 200)).toBeUndefined();
    expect(ahead.find(200, 101 + 256 * 1024)).toBeUndefined();
    expect(block.bytes[7]).toBe(107);
    expect(block.buffer.length).toBe(256 * 1024);
    await ahead.load({ from: END - 10, to: END }, END, read);
    expect(reads.at(-1)).toEqual([END - 10, END]);
  });

  it('returns its buffer to the pool only without users', async () => {
    const first = await ahead.load({ from: 0, to: 10 }, END, read);
    const second = await ahead.load({ from: 200_000, to: 200_010 }, END, read);
    expect(second.buffer === first.buffer).toBe(false);
    expect([first.bytes[3], first.bytes[250]]).toEqual([3, 250]);
    ahead.release(first, true);
    ahead.release(second, true);
    const third = await ahead.load({ from: 400_000, to: 400_010 }, END, read);
    expect(third.buffer === first.buffer).toBe(true);
  });

  it('keeps its buffer while it is current, and permanently if a view of it may be in use', async () => {
    const first = await ahead.load({ from: 0, to: 10 }, END, read);
    ahead.release(first, true);
    expect(pool.take(256 * 1024) === first.buffer).toBe(false);
    first.users++;
    ahead.release(first, false);
    await ahead.load({ from: 200_000, to: 200_010 }, END, read);
    expect(pool.take(256 * 1024) === first.buffer).toBe(false);
  });

  it('contains only the range while readers of different places displace the blocks of each other', async () => {
    await ahead.load({ from: 0, to: 10 }, END, read);
    await ahead.load({ from: 500_000, to: 500_010 }, END, read);
    await ahead.load({ from: 100_000, to: 100_010 }, END, read);
    expect(reads.slice(1)).toEqual([
      [500_000, 500_010],
      [100_000, 100_010],
    ]);
    // The next page of the same reader.
    await ahead.load({ from: 100_010, to: 100_020 }, END, read);
    expect(reads.at(-1)).toEqual([100_010, 100_010 + 256 * 1024]);
  });

  it('contains the bytes after a larger page at the same place', async () => {
    await ahead.load({ from: 0, to: 10 }, END, read);
    await ahead.load({ from: 500_000, to: 500_010 }, END, read);
    await ahead.load({ from: 500_000, to: 500_500 }, END, read);
    expect(reads.slice(1)).toEqual([
      [500_000, 500_010],
      [500_000, 500_000 + 256 * 1024],
    ]);
  });

  it('contains the bytes after a page also where another reader used the block before', async () => {
    const first = await ahead.load({ from: 0, to: 10 }, END, read);
    first.shared = true;
    await ahead.load({ from: 500_000, to: 500_010 }, END, read);
    expect(reads.at(-1)).toEqual([500_000, 500_000 + 256 * 1024]);
  });
});
