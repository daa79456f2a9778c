import { promisify } from 'node:util';
import { constants, crc32, zstdCompress } from 'node:zlib';
import { type ColumnBatch, columnBatches } from '../columns/batches.ts';
import type { Column } from '../columns/column.ts';
import type { DownloadColumns } from '../columns/create-columns.ts';
import { fileMetadata, type Leaf, leavesOf, pageHeader, rowGroup } from './metadata.ts';
import { ColumnStatistics } from './statistics.ts';
import type { ThriftValue } from './thrift.ts';
import { type PageBody, pageBodies } from './values.ts';

const compress = promisify(zstdCompress);
/** The fastest level: a download must not occupy the threads that also read files. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A row group is held in memory, because its columns follow one after the other. It ends at one of these sizes, or at that of `parquetStream`. */
const GROUP_BYTES = 128 * 1024 * 1024;
const MAGIC = Buffer.from('PAR1');
const LENGTH_BYTES = 4;

/**
 * Rows as a Parquet file: row groups of bounded size, whose columns have a page for each batch of rows, compressed with zstd. The metadata at the end of
 * the file shows that it is complete.
 * @param groupBytes of a row group, compressed: each is held in memory, and readers scan them in parallel
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-response for a value that is not of the type of its column
 */
export async function* parquetStream(
  { columns, names, metadata: keyValues }: DownloadColumns,
  rows: AsyncIterable<Uint8Array>,
  groupBytes: number,
): AsyncIterable<Uint8Array> {
  const named = columns.map((column, i) => [names[i] as string, column] as const);
  const groups: ThriftValue[] = [];
  let numRows = 0;
  let offset = MAGIC.length;
  let group = new RowGroup(named);
  for await (const batch of columnBatches(columns, rows)) {
    // Not before: a client learns from the status that a value of the first rows is not of its type.
    if (numRows === 0) yield MAGIC;
    await group.add(batch);
    numRows += batch.numRows;
    if (group.bytes < GROUP_BYTES && group.compressedBytes < groupBytes) continue;
    groups.push(group.metadata(offset));
    yield* group.pages();
    offset += group.compressedBytes;
    group = new RowGroup(named);
  }
  if (numRows === 0) yield MAGIC;
  if (group.numRows > 0) {
    groups.push(group.metadata(offset));
    yield* group.pages();
  }
  const metadata = fileMetadata({ columns: named, keyValues }, numRows, groups);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(metadata.length);
  yield Buffer.concat([metadata, length, MAGIC]);
}

/** Pages of a leaf. */
class Chunk {
  readonly leaf: Leaf;
  readonly pages: Uint8Array[] = [];
  readonly statistics = new ColumnStatistics();
  numValues = 0;
  uncompressedBytes = 0;
  compressedBytes = 0;

  constructor(leaf: Leaf) {
    this.leaf = leaf;
  }

  async add({ numValues, bytes }: PageBody): Promise<void> {
    const compressed = await compress(bytes, COMPRESSION);
    const sizes = { numValues, uncompressedBytes: bytes.length, compressedBytes: compressed.length };
    const header = pageHeader({ ...sizes, crc: crc32(compressed) });
    this.pages.push(header, compressed);
    this.numValues += numValues;
    this.uncompressedBytes += header.length + bytes.length;
    this.compressedBytes += header.length + compressed.length;
  }
}

class RowGroup {
  numRows = 0;
  readonly #columns: readonly (readonly [column: Column, chunks: readonly Chunk[]])[];

  constructor(columns: readonly (readonly [string, Column])[]) {
    this.#columns = columns.map(([name, column]) => [column, leavesOf(name, column).map((leaf) => new Chunk(leaf))]);
  }

  get compressedBytes(): number {
    return this.#chunks.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0);
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0);
  }

  /** One column after the other, so that a download needs one thread. */
  async add({ numRows }: ColumnBatch): Promise<void> {
    for (const [column, chunks] of this.#columns) {
      for (const [i, body] of pageBodies(column).entries()) await chunks[i]?.add(body);
      if (chunks[0]?.leaf.column === column) chunks[0].statistics.add(column);
    }
    this.numRows += numRows;
  }

  get #chunks(): readonly Chunk[] {
    return this.#columns.flatMap(([, chunks]) => chunks);
  }

  *pages(): Iterable<Uint8Array> {
    for (const { pages } of this.#chunks) yield* pages;
  }

  /** @param from offset of the group in the file */
  metadata(from: number): ThriftValue {
    let offset = from;
    const chunks = this.#chunks.map(({ leaf, numValues, uncompressedBytes, compressedBytes, statistics }) => {
      // Those of items and of lists are not counted.
      const known = leaf.path.length === 1 ? statistics.of(leaf.column) : undefined;
      const chunk = { leaf, offset, numValues, uncompressedBytes, compressedBytes, statistics: known };
      offset += compressedBytes;
      return chunk;
    });
    return rowGroup(chunks, this.numRows);
  }
}
