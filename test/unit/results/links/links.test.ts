// @module-tag slow
import { crc32, zstdDecompressSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { combinedCrc } from '../../../../src/results/links/combined-crc.ts';
import { type LinkedPart, linkRows, type ResultLinks } from '../../../../src/results/links/links.ts';
import type { PageRequest } from '../../../../src/results/rows/page.ts';
import type { ResultReader, ResultStore } from '../../../../src/results/result-store.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, responseOf, submission } from '../answers.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';

const signal = new AbortController().signal;
const MB = 1024 * 1024;
/** About 20 MB, with white space around the commas. */
const ROWS = Array.from({ length: 20_000 }, (_, i) => `[${i}, "${'x'.repeat(1000)}"]`);
const { requestId, expirationTimeMs } = submission();
const NOW = expirationTimeMs - 60_000;
const ALL = { offset: 0, numRows: ROWS.length };

let bucket: MemoryBucket;
let store: ResultStore;
let reader: ResultReader;

async function storeRows(rows: readonly string[], compression?: 'zstd'): Promise<void> {
  const clock = new FakeClock(new Date(NOW).toISOString());
  store = new ObjectResultStore(bucket, { gatewayId: 'gateway-0', clock, onProblem: () => undefined }, compression);
  const outcome = await storeResponse(
    responseOf(answerText(rows, { separator: ' ,\n ' })),
    store,
    submission(),
    signal,
  );
  if (outcome.kind !== 'stored') throw new Error('not stored');
  ({ reader } = outcome);
}

beforeEach(async () => {
  bucket = new MemoryBucket();
});

const linked = (request: PageRequest, lifetimeMs = 30_000): Promise<ResultLinks> =>
  linkRows(reader, request, { store, lifetimeMs, now: NOW }, signal);

/** Reads a part as the documentation says. */
function rowsOf({ headers, bytes, rowsStart, rowsEnd, crc32: sum }: LinkedPart, coding: string): unknown[] {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.Range) ?? [];
  const stored = bucket.objects.get(`${requestId}.rows`)?.bytes.subarray(Number(from), Number(to) + 1);
  expect(stored?.length).toBe(bytes);
  const blocks = coding === 'zstd' ? zstdDecompressSync(stored as Buffer) : (stored as Buffer);
  if (sum !== undefined) expect(crc32(blocks)).toBe(Number.parseInt(sum, 16));
  const rows = blocks.subarray(rowsStart, rowsEnd).toString();
  return JSON.parse(`[${rows.replace(/[, \t\r\n]+$/, '')}]`) as unknown[];
}

describe.each([undefined, 'zstd'] as const)('links to rows with compression %s', (compression) => {
  it('have parts that contain each row once, with its checksum', async () => {
    await storeRows(ROWS, compression);
    const values = ROWS.map((row) => JSON.parse(row) as unknown);
    for (const request of [ALL, { offset: 1234, numRows: 15_001 }, { offset: 19_999, numRows: 1 }]) {
      const { parts, coding, numRows } = await linked(request);
      expect(coding).toBe(compression ?? 'identity');
      expect(numRows).toBe(request.numRows);
      let next = request.offset;
      for (const part of parts) {
        expect(part.offset).toBe(next);
        expect(rowsOf(part, coding)).toEqual(values.slice(next, next + part.numRows));
        expect(part.rowsEnd).toBeLessThan(9 * MB);
        next += part.numRows;
      }
      expect(next).toBe(request.offset + request.numRows);
      if (request.numRows > 10_000) expect(parts.length).toBeGreaterThan(1);
    }
  });

  it('have no parts where the result has no rows', async () => {
    await storeRows([], compression);
    expect(await linked({ offset: 0, numRows: 1 })).toMatchObject({ numRows: 0, parts: [], numRowsResultSet: 0 });
  });
});

it('links have parts of at least 8 MiB, except for the last one', async () => {
  // 1 KiB each, with the separator.
  const rows = Array.from({ length: 20_000 }, (_, i) => `["${String(i).padEnd(1016, 'x')}"]`);
  await storeRows(rows);
  const { parts } = await linked(ALL);
  expect(parts.map(({ numRows }) => numRows)).toEqual([8192, 8192, 3616]);
});

describe('a link', () => {
  beforeEach(() => storeRows(ROWS.slice(0, 3)));

  it('names the rows, not the record, and expires after the setting', async () => {
    const { url, expirationTimeMs: end } = await linked(ALL, 30_500);
    expect(url).toBe(`mem://bucket/${requestId}.rows?signed`);
    expect(end).toBe(Math.floor(NOW / 1000) * 1000 + 30_000);
  });

  it('never outlives its result', async () => {
    expect((await linked(ALL, 3_600_000)).expirationTimeMs).toBeLessThanOrEqual(expirationTimeMs);
    const late = { store, lifetimeMs: 30_000, now: expirationTimeMs - 999 };
    await expect(linkRows(reader, ALL, late, signal)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is refused where links are off, or the store has none', async () => {
    const refused = (why: string) => ({ code: 'no-links', message: expect.stringContaining(why) as string });
    await expect(linked(ALL, 0)).rejects.toMatchObject(refused('`olap.broker.pagination.links.expiration` is 0'));
    const options = { store: new MemoryStore({ maxBytes: MB }), lifetimeMs: 1000, now: NOW };
    await expect(linkRows(reader, ALL, options, signal)).rejects.toMatchObject(refused('(`s3` or `gcs`)'));
  });

  it('is not made for rows after the end', async () => {
    await expect(linked({ offset: 3, numRows: 1 })).rejects.toMatchObject({ code: 'bad-page' });
  });
});

describe('the checksum of adjacent blocks', () => {
  it.each([1, 9, 10, 11, 100, 1000])('is that of their %i bytes', (size) => {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (i * 131) % 251));
    const blocks = Array.from({ length: Math.ceil(size / 10) }, (_, i) => bytes.subarray(i * 10, i * 10 + 10));
    const sums = Uint32Array.from(blocks.map((block) => crc32(block)));
    expect(combinedCrc(sums, 10, blocks.at(-1)?.length ?? 0)).toBe(crc32(bytes));
  });
});
