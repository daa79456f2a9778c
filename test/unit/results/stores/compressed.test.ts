// @module-tag slow
import { beforeEach, describe, expect, it } from 'vitest';
import { LruCache } from '../../../../src/platform/lru.ts';
import type { CsvLayout } from '../../../../src/results/export/csv-layout.ts';
import { exportRows } from '../../../../src/results/export/export.ts';
import { readPage } from '../../../../src/results/rows/page.ts';
import type { ResultReader } from '../../../../src/results/result-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../answers.ts';
import { MemoryBucket } from './object/memory-bucket.ts';

const signal = new AbortController().signal;
const ROWS = rowTexts(20_000);
const { requestId } = submission();

let bucket: MemoryBucket;
beforeEach(() => {
  bucket = new MemoryBucket();
});

const storeOf = (compression?: 'zstd'): ObjectResultStore =>
  new ObjectResultStore(
    bucket,
    { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: () => undefined },
    compression,
  );

async function stored(compression?: 'zstd'): Promise<ResultReader> {
  const outcome = await storeResponse(responseOf(answerText(ROWS)), storeOf(compression), submission(), signal);
  if (outcome.kind !== 'stored') throw new Error('not stored');
  return outcome.reader;
}

/** Opens the result like another gateway, without the setting. */
async function opened(): Promise<ResultReader> {
  const reader = await storeOf().open(requestId, signal);
  if (reader === undefined) throw new Error('not found');
  return reader;
}

const pageOf = async (reader: ResultReader, offset: number, numRows: number): Promise<string> =>
  collect((await readPage(reader, { offset, numRows }, {}, signal)).rows);

/** Changes bytes of the stored rows. */
function change(edit: (bytes: Buffer) => Buffer): void {
  const key = `${requestId}.rows`;
  const found = bucket.objects.get(key);
  if (found === undefined) throw new Error('no rows');
  bucket.objects.set(key, { ...found, bytes: edit(Buffer.from(found.bytes)) });
}

describe('a compressed result', () => {
  it('has fewer bytes, and the same pages and downloads, forwards and backwards', async () => {
    const plain = (await stored()).record;
    const plainBytes = bucket.objects.get(`${requestId}.rows`)?.bytes.length ?? 0;
    const { record } = await stored('zstd');
    expect(record.rowBytes).toBe(plain.rowBytes);
    expect(bucket.objects.get(`${requestId}.rows`)?.bytes.length).toBeLessThan(plainBytes / 3);
    const reader = await opened();
    for (const offset of [0, 7, 4001, 19_990, 12_345, 3]) {
      expect(await pageOf(reader, offset, 1000)).toBe(ROWS.slice(offset, offset + 1000).join(','));
    }
    const layouts = new LruCache<string, CsvLayout>({ maxWeight: 1 });
    const lines = await exportRows(reader, { format: 'jsonl', layouts }, { offset: 0, numRows: 20_000 }, signal);
    const text = `${ROWS.join('\n')}\n`;
    expect(lines.length).toBe(Buffer.byteLength(text));
    expect(await collect(lines.body(0, lines.length ?? 0, signal))).toBe(text);
    // A resumed download: any part of the bytes.
    const part = Buffer.from(text).subarray(100_001, 300_001).toString();
    expect(await collect(lines.body(100_001, 300_001, signal))).toBe(part);
  });

  it('reads only the frames of a page', async () => {
    const { record } = await stored('zstd');
    const reader = await opened();
    await reader.index(signal);
    const ranges: number[] = [];
    const range = bucket.range.bind(bucket);
    bucket.range = (key, from, to) => {
      ranges.push(to - from);
      return range(key, from, to);
    };
    await pageOf(reader, 10_000, 10);
    expect(ranges).toHaveLength(1);
    expect(ranges[0]).toBeLessThan((record.compression?.bytes ?? 0) / 5);
  });

  it('is not sent where a frame is damaged or exchanged, wherever the damage is', async () => {
    const { record } = await stored('zstd');
    const size = record.compression?.bytes ?? 0;
    const good = bucket.objects.get(`${requestId}.rows`)?.bytes ?? Buffer.alloc(0);
    for (let at = 0; at < size; at += Math.floor(size / 23)) {
      change(() => {
        const bytes = Buffer.from(good);
        bytes[at] = (bytes[at] as number) ^ 0x41;
        return bytes;
      });
      // A byte that the decoder ignores changes nothing: the rows are right, or there are none.
      const read = await pageOf(await opened(), 0, 20_000).catch((error: unknown) => error);
      if (read !== ROWS.join(',')) expect(read).toMatchObject({ code: 'damaged' });
    }
  });

  it('is damaged where its index or its frames do not match the record', async () => {
    await stored('zstd');
    change((bytes) => {
      bytes[bytes.length - 2] = 0xff;
      return bytes;
    });
    await expect(pageOf(await opened(), 0, 1)).rejects.toMatchObject({ code: 'damaged' });
    change((bytes) => bytes.subarray(1));
    await expect(pageOf(await opened(), 0, 1)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('takes no more memory than its block where a frame is replaced by a larger one', async () => {
    const { record } = await stored('zstd');
    const { zstdCompressSync } = await import('node:zlib');
    const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
    change((bytes) => Buffer.concat([bomb, bytes.subarray(bomb.length)]));
    expect(record.compression?.bytes).toBeGreaterThan(bomb.length);
    await expect(pageOf(await opened(), 0, 1)).rejects.toMatchObject({
      message: expect.stringContaining('cannot be decompressed in block 0') as string,
    });
  });

  it('does not change a response with exceptions, which is not stored', async () => {
    const text = answerText(ROWS, { exceptions: '[{"errorCode":427,"message":"a server did not respond"}]' });
    const outcome = await storeResponse(responseOf(text), storeOf('zstd'), submission(), signal);
    if (outcome.kind !== 'unstored') throw new Error('stored');
    expect(await collect(outcome.body)).toBe(text);
    expect(bucket.objects.size).toBe(0);
  });
});
