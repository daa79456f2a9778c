import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decompressed, FrameBuilder, framesOf, storedRange } from '../../../../src/results/rows/frames.ts';
import type { RowFrames } from '../../../../src/results/rows/row-index.ts';

const BLOCK_BYTES = 1024;
/** Three whole blocks and a part of one. */
const ROWS = Buffer.from(Array.from({ length: 3 * BLOCK_BYTES + 100 }, (_, i) => (i * i) % 251));

async function stored(rows = ROWS) {
  const builder = new FrameBuilder(BLOCK_BYTES);
  const bytes = Buffer.from(await builder.add(rows));
  return { bytes, frames: builder.build() };
}

/** @returns the blocks */
async function read(
  pieces: readonly Uint8Array[],
  frames: RowFrames,
  options = { from: 0, rowBytes: ROWS.length },
): Promise<Uint8Array[]> {
  const blocks: Uint8Array[] = [];
  for await (const block of decompressed(pieces, { frames, blockBytes: BLOCK_BYTES }, options)) blocks.push(block);
  return blocks;
}

const cut = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

describe('compressed rows', () => {
  it.each([1, 7, 100, 333, 1000, 5000])('are read from pieces of %i bytes, one block after the other', async (size) => {
    const { bytes, frames } = await stored();
    const blocks = await read(cut(bytes, size), frames);
    expect(blocks.map(({ length }) => length)).toEqual([BLOCK_BYTES, BLOCK_BYTES, BLOCK_BYTES, 100]);
    expect(Buffer.concat(blocks).equals(ROWS)).toBe(true);
  });

  it.each([
    ['that end early', (bytes: Buffer) => bytes.subarray(0, -1), 'incomplete'],
    ['with bytes after the end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')]), 'more bytes'],
    ['that are no frames', (bytes: Buffer) => Buffer.alloc(bytes.length), 'cannot be decompressed in block 0'],
  ])('%s are damaged', async (_, damage, message) => {
    const { bytes, frames } = await stored();
    await expect(read(cut(damage(bytes), 333), frames)).rejects.toThrow(message);
  });

  it('are damaged where a frame has less than its block', async () => {
    const [first, second] = [ROWS.subarray(0, BLOCK_BYTES), ROWS.subarray(0, BLOCK_BYTES - 1)].map((rows) =>
      zstdCompressSync(rows),
    ) as [Buffer, Buffer];
    const frames = framesOf(Uint32Array.of(first.length, second.length));
    await expect(read([first, second], frames)).rejects.toThrow('its rows have a wrong size in block 1');
  });

  it('are read from the start of any block', async () => {
    const { bytes, frames } = await stored();
    for (const block of [1, 2, 3]) {
      const from = block * BLOCK_BYTES;
      const pieces = cut(bytes.subarray(frames.starts[block]), 333);
      const rows = Buffer.concat(await read(pieces, frames, { from, rowBytes: ROWS.length }));
      expect(rows.equals(ROWS.subarray(from))).toBe(true);
    }
  });

  it('have no frame behind the last whole block', async () => {
    const { bytes, frames } = await stored(ROWS.subarray(0, 2 * BLOCK_BYTES));
    expect(frames.sizes).toHaveLength(2);
    expect([...frames.starts]).toEqual([0, frames.sizes[0], bytes.length]);
    expect((await stored(ROWS.subarray(0, 0))).frames).toEqual(framesOf(new Uint32Array(0)));
  });

  it('do not depend on the bytes of a piece when the next one arrives', async () => {
    const { bytes, frames } = await stored();
    const memory = Buffer.alloc(100);
    function* reused(): Iterable<Uint8Array> {
      for (const piece of cut(bytes, memory.length)) {
        memory.set(piece);
        yield memory.subarray(0, piece.length);
      }
    }
    const blocks: Uint8Array[] = [];
    const options = { from: 0, rowBytes: ROWS.length };
    for await (const block of decompressed(reused(), { frames, blockBytes: BLOCK_BYTES }, options)) blocks.push(block);
    expect(Buffer.concat(blocks).equals(ROWS)).toBe(true);
  });
});

describe('the stored bytes of blocks', () => {
  const checksums = { blockBytes: 10, sums: new Uint32Array(3) };
  const index = { stride: 1, checkpoints: new Float64Array(0) };
  const frames = framesOf(Uint32Array.of(4, 5, 6));

  it('are their frames', () => {
    expect([...frames.starts]).toEqual([0, 4, 9, 15]);
    const rangeOf = (from: number, to: number): object => storedRange({ ...index, checksums, frames }, { from, to });
    expect(rangeOf(0, 10)).toEqual({ from: 0, to: 4 });
    expect(rangeOf(10, 30)).toEqual({ from: 4, to: 15 });
    // The last block is shorter.
    expect(rangeOf(20, 23)).toEqual({ from: 9, to: 15 });
  });

  it('are those of the rows where they are not compressed', () => {
    const range = { from: 10, to: 20 };
    expect(storedRange(index, range)).toEqual(range);
    expect(storedRange({ ...index, checksums }, range)).toEqual(range);
  });
});
