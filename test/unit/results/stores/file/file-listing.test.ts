import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOTE_KEPT_MS } from '../../../../../src/results/notes.ts';
import { holderTag, newRequestId } from '../../../../../src/results/request-id.ts';
import type { ResultRecord, StoredResultSummary } from '../../../../../src/results/result-store.ts';
import { FileStore, type FileStoreOptions } from '../../../../../src/results/stores/file/file-store.ts';
import { storeResponse } from '../../../../../src/results/submit/submit.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { answerText, responseOf, rowTexts, submission } from '../../answers.ts';

// The files of a store of files: what it lists, renews and deletes.

const signal = new AbortController().signal;

let folder: string;
let clock: FakeClock;
let store: FileStore;
let seed = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-listing-'));
  clock = new FakeClock();
  store = await started();
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const newId = (): string => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, `-${++seed}`));
const pathOf = (name: string): string => join(folder, 'data', name);
const files = async (of = 'data'): Promise<string[]> => (await readdir(join(folder, of))).sort();

async function started(more: Partial<FileStoreOptions> = {}): Promise<FileStore> {
  const onProblem = (message: string): never => {
    throw new Error(message);
  };
  const options = { dataDir: join(folder, 'data'), tempDir: join(folder, 'temp'), tag: holderTag('gateway-0') };
  const of = new FileStore({ ...options, clock, onProblem, ...more });
  await of.start();
  return of;
}

async function stored(into = store, requestId = newId()): Promise<ResultRecord> {
  const outcome = await storeResponse(responseOf(answerText(rowTexts(5))), into, submission({ requestId }), signal);
  if (outcome.kind !== 'stored') throw new Error('the response was not stored');
  await outcome.reader.close();
  return outcome.reader.record;
}

async function listed(from = store): Promise<StoredResultSummary[]> {
  const all: StoredResultSummary[] = [];
  for await (const summary of from.list()) all.push(summary);
  return all;
}

describe('a listing of files', () => {
  it('has the bytes and the addresses of both files of a result', async () => {
    const record = await stored();
    const [rows, json] = [pathOf(`${record.requestId}.rows`), pathOf(`${record.requestId}.json`)];
    expect(await listed()).toEqual([
      {
        record,
        bytes: (await stat(rows)).size + (await stat(json)).size,
        dataFile: pathToFileURL(rows).href,
        metadataFile: pathToFileURL(json).href,
      },
    ]);
  });

  it('has a result whose rows are missing, of which nothing can be read', async () => {
    const { requestId } = await stored();
    await unlink(pathOf(`${requestId}.rows`));
    const another = await started({ tag: holderTag('gateway-1') });
    const { size } = await stat(pathOf(`${requestId}.json`));
    expect(await listed(another)).toMatchObject([
      { bytes: size, damaged: 'the stored result is damaged: its rows are missing. Run the query again' },
    ]);
    const reader = await another.open(requestId);
    expect(reader?.damage?.message).toContain('its rows are missing');
    await expect(reader?.index(signal)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('has no files of other programs', async () => {
    const { requestId } = await stored();
    await copyFile(pathOf(`${requestId}.json`), pathOf('backup.json'));
    await writeFile(pathOf(`${requestId}.note`), 'x');
    expect((await listed()).map(({ record }) => record.requestId)).toEqual([requestId]);
  });

  it('says that a record belongs to another result', async () => {
    const [one, two] = [await stored(), await stored()];
    await copyFile(pathOf(`${one.requestId}.json`), pathOf(`${two.requestId}.json`));
    const found = await listed();
    expect(found.find(({ record }) => record.requestId === two.requestId)?.damaged).toBe(
      'the stored result is damaged: its record belongs to another result. Run the query again',
    );
    expect(found.find(({ record }) => record.requestId === one.requestId)).not.toHaveProperty('damaged');
  });

  it('fails where a record cannot be read, because the result may be whole', async () => {
    await mkdir(pathOf(`${newId()}.json`));
    await expect(listed()).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});

describe('a store whose folder is missing', () => {
  it('says so in place of an absent result or an empty listing', async () => {
    const { requestId } = await stored();
    await (await store.open(requestId))!.close();
    await rm(join(folder, 'data'), { recursive: true });
    clock.jump(101);
    const ways = [
      () => store.open(requestId),
      () => listed(),
      () => store.delete(requestId),
      () => store.notes.list('run')[Symbol.asyncIterator]().next(),
      () => stored(),
    ];
    for (const way of ways) {
      await expect(way()).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringContaining('a folder of the result store is missing: restore what'),
      });
    }
  });
});

describe('the files of a store', () => {
  it('are in the folder for temporary files while they are written', async () => {
    const requestId = newId();
    const writer = await store.begin(requestId);
    expect(await files('temp')).toEqual([
      expect.stringMatching(new RegExp(`^${requestId}\\.rows\\.[0-9a-f]{8}\\.part$`)),
    ]);
    await writer.discard();
  });

  it('have names of their own for results that are committed at once', async () => {
    const ids = Array.from({ length: 8 }, newId);
    await Promise.all(ids.map((requestId) => stored(store, requestId)));
    expect(await files()).toEqual(ids.flatMap((id) => [`${id}.json`, `${id}.rows`]).sort());
    expect(await files('temp')).toEqual([]);
  });

  it('are compressed only with the setting', async () => {
    expect(store.compression).toBeUndefined();
    expect((await started({ compression: 'zstd' })).compression).toBe('zstd');
  });

  it('include notes, which only a due search removes when they are old', async () => {
    const requestId = newId();
    await store.notes.put(requestId, 'run', 'a state');
    expect([await store.notes.get(requestId, 'run'), await files()]).toEqual(['a state', [`${requestId}.run`]]);
    clock.step(Date.now() - clock.now() + NOTE_KEPT_MS + 60_000);
    clock.jump(3_600_000 - 1);
    await store.tidy();
    expect(await files()).toEqual([`${requestId}.run`]);
    clock.jump(1);
    await store.tidy();
    expect(await files()).toEqual([]);
  });
});

describe('a renewal', () => {
  it('replaces the record, also for a reader that has it in memory', async () => {
    const record = await stored();
    const index = await (await store.open(record.requestId))!.index(signal);
    await store.renew({ ...record, expirationTimeMs: 99_000 });
    const reader = (await store.open(record.requestId))!;
    expect([reader.record.expirationTimeMs, reader.knownIndex]).toEqual([99_000, index]);
    const again = await (await started()).open(record.requestId);
    expect(again?.record).toEqual({ ...record, expirationTimeMs: 99_000 });
    expect(await files('temp')).toEqual([]);
  });

  it('does not bring back a deleted result', async () => {
    const record = await stored();
    await store.delete(record.requestId);
    await store.renew(record);
    expect([await files(), await files('temp')]).toEqual([[], []]);
  });

  it('leaves no record where the result is deleted at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const record = await stored();
      const [, wasThere] = await Promise.all([store.renew(record), store.delete(record.requestId)]);
      expect([wasThere, await files()]).toEqual([true, []]);
    }
  });
});

describe('a deletion', () => {
  it('says whether there was a result', async () => {
    const { requestId } = await stored();
    expect(await store.delete(requestId)).toBe(true);
    expect(await store.delete(requestId)).toBe(false);
    expect(await store.open(requestId)).toBeUndefined();
  });

  it('of another process is noticed by one that has the record in memory', async () => {
    const { requestId } = await stored();
    const text = await readFile(pathOf(`${requestId}.json`), 'utf8');
    for (const end of ['json', 'rows']) await unlink(pathOf(`${requestId}.${end}`));
    clock.jump(101);
    expect(await store.open(requestId)).toBeUndefined();
    // Its record alone is a damaged result.
    await writeFile(pathOf(`${requestId}.json`), text);
    expect((await store.open(requestId))?.damage).toMatchObject({ code: 'damaged' });
  });
});
