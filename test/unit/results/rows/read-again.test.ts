import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import type { ResultStore } from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { FileStore } from '../../../../src/results/stores/file/file-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../answers.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';

// Bits that change on the way from the store, while the stored bytes are whole.

const signal = new AbortController().signal;
const ROWS = rowTexts(8_000);
const onProblem = (message: string): void => {
  throw new Error(message);
};

/** A bucket that changes a byte of some of its responses. */
class FlippingBucket extends MemoryBucket {
  /** Reads of rows, index or record that are still to be damaged. */
  flips = 0;

  override async get(key: string): Promise<Uint8Array | undefined> {
    const found = await super.get(key);
    return found === undefined || this.flips-- <= 0 ? found : changed(found, 20);
  }

  override async range(key: string, from: number, to: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    const found = await super.range(key, from, to);
    if (found === undefined || this.flips-- <= 0) return found;
    return (async function* flipped() {
      // In the middle, after pieces that are whole.
      for await (const piece of found) {
        const half = Math.floor(piece.length / 2);
        yield piece.subarray(0, half);
        yield changed(piece.subarray(half), 0);
      }
    })();
  }
}

function changed(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at]! ^= 1;
  return copy;
}

function queriesOf(store: ResultStore): PaginatedQueries {
  return new PaginatedQueries({
    store,
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    identity: { id: 'gateway-0', host: '127.0.0.1', port: 1 },
    clock: systemClock,
    random: (bytes) => new Uint8Array(bytes),
  });
}

async function stored(store: ResultStore): Promise<string> {
  const requestId = newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, '7'));
  const wanted = submission({ requestId, expirationTimeMs: Number.MAX_SAFE_INTEGER });
  const outcome = await storeResponse(responseOf(answerText(ROWS)), store, wanted, signal);
  if (outcome.kind !== 'stored') throw new Error('not stored');
  await outcome.reader.close();
  return requestId;
}

async function page(queries: PaginatedQueries, requestId: string, offset: number, numRows: number): Promise<string> {
  const reader = await queries.open(requestId, signal);
  try {
    return await collect((await queries.page(reader, { offset, numRows }, signal)).rows);
  } finally {
    await reader.close();
  }
}

async function download(queries: PaginatedQueries, requestId: string): Promise<string> {
  const reader = await queries.open(requestId, signal);
  const rows = { offset: 0, numRows: ROWS.length };
  const found = await queries.export(reader, { format: 'jsonl', caller: 'ann' }, rows, signal);
  try {
    return await collect(found.body(0, found.length!, signal));
  } finally {
    found.release();
    await reader.close();
  }
}

const damages = async (queries: PaginatedQueries): Promise<unknown[]> =>
  (await queries.list(signal)).map(({ damaged }) => damaged);

describe('a result in a bucket of which one read has a changed bit', () => {
  let bucket: FlippingBucket;
  let queries: PaginatedQueries;
  let requestId: string;

  beforeEach(async () => {
    bucket = new FlippingBucket();
    const open = (): ResultStore =>
      new ObjectResultStore(bucket, { gatewayId: 'gateway-0', clock: systemClock, onProblem });
    requestId = await stored(open());
    // It has nothing in memory.
    queries = queriesOf(open());
  });

  it.each(['record', 'index', 'rows'])('is whole where it was the %s', async (what) => {
    if (what === 'rows') await page(queries, requestId, 0, 1);
    if (what === 'index') await (await queries.open(requestId, signal)).close();
    bucket.flips = 1;
    expect(await page(queries, requestId, 5_000, 10)).toBe(ROWS.slice(5_000, 5_010).join(','));
    expect([bucket.flips < 0, await damages(queries)]).toEqual([true, [undefined]]);
  });

  it('is downloaded whole, without a row that is missing or sent twice', async () => {
    await page(queries, requestId, 0, 1);
    // The reads of the first and of the last rows, whose ends are looked for, then those of all.
    for (const flips of [1, 2, 3]) {
      bucket.flips = flips;
      const text = await download(queries, requestId).catch(() => 'damaged');
      expect(text === 'damaged' || text === `${ROWS.join('\n')}\n`).toBe(true);
      if (flips === 1) expect(text).not.toBe('damaged');
    }
  });

  it('is damaged after two in a row, until these rows can be read again', async () => {
    await page(queries, requestId, 0, 1);
    bucket.flips = 2;
    await expect(page(queries, requestId, 5_000, 10)).rejects.toMatchObject({ code: 'damaged' });
    expect(await damages(queries)).toEqual([expect.stringContaining('do not match their checksum')]);
    // Other rows tell nothing about these.
    await page(queries, requestId, 0, 10);
    expect(await damages(queries)).toEqual([expect.stringContaining('do not match their checksum')]);
    await page(queries, requestId, 4_990, 100);
    expect(await damages(queries)).toEqual([undefined]);
  });
});

describe('a result in files that was damaged and restored', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-restored-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is whole again, although it was read while it was damaged', async () => {
    const dataDir = join(folder, 'data');
    let passed = 0;
    const clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + passed };
    const store = new FileStore({ dataDir, tempDir: join(folder, 'temp'), tag: 'gateway0', clock, onProblem });
    await store.start();
    const requestId = await stored(store);
    const queries = queriesOf(store);
    const path = join(dataDir, `${requestId}.rows`);
    const rows = await readFile(path);
    await writeFile(path, changed(rows, 5));
    passed += 200;
    await expect(page(queries, requestId, 0, 10)).rejects.toMatchObject({ code: 'damaged' });
    expect(await damages(queries)).toEqual([expect.stringContaining('in block 0')]);
    await writeFile(path, rows);
    passed += 200;
    expect(await page(queries, requestId, 0, 10)).toBe(ROWS.slice(0, 10).join(','));
    expect(await damages(queries)).toEqual([undefined]);
    await store.close();
  });
});
