import { promisify } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { createColumns } from '../../../../src/results/export/columns/create-columns.ts';
import { parquetStream } from '../../../../src/results/export/parquet/parquet.ts';
import { COLUMN_TYPES, columnValues, type ColumnType, fitting, rowsOf } from './columns.ts';

const nextTurn = promisify(setImmediate);

async function file(types: readonly string[], pieces: AsyncIterable<string> | readonly string[]): Promise<ArrayBuffer> {
  async function* lines(): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) yield Buffer.from(piece);
  }
  const parts: Uint8Array[] = [];
  const columns = { columnNames: types.map((_, i) => `c${i}`), columnDataTypes: types };
  for await (const part of parquetStream(createColumns(columns, 'text'), lines(), 4 * 1024 * 1024)) parts.push(part);
  return new Uint8Array(Buffer.concat(parts)).buffer;
}

/** Rows as another implementation of Parquet reads them. */
async function read(bytes: ArrayBuffer): Promise<Record<string, unknown>[]> {
  const zstd = (input: Uint8Array): Uint8Array => zstdDecompressSync(input);
  return parquetReadObjects({ file: bytes, compressors: { ZSTD: zstd }, utf8: false });
}

/** Bytes and missing values as `columnValues` has them. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Uint8Array ? [...value] : (value ?? null);
}

describe('a Parquet file', () => {
  it('has exactly the values of the rows, for each type', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .array(fc.constantFrom(...COLUMN_TYPES), { minLength: 1, maxLength: 4 })
          .chain((types) => fc.tuple(fc.constant(types), rowsOf(types))),
        async ([types, rows]) => {
          const found = await read(await file(types, [rows.map((row) => `[${row.join(',')}]`).join(',')]));
          const expected = rows.map((row) =>
            Object.fromEntries(types.map((type, i) => [`c${i}`, columnValues(type, row[i] as string)])),
          );
          expect(found.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, plain(v)])))).toEqual(
            expected,
          );
        },
      ),
    );
  });

  it.each(fitting())('has %s %s', async (type: ColumnType, raw) => {
    const [row] = await read(await file([type], [`[${raw}]`]));
    expect(plain(row?.['c0'])).toEqual(columnValues(type, raw));
  });

  it('has its columns without rows', async () => {
    const bytes = await file(['LONG', 'STRING_ARRAY'], []);
    expect(await read(bytes)).toEqual([]);
    expect(parquetMetadata(bytes).schema.map(({ name }) => name)).toEqual(['schema', 'c0', 'c1', 'list', 'element']);
  });

  it('has row groups of bounded size, each written before all rows are read', { tags: 'slow' }, async () => {
    const rowsOfPiece = 1000;
    const pieces = 60;
    /** Pieces that were read when a byte of the file arrived first. */
    let readPieces = 0;
    async function* lines(): AsyncIterable<Uint8Array> {
      for (; readPieces < pieces; readPieces++) {
        // Texts that cannot be compressed much.
        const rows = Array.from({ length: rowsOfPiece }, (_, i) => {
          const row = readPieces * rowsOfPiece + i;
          const texts = Array.from({ length: 16 }, (__, part) => Math.imul(row * 16 + part + 1, 0x9e37_79b1) * 1.1);
          return `[${row},"${texts.join(' ')}"]`;
        });
        yield Buffer.from(rows.join(','));
        await nextTurn();
      }
    }
    const parts: Uint8Array[] = [];
    const whenRead: number[] = [];
    const columns = { columnNames: ['c0', 'c1'], columnDataTypes: ['INT', 'STRING'] };
    for await (const part of parquetStream(createColumns(columns, 'text'), lines(), 4 * 1024 * 1024)) {
      parts.push(part);
      whenRead.push(readPieces);
    }
    const bytes = new Uint8Array(Buffer.concat(parts)).buffer;
    const { row_groups: groups } = parquetMetadata(bytes);
    expect(groups.length).toBeGreaterThan(1);
    for (const { columns: chunks } of groups) {
      const size = chunks.reduce((sum, { meta_data: data }) => sum + Number(data?.total_compressed_size), 0);
      expect(size).toBeLessThan(6 * 1024 * 1024);
    }
    expect(whenRead.filter((count) => count < pieces).length).toBeGreaterThan(2);
    const ids = (await read(bytes)).map(({ c0 }) => c0);
    expect(ids).toEqual(Array.from({ length: pieces * rowsOfPiece }, (_, i) => i));
  });

  it('has one row group for rows that can be compressed well', async () => {
    const text = 'x'.repeat(1000);
    const piece = Array.from({ length: 500 }, () => `["${text}"]`).join(',');
    const bytes = await file(
      ['STRING'],
      Array.from({ length: 20 }, () => piece),
    );
    expect(parquetMetadata(bytes).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([10_000]);
  });

  it('is an error for a value that is not of the type of its column', async () => {
    await expect(file(['INT'], ['[1],["a"]'])).rejects.toThrow(
      'row 1 of the result has a value in column 0 that is not of its type',
    );
  });
});
