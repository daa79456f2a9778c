import { crc32 } from 'node:zlib';
import { damaged, isDamaged } from '../errors.ts';
import { decompressed, storedRange } from './frames.ts';
import { readAgain } from './read-again.ts';
import type { ResultReader, ResultRecord } from '../result-store.ts';
import type { BlockChecksums, RowIndex } from './row-index.ts';

/** Rows are verified in blocks of this size: small enough for a small page, large enough for fast checksums. */
export const CHECKSUM_BLOCK_BYTES = 64 * 1024;

/** Computes the CRC-32 of each block of the rows while they are stored. */
export class BlockChecksumBuilder {
  readonly #sums: number[] = [];
  #sum = 0;
  #filled = 0;

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const take = Math.min(bytes.length - from, CHECKSUM_BLOCK_BYTES - this.#filled);
      this.#sum = crc32(bytes.subarray(from, from + take), this.#sum);
      this.#filled += take;
      from += take;
      if (this.#filled === CHECKSUM_BLOCK_BYTES) this.#next();
    }
  }

  build(): BlockChecksums {
    if (this.#filled > 0) this.#next();
    return { blockBytes: CHECKSUM_BLOCK_BYTES, sums: Uint32Array.from(this.#sums) };
  }

  #next(): void {
    this.#sums.push(this.#sum);
    this.#sum = 0;
    this.#filled = 0;
  }
}

/** Reads the bytes of rows as they are stored. */
export interface StoredRows extends Pick<ResultReader, 'read' | 'stream' | 'forget'> {
  readonly record: Pick<ResultRecord, 'rowBytes'>;
}

/** What is read with `streamRows`: rows, or another file that has checksums of its blocks. */
export interface StreamedRows {
  readonly reader: Omit<StoredRows, 'read'>;
  readonly index: Pick<RowIndex, 'checksums' | 'frames'>;
}

/** A result that is being read, with its index. */
export interface IndexedReader<Reader extends StoredRows = ResultReader> {
  readonly reader: Reader;
  readonly index: RowIndex;
}

/**
 * Bytes `from` to `to` (exclusive) of the rows. The blocks that contain them are read completely and verified.
 * @throws {QueryError} damaged, not-found, store-unavailable
 */
export async function readRows(
  indexed: IndexedReader<StoredRows>,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const { reader, index } = indexed;
  const { checksums } = index;
  if (checksums === undefined || from === to) return reader.read(from, to, signal);
  return readAgain(reader, async () => {
    const blocks = blocksOf(checksums, { from, to }, reader.record.rowBytes);
    const pieces = await readBlocks(indexed, blocks, signal);
    const verifier = new BlockVerifier(checksums, blocks.from, reader.record.rowBytes);
    for (const piece of pieces) verifier.add(piece);
    if (verifier.position !== blocks.to) throw damaged('its rows are incomplete');
    return cut(pieces, from - blocks.from, to - blocks.from);
  });
}

/** Like `readRows`, in pieces of bounded size; a piece is returned after its block was verified. A block that is damaged is read once more. */
export async function* streamRows(
  indexed: StreamedRows,
  from: number,
  to: number,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  let at = from;
  for (let failedAt = -1; ;) {
    try {
      for await (const piece of streamOnce(indexed, at, to, signal)) {
        at += piece.length;
        yield piece;
      }
      return;
    } catch (error) {
      if (!isDamaged(error) || failedAt === at) throw error;
      failedAt = at;
      indexed.reader.forget?.();
    }
  }
}

async function* streamOnce(
  indexed: StreamedRows,
  from: number,
  to: number,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const { reader, index } = indexed;
  const { checksums } = index;
  if (checksums === undefined || from === to) {
    yield* reader.stream(from, to, signal);
    return;
  }
  const blocks = blocksOf(checksums, { from, to }, reader.record.rowBytes);
  const verifier = new BlockVerifier(checksums, blocks.from, reader.record.rowBytes);
  /** Pieces whose last block is incomplete, and the position of the first one. */
  let held: Uint8Array[] = [];
  let heldAt = blocks.from;
  for await (const piece of streamBlocks(indexed, blocks, signal)) {
    held.push(piece);
    verifier.add(piece);
    if (verifier.verified === heldAt) continue;
    const split = verifier.verified - heldAt;
    yield* cut(held, Math.max(0, from - heldAt), Math.min(split, to - heldAt));
    held = cut(held, split, verifier.position - heldAt);
    heldAt = verifier.verified;
  }
  if (verifier.verified !== blocks.to) throw damaged('its rows are incomplete');
}

/** A range of the rows from the start of a block to the end of one. */
interface RowBlocks {
  readonly from: number;
  readonly to: number;
}

/** Complete blocks of rows, decompressed. */
async function readBlocks(
  { reader, index }: IndexedReader<StoredRows>,
  blocks: RowBlocks,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const { checksums, frames } = index;
  const stored = storedRange(index, blocks);
  const pieces = await reader.read(stored.from, stored.to, signal);
  if (checksums === undefined || frames === undefined) return pieces;
  // One piece, as from a file, so that the place of the next row can be remembered.
  const rows = Buffer.allocUnsafeSlow(blocks.to - blocks.from);
  const { rowBytes } = reader.record;
  let length = 0;
  for await (const piece of decompressed(
    pieces,
    { frames, blockBytes: checksums.blockBytes },
    { from: blocks.from, rowBytes },
  )) {
    rows.set(piece, length);
    length += piece.length;
  }
  return [rows.subarray(0, length)];
}

/** Like `readBlocks`, in pieces of bounded size. */
function streamBlocks(
  { reader, index }: StreamedRows,
  blocks: RowBlocks,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const { checksums, frames } = index;
  const stored = storedRange(index, blocks);
  const pieces = reader.stream(stored.from, stored.to, signal);
  if (checksums === undefined || frames === undefined) return pieces;
  const { rowBytes } = reader.record;
  return decompressed(pieces, { frames, blockBytes: checksums.blockBytes }, { from: blocks.from, rowBytes });
}

/** The range extended to whole blocks. */
export function blocksOf(
  { blockBytes }: BlockChecksums,
  range: { readonly from: number; readonly to: number },
  rowBytes: number,
): RowBlocks {
  return {
    from: Math.floor(range.from / blockBytes) * blockBytes,
    to: Math.min(rowBytes, Math.ceil(range.to / blockBytes) * blockBytes),
  };
}

/** Compares blocks with their checksums as their bytes arrive. */
class BlockVerifier {
  /** Offset after the last byte. */
  position: number;
  /** Offset after the last verified block. */
  verified: number;
  readonly #checksums: BlockChecksums;
  readonly #rowBytes: number;
  #sum = 0;

  /** @param position start of a block */
  constructor(checksums: BlockChecksums, position: number, rowBytes: number) {
    this.#checksums = checksums;
    this.#rowBytes = rowBytes;
    this.position = position;
    this.verified = position;
  }

  /** @throws {QueryError} damaged */
  add(bytes: Uint8Array): void {
    const { blockBytes, sums } = this.#checksums;
    for (let from = 0; from < bytes.length;) {
      const block = Math.floor(this.position / blockBytes);
      const end = Math.min((block + 1) * blockBytes, this.#rowBytes);
      const take = Math.min(bytes.length - from, end - this.position);
      if (take === 0) throw damaged('it has more bytes than its record says');
      this.#sum = crc32(bytes.subarray(from, from + take), this.#sum);
      this.position += take;
      from += take;
      if (this.position < end) continue;
      if (this.#sum !== sums[block]) throw damaged(`its rows do not match their checksum in block ${block}`);
      this.#sum = 0;
      this.verified = end;
    }
  }
}

/** Views of the bytes `from` to `to` of the pieces. */
export function cut(pieces: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let base = 0;
  for (const piece of pieces) {
    const start = Math.max(from - base, 0);
    const end = Math.min(to - base, piece.length);
    if (start < end) parts.push(piece.subarray(start, end));
    base += piece.length;
  }
  return parts;
}
