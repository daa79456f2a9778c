import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { longWork } from '../../platform/long-work.ts';
import { damaged } from '../errors.ts';
import type { RowFrames, RowIndex } from './row-index.ts';

/** The content coding of stored rows. */
export type StoredCoding = 'zstd';

/** The fastest level: higher ones make blocks of this size hardly smaller, and compressing takes the time of the event loop. */
const LEVEL = 1;
/** Blocks that are compressed or decompressed, about 0.1 ms each, before other requests are served. */
const BLOCKS_PER_SLICE = 8;
/** Output beyond the expected size, so that zlib ends a frame with its first buffer. */
const SPARE_BYTES = 64;

/** Compresses the rows while they are stored: one zstd frame per checksum block, so that a page remains a range of the object. */
export class FrameBuilder {
  readonly #blockBytes: number;
  readonly #sizes: number[] = [];
  readonly #turn = longWork.streamTurns();

  constructor(blockBytes: number) {
    this.#blockBytes = blockBytes;
  }

  /** @param bytes complete blocks; only the last one of the result may be shorter. @returns their frames */
  async add(bytes: Uint8Array): Promise<Uint8Array> {
    const frames: Uint8Array[] = [];
    for (let from = 0; from < bytes.length; from += this.#blockBytes) {
      const block = bytes.subarray(from, Math.min(bytes.length, from + this.#blockBytes));
      const frame = zstdCompressSync(block, {
        params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
        pledgedSrcSize: block.length,
      });
      frames.push(frame);
      this.#sizes.push(frame.length);
      if (this.#sizes.length % BLOCKS_PER_SLICE === 0) await this.#turn();
    }
    return Buffer.concat(frames);
  }

  build(): RowFrames {
    return framesOf(Uint32Array.from(this.#sizes));
  }
}

/** @param sizes of the frames in bytes */
export function framesOf(sizes: Uint32Array): RowFrames {
  const starts = new Float64Array(sizes.length + 1);
  for (let block = 0; block < sizes.length; block++)
    starts[block + 1] = (starts[block] as number) + (sizes[block] as number);
  return { sizes, starts };
}

/** Where complete blocks of rows are stored. @param range of the rows, from the start of a block to the end of one */
export function storedRange(
  { checksums, frames }: Pick<RowIndex, 'checksums' | 'frames'>,
  range: { readonly from: number; readonly to: number },
): { readonly from: number; readonly to: number } {
  if (checksums === undefined || frames === undefined) return range;
  const { blockBytes } = checksums;
  const start = (block: number): number => frames.starts[block] ?? 0;
  return { from: start(Math.floor(range.from / blockBytes)), to: start(Math.ceil(range.to / blockBytes)) };
}

/**
 * The rows of complete frames, one piece per block.
 * @param pieces stored bytes that begin with the frame of the block at `from`
 * @param from start of a block of the rows
 * @throws {QueryError} damaged
 */
export async function* decompressed(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { frames, blockBytes }: { readonly frames: RowFrames; readonly blockBytes: number },
  { from, rowBytes }: { readonly from: number; readonly rowBytes: number },
): AsyncIterable<Uint8Array> {
  const turn = longWork.streamTurns();
  let block = from / blockBytes;
  /** The beginning of a frame whose end has not arrived. */
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const size = frames.sizes[block];
      if (size === undefined) throw damaged('it has more bytes than its record says');
      const take = Math.min(size - heldBytes, piece.length - at);
      const part = piece.subarray(at, at + take);
      at += take;
      if (heldBytes + take < size) {
        // A copy, because the store may reuse the bytes when the next piece is read.
        held.push(Buffer.from(part));
        heldBytes += take;
        continue;
      }
      const frame = held.length === 0 ? part : Buffer.concat([...held, part]);
      yield rowsOf(frame, block, Math.min(blockBytes, rowBytes - block * blockBytes));
      held = [];
      heldBytes = 0;
      block++;
      if (block % BLOCKS_PER_SLICE === 0) await turn();
    }
  }
  if (heldBytes > 0) throw damaged('its rows are incomplete');
}

/** @param length of the rows in bytes, which also limits the memory that a frame can take */
function rowsOf(frame: Uint8Array, block: number, length: number): Uint8Array {
  let rows: Uint8Array;
  try {
    rows = zstdDecompressSync(frame, { chunkSize: length + SPARE_BYTES, maxOutputLength: length });
  } catch {
    throw damaged(`its rows cannot be decompressed in block ${block}`);
  }
  if (rows.length !== length) throw damaged(`its rows have a wrong size in block ${block}`);
  return rows;
}
