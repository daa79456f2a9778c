import { promisify } from 'node:util';
import { constants, crc32, zstdCompress } from 'node:zlib';
import { type ColumnBatch, columnBatches, type Columns } from '../columns/batches.ts';
import { type Column, createColumn } from '../columns/column.ts';
import { engineNames, uniqueNames } from '../columns/unique-names.ts';
import { fileMetadata, pageHeader, rowGroup } from './metadata.ts';
import type { ThriftValue } from './thrift.ts';
import { pageBody } from './values.ts';

const compress = promisify(zstdCompress);
/** The fastest level: a download must not occupy the threads that also read files. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A row group is held in memory, because its columns follow one after the other. It ends at one of these sizes. */
const GROUP_COMPRESSED_BYTES = 4 * 1024 * 1024;
const GROUP_BYTES = 64 * 1024 * 1024;
const MAGIC = Buffer.from('PAR1');
const LENGTH_BYTES = 4;

/**
 * Rows as a Parquet file: row groups of bounded size, whose columns have a page for each batch of rows, compressed with zstd. A type without an exact
 * equivalent is text, as the engine writes it. The metadata at the end of the file shows that it is complete.
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-response for a value that is not of the type of its column
 */
export async function* parquetStream(
  { columnNames, columnDataTypes }: Columns,
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const columns = columnDataTypes.map(createColumn);
  const names = uniqueNames(columnNames);
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
    if (!group.isFull) continue;
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
  const metadata = fileMetadata({ columns: named, keyValues: engineNames(columnNames) }, numRows, groups);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(metadata.length);
  yield Buffer.concat([metadata, length, MAGIC]);
}

/** Pages of a column. */
class Chunk {
  readonly pages: Uint8Array[] = [];
  numValues = 0;
  uncompressedBytes = 0;
  compressedBytes = 0;

  async add(column: Column): Promise<void> {
    const { numValues, bytes } = pageBody(column);
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
  readonly #columns: readonly (readonly [string, Column])[];
  readonly #chunks: readonly Chunk[];

  constructor(columns: readonly (readonly [string, Column])[]) {
    this.#columns = columns;
    this.#chunks = columns.map(() => new Chunk());
  }

  get compressedBytes(): number {
    return this.#chunks.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0);
  }

  get isFull(): boolean {
    const bytes = this.#chunks.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0);
    return bytes >= GROUP_BYTES || this.compressedBytes >= GROUP_COMPRESSED_BYTES;
  }

  /** One column after the other, so that a download needs one thread. */
  async add({ numRows, columns }: ColumnBatch): Promise<void> {
    for (const [i, column] of columns.entries()) await this.#chunks[i]?.add(column);
    this.numRows += numRows;
  }

  *pages(): Iterable<Uint8Array> {
    for (const { pages } of this.#chunks) yield* pages;
  }

  /** @param from offset of the group in the file */
  metadata(from: number): ThriftValue {
    let offset = from;
    const chunks = this.#columns.map(([name, column], i) => {
      const { numValues, uncompressedBytes, compressedBytes } = this.#chunks[i] as Chunk;
      const chunk = { column, name, offset, numValues, uncompressedBytes, compressedBytes };
      offset += compressedBytes;
      return chunk;
    });
    return rowGroup(chunks, this.numRows);
  }
}
