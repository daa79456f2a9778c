import { createHash } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip, createZstdDecompress, zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { RecordBatchReader, Vector } from 'apache-arrow';
import { parquetMetadata, parquetRead } from 'hyparquet';
import { TEST_HEADERS } from './app.ts';

/** Values of some rows by the name of the column. */
export type ReadColumns = Readonly<Record<string, ArrayLike<unknown>>>;

export const CODINGS = ['identity', 'gzip', 'zstd'] as const;
export type Coding = (typeof CODINGS)[number];

/** The bytes of a response without its content coding. @param sent the expected coding of the response */
export async function download(url: string, coding: Coding, sent: Coding = coding): Promise<Readable> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers: { ...TEST_HEADERS, 'accept-encoding': coding } }, resolve).on('error', reject);
  });
  expect([response.statusCode, response.headers['content-encoding'] ?? 'identity']).toEqual([200, sent]);
  if (sent === 'identity') return response;
  const decoder = sent === 'gzip' ? createGunzip() : createZstdDecompress();
  response.on('error', (error) => decoder.destroy(error));
  return response.pipe(decoder);
}

/** SHA-256. */
export async function hashOf(body: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of body) hash.update(bytes as Buffer);
  return hash.digest('hex');
}

/** The record batches of an Arrow stream. */
export async function* arrowBatches(body: Readable): AsyncIterable<ReadColumns> {
  for await (const batch of await RecordBatchReader.from(body)) {
    const names = batch.schema.fields.map(({ name }) => name);
    yield Object.fromEntries(names.map((name) => [name, valuesOf(batch.getChild(name))]));
  }
}

function valuesOf(vector: Vector | null): ArrayLike<unknown> {
  const [data] = vector?.data ?? [];
  const [items] = data?.children ?? [];
  if (data === undefined || items === undefined) return vector?.toArray() as ArrayLike<unknown>;
  const texts = [...new Vector([items])];
  const at = (i: number): number => data.valueOffsets[i] as number;
  return Array.from({ length: data.length }, (_, i) => texts.slice(at(i), at(i + 1)));
}

/** The row groups of a Parquet file. */
export async function* parquetGroups(body: Readable): AsyncIterable<ReadColumns> {
  const bytes = await buffer(body);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const metadata = parquetMetadata(file);
  const compressors = { ZSTD: (part: Uint8Array): Uint8Array => zstdDecompressSync(part) };
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const columns: Record<string, unknown[]> = {};
    await parquetRead({
      ...{ file, metadata, compressors, rowStart, rowEnd },
      onChunk: ({ columnName, columnData }) => {
        const values = (columns[columnName] ??= []);
        for (const value of columnData) values.push(value);
      },
    });
    yield columns;
    rowStart = rowEnd;
  }
}
