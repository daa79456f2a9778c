import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FilePage, readFilePageNow } from '../../../src/query/file-page.ts';
import { readPage } from '../../../src/query/page.ts';
import type { ResultReader } from '../../../src/query/result-store.ts';
import { FileStore } from '../../../src/query/stores/file.ts';
import { storeAnswer } from '../../../src/query/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from './answers.ts';

/** More than there are checkpoints, so that rows must be looked for between two of them. */
const ROWS = 150_000;
const signal = AbortSignal.timeout(60_000);

let folder: string;
let store: FileStore;
let reader: ResultReader;
let bytes: Buffer;
let clock = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-file-page-'));
  const onProblem = (message: string): never => {
    throw new Error(message);
  };
  const places = { dataDir: join(folder, 'data'), tempDir: join(folder, 'temp') };
  // A clock that stands still: no read takes any time, however busy the machine is.
  store = new FileStore({ ...places, tag: 'tag', now: () => 0, monotonic: () => clock, onProblem });
  await store.start();
  reader = await stored('00000000-000000000000000000000000000001', ' ,');
  bytes = await readFile(join(places.dataDir, `${reader.record.requestId}.rows`));
});

afterAll(async () => {
  await reader.close();
  await store.close();
  await rm(folder, { recursive: true });
});

async function stored(requestId: string, separator: string, rows = rowTexts(ROWS)): Promise<ResultReader> {
  const answer = responseOf(answerText(rows, { separator }));
  const outcome = await storeAnswer(answer, store, submission({ requestId }), signal);
  if (outcome.kind !== 'stored') throw new Error('the answer was not stored');
  await outcome.reader.index(signal);
  return outcome.reader;
}

/** Has the store read in place from then on. */
async function warm(): Promise<void> {
  clock += 60_000;
  await readPage(reader, { offset: 0, numRows: 10_000 }, {}, signal);
}

const page = (offset: number, numRows: number): FilePage | undefined =>
  readFilePageNow(reader, { offset, numRows }, { host: 'gateway', port: 8080 });

const bodyOf = ({ head, rows, tail }: FilePage): string =>
  Buffer.concat([head, bytes.subarray(rows.from, rows.to), tail]).toString();

describe('pages whose rows stay in their file', () => {
  it('are those that are read, wherever they begin and end, and in whatever order', async () => {
    await warm();
    const one = fc.record({
      numRows: fc.integer({ min: 2_000, max: ROWS }),
      jump: fc.option(fc.nat(ROWS - 2_001)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 6 }), async (pages) => {
        let next = 0;
        for (const { numRows, jump } of pages) {
          const offset = jump ?? (next < ROWS - 2_000 ? next : 0);
          const left = page(offset, numRows);
          if (left === undefined) throw new Error('it was not left in its file');
          const options = { holder: { host: 'gateway', port: 8080 } };
          const read = await readPage(reader, { offset, numRows }, options, signal);
          const body = `${read.head.toString()}${await collect(read.rows)}${read.tail.toString()}`;
          expect(bodyOf(left) === body).toBe(true);
          expect([left.length, left.numRows]).toEqual([read.length, read.numRows]);
          expect(left.length).toBe(Buffer.byteLength(body));
          next = offset + left.numRows;
        }
      }),
      { numRuns: 40 },
    );
  });

  it('begin where the page before them ended, and read nothing but where they end', async () => {
    await warm();
    const read: number[] = [];
    // As the engine separates rows.
    const plain = await stored('00000000-000000000000000000000000000002', ',');
    const { record, knownIndex, rowFile } = plain;
    const watched = {
      record,
      knownIndex,
      rowFile: rowFile && {
        ...rowFile,
        readNow(from: number, to: number) {
          read.push(to - from);
          return rowFile.readNow(from, to);
        },
      },
    } as ResultReader;
    // Neither begins with a stride.
    for (const offset of [20_001, 40_001]) readFilePageNow(watched, { offset, numRows: 20_000 }, undefined);
    expect(read).toHaveLength(3);
    expect(read.reduce((sum, size) => sum + size)).toBeLessThan(1000);
    await plain.close();
  });

  it('are none where the page is small, or has no rows', async () => {
    await warm();
    expect(page(10, 100)).toBeUndefined();
    expect(page(ROWS, 10_000)).toBeUndefined();
    expect(page(0, 0)).toBeUndefined();
  });

  it('are none where much must be read to find their ends, while everybody else waits', async () => {
    await warm();
    const long = Array.from({ length: 10 }, () => `["${'x'.repeat(70_000)}"]`);
    const large = await stored('00000000-000000000000000000000000000003', ',', long);
    expect(large.rowFile).toBeDefined();
    expect(readFilePageNow(large, { offset: 1, numRows: 8 }, undefined)).toBeUndefined();
    await large.close();
  });

  it('are none where the file is slow', async () => {
    await warm();
    expect(page(0, 10_000)).toBeDefined();
    reader.rowFile?.send(0, 1, () => {
      clock += 101;
      return 1;
    });
    expect(reader.rowFile).toBeUndefined();
    expect(page(0, 10_000)).toBeUndefined();
  });
});

describe('a file of rows', () => {
  it('is not sent from in place, but read, once it is slow', async () => {
    await warm();
    const file = reader.rowFile;
    const slow = (): number => {
      clock += 101;
      return 7;
    };
    expect(file?.send(0, 10, slow)).toBe(7);
    expect(file?.send(0, 10, slow)).toBe(0);
    const piece = await file?.readInto(Buffer.alloc(100), 5, 25);
    expect(piece?.equals(bytes.subarray(5, 25))).toBe(true);
  });

  it('is left alone once its reader is closed: its descriptor may be that of another file', async () => {
    await warm();
    const other = await store.open(reader.record.requestId);
    const file = other?.rowFile;
    let sent = 0;
    const send = (): number => ++sent;
    expect(file?.send(0, 10, send)).toBe(1);
    await other?.close();
    expect(file?.send(0, 10, send)).toBe(0);
    expect(sent).toBe(1);
    await expect(file?.readInto(Buffer.alloc(10), 0, 10)).rejects.toThrow('was closed');
  });

  it('says so where it is too short', async () => {
    await warm();
    const { length } = bytes;
    expect(() => reader.rowFile?.readNow(length - 5, length + 5)).toThrow('too short');
    await expect(reader.rowFile?.readInto(Buffer.alloc(10), length - 5, length + 5)).rejects.toMatchObject({
      code: 'store-unavailable',
    });
  });
});
