import { crc32 } from 'node:zlib';
import { BlockChecksumBuilder, CHECKSUM_BLOCK_BYTES, streamRows } from '../rows/checksums.ts';
import type { DownloadReader, DownloadWriter } from '../stored-downloads.ts';

const MAGIC = Buffer.from('OWFILE01');
const SUM_BYTES = 4;
/** Checksum of the rules, checksum of the checksums, number of bytes, MAGIC, checksum of all these. */
const SEAL_BYTES = 4 + 4 + 8 + MAGIC.length + SUM_BYTES;
/** Read at once from the end of a file: the seal, and the checksums of files of up to 1 GB. */
const TAIL_BYTES = 64 * 1024;

/** A complete file of a download whose bytes are verified when they are read. */
export interface SealedFile {
  readonly length: number;
  /** Tells the bytes from those of another file of the same rows: 8 hexadecimal digits. */
  readonly version: string;
  /** Bytes `from` to `to` (exclusive). @throws {QueryError} damaged, not-found, store-unavailable */
  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Writes a file, the checksums of its blocks, and the seal that shows that it is complete. @param rules by which it was made */
export async function writeSealed(
  writer: Pick<DownloadWriter, 'write'>,
  rules: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  const builder = new BlockChecksumBuilder();
  let length = 0;
  for await (const piece of pieces) {
    builder.add(piece);
    length += piece.length;
    await writer.write(piece);
  }
  const { sums } = builder.build();
  const table = Buffer.alloc(sums.length * SUM_BYTES);
  for (const [i, sum] of sums.entries()) table.writeUInt32LE(sum, i * SUM_BYTES);
  await writer.write(Buffer.concat([table, sealOf(rules, table, length)]));
}

function sealOf(rules: string, table: Uint8Array, length: number): Buffer {
  const seal = Buffer.alloc(SEAL_BYTES);
  seal.writeUInt32LE(crc32(rules), 0);
  seal.writeUInt32LE(crc32(table), 4);
  seal.writeDoubleLE(length, 8);
  MAGIC.copy(seal, 16);
  seal.writeUInt32LE(crc32(seal.subarray(0, SEAL_BYTES - SUM_BYTES)), SEAL_BYTES - SUM_BYTES);
  return seal;
}

/** @returns undefined for a file that is not complete, is damaged, or was made by other rules */
export async function openSealed(
  file: DownloadReader,
  rules: string,
  signal: AbortSignal,
): Promise<SealedFile | undefined> {
  const { bytes } = file;
  const tail = await read(file, Math.max(0, bytes - TAIL_BYTES), bytes, signal);
  const seal = tail.subarray(-SEAL_BYTES);
  if (seal.length < SEAL_BYTES) return undefined;
  const length = seal.readDoubleLE(8);
  const blocks = Math.ceil(length / CHECKSUM_BLOCK_BYTES);
  const tableBytes = blocks * SUM_BYTES;
  if (bytes !== length + tableBytes + SEAL_BYTES) return undefined;
  const isInTail = tableBytes + SEAL_BYTES <= tail.length;
  const table = isInTail
    ? tail.subarray(tail.length - SEAL_BYTES - tableBytes, tail.length - SEAL_BYTES)
    : await read(file, length, length + tableBytes, signal);
  if (!sealOf(rules, table, length).equals(seal)) return undefined;
  const sums = Uint32Array.from({ length: blocks }, (_, i) => table.readUInt32LE(i * SUM_BYTES));
  const index = { checksums: { blockBytes: CHECKSUM_BLOCK_BYTES, sums } };
  const reader = { record: { rowBytes: length }, stream: file.stream.bind(file) };
  return {
    length,
    version: crc32(table).toString(16).padStart(8, '0'),
    stream: (from, to, abort) => streamRows({ reader, index }, from, to, abort),
    close: () => file.close(),
  };
}

async function read(file: DownloadReader, from: number, to: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.stream(from, to, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}
