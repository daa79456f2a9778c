import { crc32, zstdDecompressSync } from 'node:zlib';
import { type FileMetaData, parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { createColumns } from '../../../../src/results/export/columns/create-columns.ts';
import { pageHeader } from '../../../../src/results/export/parquet/metadata.ts';
import { parquetStream } from '../../../../src/results/export/parquet/parquet.ts';

const ZSTD_MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);
const LENGTH_AND_MAGIC_BYTES = 8;

interface Written {
  readonly bytes: Buffer;
  readonly metadata: FileMetaData;
}

async function written(types: readonly string[], pieces: Iterable<Uint8Array | string>): Promise<Written> {
  const rows = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  const parts: Uint8Array[] = [];
  const columns = { columnNames: types.map((_, i) => `c${i}`), columnDataTypes: types };
  for await (const part of parquetStream(createColumns(columns, 'text'), rows, 4 * 1024 * 1024)) parts.push(part);
  const bytes = Buffer.concat(parts);
  return { bytes, metadata: parquetMetadata(new Uint8Array(bytes).buffer) };
}

/** The chunks of all row groups, in order. */
function chunksOf({ metadata }: Written): { readonly offset: number; readonly bytes: number }[] {
  return metadata.row_groups.flatMap(({ columns }) =>
    columns.map(({ meta_data: data }) => ({
      offset: Number(data?.data_page_offset),
      bytes: Number(data?.total_compressed_size),
    })),
  );
}

/** Every byte between the first four ones and the metadata belongs to one chunk. */
function expectAdjacent(file: Written): void {
  const chunks = chunksOf(file);
  let at = 4;
  for (const { offset, bytes } of chunks) {
    expect(offset).toBe(at);
    expect(bytes).toBeGreaterThan(0);
    at += bytes;
  }
  const length = file.bytes.readUInt32LE(file.bytes.length - LENGTH_AND_MAGIC_BYTES);
  expect(at).toBe(file.bytes.length - LENGTH_AND_MAGIC_BYTES - length);
}

describe('the metadata of a Parquet file', () => {
  it('has the sizes and places of pages, with their headers', async () => {
    const file = await written(
      ['INT', 'STRING', 'LONG_ARRAY'],
      ['[1,"a",[1,2]],[null,"b",[]]', '[3,"c",[4]],[5,null,null]'],
    );
    expectAdjacent(file);
    const [group] = file.metadata.row_groups;
    expect([file.metadata.num_rows, group?.num_rows]).toEqual([4n, 4n]);
    expect(group?.columns.map(({ meta_data: data }) => data?.num_values)).toEqual([4n, 4n, 5n]);
    let uncompressed = 0;
    for (const { file_offset: offset, meta_data: data } of group?.columns ?? []) {
      const from = Number(data?.data_page_offset);
      expect(Number(offset)).toBe(from);
      const page = file.bytes.subarray(from, from + Number(data?.total_compressed_size));
      const headerBytes = page.indexOf(ZSTD_MAGIC);
      const compressed = page.subarray(headerBytes);
      const body = zstdDecompressSync(compressed);
      expect(Number(data?.total_uncompressed_size)).toBe(headerBytes + body.length);
      uncompressed += headerBytes + body.length;
      const header = pageHeader({
        numValues: Number(data?.num_values),
        uncompressedBytes: body.length,
        compressedBytes: compressed.length,
        crc: crc32(compressed),
      });
      expect(page.subarray(0, headerBytes)).toEqual(header);
    }
    expect(Number(group?.total_byte_size)).toBe(uncompressed);
  });

  it('has the pages of several batches in one chunk', async () => {
    const row = (value: number): string => `${`[${value}]`.padEnd(1023)},`;
    const file = await written(['INT'], [row(1).repeat(1500), row(2).repeat(1000)]);
    expectAdjacent(file);
    const [chunk] = file.metadata.row_groups.map(({ columns }) => columns[0]?.meta_data);
    expect(file.metadata.row_groups.length).toBe(1);
    expect(chunk?.num_values).toBe(2500n);
    // The values, and level and header of three pages.
    expect(Number(chunk?.total_uncompressed_size)).toBeGreaterThan(4 * 2500);
    expect(Number(chunk?.total_uncompressed_size)).toBeLessThan(4 * 2500 + 3 * 50);
  });

  it('has no row group without rows', async () => {
    const file = await written(['INT'], []);
    expect(file.metadata.row_groups).toEqual([]);
    expect(file.metadata.num_rows).toBe(0n);
    expectAdjacent(file);
  });
});
