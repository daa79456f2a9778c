import { mkdir, mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { readPage } from '../../../../../src/results/rows/page.ts';
import { holderTag, newRequestId } from '../../../../../src/results/request-id.ts';
import type { StoredResultSummary } from '../../../../../src/results/result-store.ts';
import { FileStore } from '../../../../../src/results/stores/file/file-store.ts';
import { storeResponse } from '../../../../../src/results/submit/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../../answers.ts';

const OWN = 'gateway-0';
const DAY_MS = 24 * 3_600_000;
const signal = new AbortController().signal;

let folder: string;
let seed = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

const newId = (gateway = OWN): string => newRequestId(gateway, (bytes) => Buffer.alloc(bytes, `-${++seed}`));

async function started(data = 'data', gateway = OWN): Promise<FileStore> {
  const store = new FileStore({
    dataDir: join(folder, data),
    tempDir: join(folder, 'temp'),
    tag: holderTag(gateway),
    clock: systemClock,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
  await store.start();
  return store;
}

async function stored(store: FileStore, rows = rowTexts(10_000), requestId = newId()): Promise<string> {
  const outcome = await storeResponse(responseOf(answerText(rows)), store, submission({ requestId }), signal);
  if (outcome.kind !== 'stored') throw new Error('the response was not stored');
  await outcome.reader.close();
  return requestId;
}

async function pageOf(store: FileStore, requestId: string, offset: number, numRows = 1): Promise<string> {
  const reader = await store.open(requestId);
  if (reader === undefined) throw new Error('not found');
  try {
    return await collect((await readPage(reader, { offset, numRows }, {}, signal)).rows);
  } finally {
    await reader.close();
  }
}

async function listed(store: FileStore): Promise<StoredResultSummary[]> {
  const all: StoredResultSummary[] = [];
  for await (const summary of store.list()) all.push(summary);
  return all;
}

const files = async (of: string): Promise<string[]> => (await readdir(join(folder, of))).sort();

describe('a damaged result', () => {
  const damage = async (path: string, at: number): Promise<void> => {
    const bytes = await readFile(path);
    bytes[at < 0 ? bytes.length + at : at]! ^= 0x01;
    await writeFile(path, bytes);
  };

  it('is reported for the pages whose rows changed, and no others', async () => {
    const store = await started();
    const rows = rowTexts(10_000);
    const requestId = await stored(store, rows);
    const path = join(folder, 'data', `${requestId}.rows`);
    const at = Buffer.byteLength(rows.slice(0, 5000).join(','));
    await damage(path, at + 3);
    const again = await started();
    await expect(pageOf(again, requestId, 5000)).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(/^the stored result is damaged: its rows do not match their checksum in block \d/),
    });
    await expect(pageOf(again, requestId, 0, 10_000)).rejects.toMatchObject({ code: 'damaged' });
    expect(await pageOf(again, requestId, 0)).toBe(rows[0]);
    expect(await pageOf(again, requestId, 9999)).toBe(rows[9999]);
  });

  it('is reported when its index changed', async () => {
    const store = await started();
    const requestId = await stored(store);
    await damage(join(folder, 'data', `${requestId}.rows`), -3);
    await expect(pageOf(await started(), requestId, 0)).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('its index does not match its checksum'),
    });
  });

  it('is listed with the reason and can be deleted when it is truncated', async () => {
    const store = await started();
    const requestId = await stored(store);
    const path = join(folder, 'data', `${requestId}.rows`);
    await truncate(path, 1000);
    const again = await started();
    await expect(pageOf(again, requestId, 0)).rejects.toMatchObject({ code: 'damaged' });
    expect(await listed(again)).toMatchObject([
      { record: { requestId, rowCount: 10_000 }, damaged: expect.stringContaining('its rows have 1000 bytes instead') },
    ]);
    expect(await again.delete(requestId)).toBe(true);
    expect(await files('data')).toEqual([]);
  });

  it('is listed with the reason and can be deleted when its record changed', async () => {
    const store = await started();
    const requestId = await stored(store);
    const path = join(folder, 'data', `${requestId}.json`);
    const text = await readFile(path, 'utf8');
    for (const [wrong, reason] of [
      [text.replace('"rowCount":10000', '"rowCount":10001'), 'its record does not match its checksum'],
      [text.slice(0, -10), 'its record is not valid JSON'],
      ['{"version":2}', 'its record is not valid'],
    ] as const) {
      await writeFile(path, wrong);
      const again = await started();
      await expect(again.open(requestId)).rejects.toMatchObject({ code: 'damaged' });
      expect(await listed(again)).toMatchObject([
        { record: { requestId, owner: '' }, damaged: expect.stringContaining(reason) },
      ]);
    }
    expect(await (await started()).delete(requestId)).toBe(true);
    expect(await files('data')).toEqual([]);
  });

  it('is not reported for a record of a release without checksums', async () => {
    const store = await started();
    const rows = rowTexts(10);
    const requestId = await stored(store, rows);
    const path = join(folder, 'data', `${requestId}.json`);
    const {
      checksums: _,
      checksum: __,
      ...record
    } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    await writeFile(path, JSON.stringify(record));
    await truncate(join(folder, 'data', `${requestId}.rows`), Buffer.byteLength(rows.join(',')) + 8 * 10);
    const again = await started();
    expect(await pageOf(again, requestId, 3, 2)).toBe(rows.slice(3, 5).join(','));
    expect((await listed(again))[0]).not.toHaveProperty('damaged');
  });
});

describe('files of incomplete results', () => {
  it('stay while another gateway with the same id and temporary directory, but other data, is writing them', async () => {
    const first = await started('first');
    const writer = await first.begin(newId());
    await writer.write(Buffer.from('[1]'));
    await started('second');
    expect(await files('temp')).toHaveLength(1);
    await writer.discard();
    expect(await files('temp')).toEqual([]);
  });

  it('are removed at the next start with the same data', async () => {
    const writer = await (await started()).begin(newId());
    await writer.write(Buffer.from('[1]'));
    await started();
    expect(await files('temp')).toEqual([]);
    await writer.discard();
  });

  it('are removed at the start: rows and records that stand alone, those of another id after a day', async () => {
    await mkdir(join(folder, 'data'));
    const old = [newId('other'), newId('other')];
    const kept = newId('other');
    const names = [`${newId()}.rows`, `${newId()}.json`, `${old[0]}.rows`, `${old[1]}.json`, `${kept}.rows`];
    for (const name of names) await writeFile(join(folder, 'data', name), '[1]');
    const before = new Date(Date.now() - DAY_MS - 60_000);
    for (const name of names.slice(2, 4)) await utimes(join(folder, 'data', name), before, before);
    await started();
    expect(await files('data')).toEqual([`${kept}.rows`]);
  });

  it('are removed by the hourly search, except those being written', async () => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const options = { dataDir: join(folder, 'data'), tempDir: join(folder, 'temp'), tag: holderTag(OWN), clock };
    const store = new FileStore({ ...options, onProblem: () => undefined });
    await store.start();
    const writer = await store.begin(newId());
    await writeFile(join(folder, 'data', `${newId()}.rows`), '[1]');
    await store.tidy();
    expect(await files('data')).toHaveLength(1);
    now = 3_600_000;
    await store.tidy();
    expect([await files('data'), await files('temp')]).toMatchObject([[], { length: 1 }]);
    await writer.discard();
  });

  it('do not remain when the record cannot be written', async () => {
    const store = await started();
    const requestId = newId();
    const writer = await store.begin(requestId);
    await writer.write(Buffer.from('[1]'));
    const index = { stride: 1, checkpoints: Float64Array.of(0) };
    await writer.seal(index);
    // A directory at the place of the record, so that the rename fails after the rows are in place.
    await mkdir(join(folder, 'data', `${requestId}.json`));
    const record = { ...submission({ requestId }), version: 1 as const, rowCount: 1, rowBytes: 3, stride: 1 };
    const rest = { checkpoints: 1, dataSchema: '{}', tableFields: [], fields: [] };
    await expect(writer.commit({ ...record, ...rest })).rejects.toMatchObject({ code: 'store-unavailable' });
    await writer.discard();
    await rm(join(folder, 'data', `${requestId}.json`), { recursive: true, force: true });
    expect([await files('data'), await files('temp')]).toEqual([[], []]);
  });
});
