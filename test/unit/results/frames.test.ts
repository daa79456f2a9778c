import { describe, expect, it } from 'vitest';
import { decompressed, FrameBuilder } from '../../../src/results/frames.ts';

const BLOCK_BYTES = 1024;
/** Three whole blocks and a part of one. */
const ROWS = Buffer.from(Array.from({ length: 3 * BLOCK_BYTES + 100 }, (_, i) => (i * i) % 251));

async function stored() {
  const builder = new FrameBuilder(BLOCK_BYTES);
  const bytes = Buffer.from(await builder.add(ROWS));
  return { bytes, frames: builder.build() };
}

async function read(pieces: readonly Uint8Array[], frames: Awaited<ReturnType<typeof stored>>['frames']) {
  const blocks: Uint8Array[] = [];
  const options = { from: 0, rowBytes: ROWS.length };
  for await (const block of decompressed(pieces, { frames, blockBytes: BLOCK_BYTES }, options)) blocks.push(block);
  return Buffer.concat(blocks);
}

const cut = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

describe('compressed rows', () => {
  it.each([1, 7, 100, 333, 1000, 5000])('are read from pieces of %i bytes', async (size) => {
    const { bytes, frames } = await stored();
    expect((await read(cut(bytes, size), frames)).equals(ROWS)).toBe(true);
  });

  it.each([
    ['that end early', (bytes: Buffer) => bytes.subarray(0, -1), 'incomplete'],
    ['with bytes after the end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')]), 'more bytes'],
    ['that are no frames', (bytes: Buffer) => Buffer.alloc(bytes.length), 'cannot be decompressed in block 0'],
  ])('%s are damaged', async (_, damage, message) => {
    const { bytes, frames } = await stored();
    await expect(read(cut(damage(bytes), 333), frames)).rejects.toThrow(message);
  });
});
