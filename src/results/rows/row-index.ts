import { crc32 } from 'node:zlib';
import { damaged } from '../errors.ts';
import { framesOf, type StoredCoding } from './frames.ts';

/** Limit of checkpoints per result; keeps an index at or below 512 KB. */
export const MAX_CHECKPOINTS = 65_536;

const BYTES_PER_CHECKPOINT = 8;
const BYTES_PER_CHECKSUM = 4;
const BYTES_PER_FRAME_SIZE = 4;

/** Byte offsets of every `stride`-th row from the start of the rows. */
export interface RowIndex {
  /** A power of two. */
  readonly stride: number;
  /** Offset of row 0, `stride`, 2·`stride`, … */
  readonly checkpoints: Float64Array;
  /** Absent for results of releases without checksums, and where the store cannot lose bytes. */
  readonly checksums?: BlockChecksums;
  /** Present where the rows are compressed: a frame for each block of the checksums. */
  readonly frames?: RowFrames;
}

/** Frames of compressed rows in the order of the blocks. */
export interface RowFrames {
  /** Bytes of each frame. */
  readonly sizes: Uint32Array;
  /** Offset of each frame from the start of the stored rows, then the size of all. */
  readonly starts: Float64Array;
}

/** CRC-32 of each block of the rows; the last block may be shorter. */
export interface BlockChecksums {
  readonly blockBytes: number;
  readonly sums: Uint32Array;
}

/** Fields of a record about the checksums of its result. */
export interface RecordedChecksums {
  readonly blockBytes: number;
  readonly blocks: number;
  /** CRC-32 of the index and the checksums, as they follow the rows. */
  readonly index: number;
}

/** Fields of a record about the compression of its rows. */
export interface RecordedCompression {
  readonly coding: StoredCoding;
  /** Size of the compressed rows. */
  readonly bytes: number;
}

/** Fields of a record that describe its index. */
export interface RecordedIndex {
  readonly stride: number;
  readonly checkpoints: number;
  readonly checksums?: RecordedChecksums;
  /** Present where the rows are compressed; only with `checksums`. */
  readonly compression?: RecordedCompression;
}

/**
 * Collects row offsets in bounded memory: when full, every second checkpoint is dropped and the stride doubles. Finding a row
 * then requires scanning at most one stride, 1/65,536 of the result.
 */
export class RowIndexBuilder {
  readonly #max: number;
  #checkpoints: Float64Array;
  #length = 0;
  #stride = 1;

  constructor(max = MAX_CHECKPOINTS) {
    this.#max = max;
    this.#checkpoints = new Float64Array(Math.min(max, 256));
  }

  get stride(): number {
    return this.#stride;
  }

  /** Rows must be added in order; rows between checkpoints are ignored. */
  add(row: number, offset: number): void {
    if (row % this.#stride !== 0) return;
    if (this.#length === this.#max) {
      this.#thin();
      if (row % this.#stride !== 0) return;
    }
    if (this.#length === this.#checkpoints.length) this.#grow();
    this.#checkpoints[this.#length++] = offset;
  }

  build(): RowIndex {
    return { stride: this.#stride, checkpoints: this.#checkpoints.slice(0, this.#length) };
  }

  #thin(): void {
    const kept = Math.ceil(this.#length / 2);
    for (let i = 0; i < kept; i++) this.#checkpoints[i] = this.#checkpoints[2 * i] as number;
    this.#length = kept;
    this.#stride *= 2;
  }

  #grow(): void {
    const larger = new Float64Array(Math.min(this.#max, this.#checkpoints.length * 2));
    larger.set(this.#checkpoints);
    this.#checkpoints = larger;
  }
}

/** Size in bytes of the rows as they are stored. */
export function storedRowBytes(record: { readonly rowBytes: number } & Pick<RecordedIndex, 'compression'>): number {
  return record.compression?.bytes ?? record.rowBytes;
}

/** Size in bytes of what follows the rows: the index, the checksums, then the sizes of the frames. */
export function indexBytes({ checkpoints, checksums, compression }: RecordedIndex): number {
  const perBlock = BYTES_PER_CHECKSUM + (compression === undefined ? 0 : BYTES_PER_FRAME_SIZE);
  return checkpoints * BYTES_PER_CHECKPOINT + (checksums?.blocks ?? 0) * perBlock;
}

/** Little-endian doubles, exact up to 2^53, then little-endian integers: the native formats of all platforms that Node supports. */
export function encodeIndex({ checkpoints, checksums, frames }: RowIndex): Uint8Array {
  const parts = [checkpoints, checksums?.sums, frames?.sizes].filter((part) => part !== undefined);
  return Buffer.concat(parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength)));
}

/** The fields of a record for an index. */
export function recordedIndex(index: RowIndex): RecordedIndex {
  const { stride, checkpoints, checksums, frames } = index;
  if (checksums === undefined) return { stride, checkpoints: checkpoints.length };
  const { blockBytes, sums } = checksums;
  return {
    stride,
    checkpoints: checkpoints.length,
    checksums: { blockBytes, blocks: sums.length, index: crc32(encodeIndex(index)) },
    ...(frames !== undefined && { compression: { coding: 'zstd', bytes: frames.starts[sums.length] as number } }),
  };
}

/**
 * @param bytes from `encodeIndex`; copied because typed arrays must be aligned
 * @param recorded with the size of the rows
 * @throws {QueryError} damaged
 */
export function decodeIndex(bytes: Uint8Array, recorded: RecordedIndex & { readonly rowBytes: number }): RowIndex {
  const { stride, checkpoints: count, checksums, compression } = recorded;
  if (bytes.length !== indexBytes(recorded)) throw damaged('its index is incomplete');
  if (checksums !== undefined && crc32(bytes) !== checksums.index)
    throw damaged('its index does not match its checksum');
  const aligned = new Uint8Array(bytes.length);
  aligned.set(bytes);
  const checkpoints = new Float64Array(aligned.buffer, 0, count);
  if (!areOffsets(checkpoints, recorded.rowBytes)) throw damaged('its index does not match its record');
  if (checksums === undefined) return { stride, checkpoints };
  const sums = new Uint32Array(aligned.buffer, count * BYTES_PER_CHECKPOINT, checksums.blocks);
  const index = { stride, checkpoints, checksums: { blockBytes: checksums.blockBytes, sums } };
  if (compression === undefined) return index;
  const frames = framesOf(new Uint32Array(aligned.buffer, sums.byteOffset + sums.byteLength, checksums.blocks));
  if (frames.starts[checksums.blocks] !== compression.bytes) throw damaged('its index does not match its record');
  return { ...index, frames };
}

/** Whether each offset is within the rows and not before the one before it. */
function areOffsets(checkpoints: Float64Array, rowBytes: number): boolean {
  let last = 0;
  return checkpoints.every((offset) => {
    const isNext = Number.isInteger(offset) && offset >= last && offset <= rowBytes;
    last = offset;
    return isNext;
  });
}
