import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  BlockChecksumBuilder,
  blocksOf,
  CHECKSUM_BLOCK_BYTES,
  cut,
  type IndexedReader,
  readRows,
  type StoredRows,
  streamRows,
} from '../../../../src/results/rows/checksums.ts';
import { FrameBuilder } from '../../../../src/results/rows/frames.ts';

const signal = new AbortController().signal;
const BLOCK = 100;
/** Three whole blocks and a part of one, without repetition. */
const ROWS = Buffer.from(Array.from({ length: 3 * BLOCK + 25 }, (_, i) => (i * i + (i >> 3)) % 251));

const blocksIn = (bytes: Uint8Array): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / BLOCK) }, (_, i) =>
    Buffer.from(bytes.subarray(i * BLOCK, (i + 1) * BLOCK)),
  );

interface Indexed extends IndexedReader<StoredRows> {
  /** What was read or streamed of the store. */
  readonly calls: string[];
}

interface Source {
  /** What the store returns, with the sums of `rows`. */
  readonly bytes?: Uint8Array;
  readonly rows?: Uint8Array;
  readonly isCompressed?: boolean;
  /** Size of the pieces that the store returns. */
  readonly size?: number;
}

async function indexed({ rows = ROWS, bytes, isCompressed = false, size = 10_000 }: Source = {}): Promise<Indexed> {
  const builder = new FrameBuilder(BLOCK);
  const compressed = await builder.add(rows);
  const source = bytes ?? (isCompressed ? compressed : rows);
  const calls: string[] = [];
  const pieces = (from: number, to: number): Uint8Array[] => {
    const part = source.subarray(from, to);
    return Array.from({ length: Math.ceil(part.length / size) }, (_, i) => part.subarray(i * size, (i + 1) * size));
  };
  const reader: StoredRows = {
    record: { rowBytes: rows.length },
    read: async (from, to) => {
      calls.push(`read ${from}-${to}`);
      return pieces(from, to);
    },
    async *stream(from, to) {
      calls.push(`stream ${from}-${to}`);
      yield* pieces(from, to);
    },
  };
  const sums = Uint32Array.from(blocksIn(rows), (block) => crc32(block));
  const index = { stride: 1, checkpoints: new Float64Array(0), checksums: { blockBytes: BLOCK, sums } };
  return { reader, index: isCompressed ? { ...index, frames: builder.build() } : index, calls };
}

async function streamed(source: Indexed, from: number, to: number): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of streamRows(source, from, to, signal)) pieces.push(Buffer.from(piece));
  return pieces;
}

const RANGES = [0, 1, 99, 100, 101, 150, 200, 300, 310, 325].flatMap((from, at, all) =>
  all.slice(at + 1).map((to) => ({ from, to })),
);

describe.each([false, true])('verified rows, compressed: %s', (isCompressed) => {
  it.each([1, 7, 99, 100, 101, 250, 10_000])(
    'are exactly those of the range, from pieces of %i bytes',
    async (size) => {
      const source = await indexed({ isCompressed, size });
      for (const { from, to } of RANGES) {
        const wanted = ROWS.subarray(from, to);
        const read = await readRows(source, from, to, signal);
        expect(Buffer.concat(read).equals(wanted), `read ${from}-${to}`).toBe(true);
        const pieces = await streamed(source, from, to);
        expect(Buffer.concat(pieces).equals(wanted), `stream ${from}-${to}`).toBe(true);
        expect([...read, ...pieces].filter(({ length }) => length === 0)).toEqual([]);
      }
    },
  );

  it('are incomplete where the store returns fewer', async () => {
    const builder = new FrameBuilder(BLOCK);
    const whole = isCompressed ? await builder.add(ROWS) : ROWS;
    const second = isCompressed ? (builder.build().starts[1] as number) : BLOCK;
    // Inside of a block and between two of them.
    for (const length of [second - 1, second, second + 1, whole.length - 1, 0]) {
      const source = await indexed({ isCompressed, bytes: whole.subarray(0, length) });
      await expect(readRows(source, 0, ROWS.length, signal)).rejects.toThrow('its rows are incomplete');
      await expect(streamed(source, 0, ROWS.length)).rejects.toThrow('its rows are incomplete');
    }
  });

  it('of an empty range are not verified', async () => {
    const source = await indexed({ isCompressed, bytes: new Uint8Array(0) });
    expect(await readRows(source, 150, 150, signal)).toEqual([]);
    expect(await streamed(source, 150, 150)).toEqual([]);
    expect(source.calls).toEqual(['read 150-150', 'stream 150-150']);
  });
});

describe('verified rows', () => {
  it('are read with the blocks that contain them, and no others', async () => {
    const source = await indexed();
    await readRows(source, 100, 200, signal);
    await readRows(source, 99, 201, signal);
    await streamed(source, 150, 151);
    await streamed(source, 310, 320);
    expect(source.calls).toEqual(['read 100-200', 'read 0-300', 'stream 100-200', 'stream 300-325']);
  });

  it('do not match where a byte differs, and are sent only before that block', async () => {
    for (const at of [0, 99, 100, 250, 324]) {
      const bytes = Buffer.from(ROWS);
      bytes[at]! ^= 1;
      const source = await indexed({ bytes, size: 10 });
      const block = Math.floor(at / BLOCK);
      const message = `its rows do not match their checksum in block ${block}.`;
      await expect(readRows(source, 0, ROWS.length, signal)).rejects.toThrow(message);
      const sent: Uint8Array[] = [];
      const stream = async (): Promise<void> => {
        for await (const piece of streamRows(source, 0, ROWS.length, signal)) sent.push(piece);
      };
      await expect(stream()).rejects.toThrow(message);
      expect(Buffer.concat(sent).equals(ROWS.subarray(0, block * BLOCK))).toBe(true);
    }
  });

  it.each([ROWS.length, 3 * BLOCK])('are not more than the record says: %i bytes', async (length) => {
    const rows = ROWS.subarray(0, length);
    const source = await indexed({ rows });
    const reader: StoredRows = {
      ...source.reader,
      read: async () => [rows, Buffer.from('x')],
      async *stream() {
        yield Buffer.concat([rows, Buffer.from('x')]);
      },
    };
    const message = 'it has more bytes than its record says';
    await expect(readRows({ ...source, reader }, 0, length, signal)).rejects.toThrow(message);
    await expect(streamed({ ...source, reader }, 0, length)).rejects.toThrow(message);
  });

  it('without checksums are what the store returns', async () => {
    const { reader, index, calls } = await indexed();
    const source = { reader, index: { stride: index.stride, checkpoints: index.checkpoints }, calls };
    expect(Buffer.concat(await readRows(source, 3, 203, signal)).equals(ROWS.subarray(3, 203))).toBe(true);
    expect(Buffer.concat(await streamed(source, 3, 203)).equals(ROWS.subarray(3, 203))).toBe(true);
    expect(calls).toEqual(['read 3-203', 'stream 3-203']);
  });
});

describe('the checksums of rows', () => {
  const size = CHECKSUM_BLOCK_BYTES;
  const rows = Buffer.from(Array.from({ length: 2 * size + 300 }, (_, i) => (i * 31 + (i >> 7)) % 253));
  const sumsOf = (bytes: Buffer): number[] =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => crc32(bytes.subarray(i * size, (i + 1) * size)));

  it('have blocks of 64 KiB', () => {
    expect(CHECKSUM_BLOCK_BYTES).toBe(65_536);
    expect(new BlockChecksumBuilder().build().blockBytes).toBe(65_536);
  });

  it.each([0, 1, size - 1, size, size + 1, 2 * size, 2 * size + 300])(
    'are one for each block of %i bytes, in pieces of any size',
    (length) => {
      const bytes = rows.subarray(0, length);
      for (const step of [1000, size - 1, size, size + 1, 3 * size]) {
        const builder = new BlockChecksumBuilder();
        for (let at = 0; at < length; at += step) builder.add(bytes.subarray(at, at + step));
        expect([...builder.build().sums], `in pieces of ${step}`).toEqual(sumsOf(bytes));
      }
    },
  );
});

it('a range is extended to whole blocks, and not beyond the rows', () => {
  const checksums = { blockBytes: 10, sums: new Uint32Array(0) };
  expect(blocksOf(checksums, { from: 10, to: 20 }, 35)).toEqual({ from: 10, to: 20 });
  expect(blocksOf(checksums, { from: 19, to: 21 }, 35)).toEqual({ from: 10, to: 30 });
  expect(blocksOf(checksums, { from: 30, to: 31 }, 35)).toEqual({ from: 30, to: 35 });
});

it('views of pieces are those of the range, without empty ones', () => {
  const pieces = ['abc', '', 'de', 'f'].map((text) => Buffer.from(text));
  const texts = (from: number, to: number): string[] =>
    cut(pieces, from, to).map((part) => Buffer.from(part).toString());
  expect(texts(0, 6)).toEqual(['abc', 'de', 'f']);
  expect(texts(1, 4)).toEqual(['bc', 'd']);
  expect(texts(3, 5)).toEqual(['de']);
  expect(texts(4, 9)).toEqual(['e', 'f']);
  expect(texts(2, 2)).toEqual([]);
});
