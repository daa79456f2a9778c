import { readdirSync, readlinkSync } from 'node:fs';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FairQueue } from '../../../../../src/platform/fair-queue.ts';
import type { ResultReader, ResultRecord } from '../../../../../src/results/result-store.ts';
import { encodeIndex, recordedIndex } from '../../../../../src/results/rows/row-index.ts';
import { BufferPool } from '../../../../../src/results/stores/file/buffer-pool.ts';
import { closeFile, openFile } from '../../../../../src/results/stores/file/file-io.ts';
import {
  FileReader,
  type FileReaderDependencies,
  FileWriter,
  type FileWriterDependencies,
} from '../../../../../src/results/stores/file/file-result.ts';
import type { OpenFile } from '../../../../../src/results/stores/file/open-files.ts';
import { ReadAhead } from '../../../../../src/results/stores/file/read-ahead.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { collect, submission } from '../../answers.ts';

const KB = 1024;
/** Bytes of rows: two pieces of a download, and a shorter one. */
const ROW_BYTES = 600 * KB;
const INDEX = { stride: 4, checkpoints: Float64Array.of(0, 7, 300_000) };
/** Each byte's value depends on its position. */
const ROWS = Buffer.from(Array.from({ length: ROW_BYTES }, (_, at) => at % 251));

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-result-'));
  path = join(folder, 'file');
});
afterEach(() => rm(folder, { recursive: true }));

const sizes = async (pieces: AsyncIterable<Uint8Array>): Promise<number[]> => {
  const all: number[] = [];
  for await (const piece of pieces) all.push(piece.length);
  return all;
};

describe('the reader of a file', () => {
  let file: OpenFile;
  let pool: BufferPool;
  let released: OpenFile[];
  let readers: FileReader[];

  beforeEach(async () => {
    await writeFile(path, Buffer.concat([ROWS, encodeIndex(INDEX)]));
    const fields = {
      version: 1,
      rowCount: 9,
      rowBytes: ROW_BYTES,
      dataSchema: '{}',
      tableFields: [],
      fields: [],
    } as const;
    const record: ResultRecord = { ...submission(), ...fields, ...recordedIndex(INDEX) };
    pool = new BufferPool();
    const descriptor = await openFile(path, 'r');
    file = { descriptor, cached: { record, index: undefined }, ahead: new ReadAhead(pool) };
    [released, readers] = [[], []];
  });
  afterEach(async () => {
    for (const reader of readers) await reader.close();
    await closeFile(file.descriptor);
  });

  function readerOf(parts: Partial<FileReaderDependencies> = {}): FileReader {
    const release = async (of: OpenFile): Promise<void> => void released.push(of);
    const reader = new FileReader(file, { pool, reads: FairQueue.ofJobs('reads', 4), release, ...parts });
    readers.push(reader);
    return reader;
  }

  async function read(reader: FileReader, from: number, to: number): Promise<Uint8Array> {
    const [bytes, ...more] = await reader.read(from, to);
    expect(more).toEqual([]);
    expect(ROWS.subarray(from, to).equals(bytes!)).toBe(true);
    return bytes!;
  }

  it('reads the index once', async () => {
    const reader = readerOf();
    expect(reader.knownIndex).toBeUndefined();
    const index = await reader.index();
    expect(index).toEqual(INDEX);
    expect(await reader.index()).toBe(index);
    expect(readerOf().knownIndex).toBe(index);
  });

  it('reads the bytes after a page of at most 128 KiB with it, and no others', async () => {
    const small = await read(readerOf(), 200_000, 200_000 + 128 * KB);
    expect(small.buffer.byteLength).toBe(256 * KB);
    const next = await read(readerOf(), 200_000 + 200 * KB, 200_000 + 250 * KB);
    expect(next.buffer === small.buffer).toBe(true);
    const large = await read(readerOf(), 300_000, 300_000 + 128 * KB + 1);
    expect(large.buffer === small.buffer).toBe(false);
    // The smallest buffer of the pool that is large enough.
    expect(large.buffer.byteLength).toBe(256 * KB);
    expect((await read(readerOf(), 1000, 1000 + 300 * KB)).buffer.byteLength).toBe(512 * KB);
  });

  it('downloads pieces of 256 KiB and the rest', async () => {
    const reader = readerOf();
    expect(await sizes(reader.stream(0, ROW_BYTES))).toEqual([256 * KB, 256 * KB, 88 * KB]);
    expect(await sizes(reader.stream(5, 5 + 512 * KB))).toEqual([256 * KB, 256 * KB]);
    expect(await sizes(reader.stream(5, 5))).toEqual([]);
    const part = ROWS.subarray(1000, 501_000).toString('latin1');
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.stream(1000, 501_000)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString('latin1')).toBe(part);
  });

  it('releases its file once', async () => {
    const reader = readerOf();
    await reader.close();
    await reader.close();
    expect(released).toEqual([file]);
  });

  it('releases its file when its last read has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const reads = FairQueue.ofJobs('reads', 4);
    const run = <T>(job: () => Promise<T>): Promise<T> => reads.run(() => gate.promise.then(job));
    const reader = readerOf({ reads: { run } });
    const pending = [reader.read(0, 10), reader.read(300_000, 300_010)];
    const closed = reader.close();
    await settle();
    expect(released).toEqual([]);
    gate.resolve();
    await Promise.all([...pending, closed]);
    expect(released).toEqual([file]);
  });

  it('waits for the slowest of several reads before it releases its file', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let next = 0;
    const run = <T>(job: () => Promise<T>): Promise<T> => gates[next++]!.promise.then(job);
    const reader = readerOf({ reads: { run } });
    const pending = [reader.read(0, 200_000), reader.read(0, 300_000)];
    const closed = reader.close();
    gates[0]!.resolve();
    await pending[0];
    await settle();
    expect(released).toEqual([]);
    gates[1]!.resolve();
    await closed;
    expect(released).toEqual([file]);
    await pending[1];
  });

  it('lets others use its buffers when it is closed, if they may', async () => {
    const [kept, given] = [readerOf(), readerOf()];
    const [first] = [await read(kept, 0, 200_000), await kept.close()];
    expect(pool.take(200_000).buffer === first.buffer).toBe(false);
    const second = await read(given, 0, 200_000);
    await given.close(true);
    expect(pool.take(200_000).buffer === second.buffer).toBe(true);
  });

  it('keeps a block for all its readers', async () => {
    const [one, two, three] = [readerOf(), readerOf(), readerOf()];
    const block = (await read(one, 0, 10)).buffer;
    expect((await read(two, 10, 20)).buffer === block).toBe(true);
    // Displaces the block.
    const displacing = (await read(three, 300_000, 300_010)).buffer;
    for (const reader of [one, two]) {
      const other = pool.take(256 * KB);
      expect([block, displacing].includes(other.buffer)).toBe(false);
      await reader.close(true);
    }
    expect(pool.take(256 * KB).buffer === block).toBe(true);
  });

  it('reads ahead at another place only where the block before served others', async () => {
    const bytesAt = async (reader: FileReader, at: number): Promise<number> =>
      (await read(reader, at, at + 10)).buffer.byteLength;
    const [one, two] = [readerOf(), readerOf()];
    expect(await bytesAt(one, 0)).toBe(256 * KB);
    // Of its own block.
    expect(await bytesAt(one, 100)).toBe(256 * KB);
    expect(await bytesAt(one, 300_000)).toBe(64 * KB);
    expect(await bytesAt(two, 300_000)).toBe(64 * KB);
    expect(await bytesAt(one, 0)).toBe(256 * KB);
  });
});

describe('the writer of a file', () => {
  let published: ResultRecord[];
  let ended: number;
  const record = submission() as ResultRecord;
  const reader = {} as ResultReader;

  beforeEach(() => {
    published = [];
    ended = 0;
  });

  async function writerOf(publish?: FileWriterDependencies['publish']): Promise<FileWriter> {
    const store = async (of: ResultRecord): Promise<ResultReader> => (published.push(of), reader);
    const descriptor = await openFile(path, 'wx+');
    return new FileWriter(descriptor, path, { publish: publish ?? store, onEnd: () => ended++ });
  }

  it('writes the rows, then the index, and reads them before they are committed', async () => {
    const writer = await writerOf();
    for (const part of [ROWS.subarray(0, 7), ROWS.subarray(7, 7), ROWS.subarray(7)]) await writer.write(part);
    await writer.seal(INDEX);
    expect((await readFile(path)).equals(Buffer.concat([ROWS, encodeIndex(INDEX)]))).toBe(true);
    expect(await sizes(writer.read(0, ROW_BYTES))).toEqual([256 * KB, 256 * KB, 88 * KB]);
    expect(await sizes(writer.read(88 * KB, ROW_BYTES))).toEqual([256 * KB, 256 * KB]);
    expect(await collect(writer.read(300, 305))).toBe(ROWS.subarray(300, 305).toString());
    expect(await writer.commit(record)).toBe(reader);
    expect([published, ended]).toEqual([[record], 1]);
  });

  const openDescriptors = (): string[] =>
    readdirSync('/proc/self/fd').flatMap((name) => {
      try {
        const target = readlinkSync(`/proc/self/fd/${name}`);
        return target.startsWith(path) ? [target] : [];
      } catch {
        return [];
      }
    });

  it.runIf(process.platform === 'linux')('closes its file once, with the commit or with the discard', async () => {
    const failing = await writerOf(async () => {
      throw new Error('the disk is gone');
    });
    await failing.write(Buffer.from('[1]'));
    expect(openDescriptors()).toHaveLength(1);
    await expect(failing.commit(record)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect([openDescriptors(), ended]).toEqual([[], 0]);
    await failing.discard();
    expect(ended).toBe(1);
    await expect(access(path)).rejects.toMatchObject({ code: 'ENOENT' });
    const left = await writerOf();
    await left.write(Buffer.from('[1]'));
    await left.discard();
    expect([openDescriptors(), ended]).toEqual([[], 2]);
  });

  it('reports a failed write with the next call', async () => {
    await writeFile(path, '');
    const writer = new FileWriter(await openFile(path, 'r'), path, {
      publish: async () => reader,
      onEnd: () => ended++,
    });
    await writer.write(Buffer.from('[1]'));
    await expect(writer.write(Buffer.from('[2]'))).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(writer.seal(INDEX)).rejects.toMatchObject({ code: 'store-unavailable' });
    await writer.discard();
    expect(ended).toBe(1);
  });
});
