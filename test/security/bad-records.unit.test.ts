// @module-tag slow
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { Value } from 'typebox/value';
import { queryStatus } from '../../src/api/queries/query-status.ts';
import { QueryStatus } from '../../src/api/queries/status-schemas.ts';
import { LruCache } from '../../src/platform/lru.ts';
import { QueryError } from '../../src/results/errors.ts';
import type { CsvLayout } from '../../src/results/export/csv-layout.ts';
import { exportRows } from '../../src/results/export/export.ts';
import { linkRows } from '../../src/results/links/links.ts';
import { readPage } from '../../src/results/rows/page.ts';
import { recordFromJson, recordToJson } from '../../src/results/stores/record-json.ts';
import type { ResultReader, ResultRecord } from '../../src/results/result-store.ts';
import { encodeIndex, recordedIndex, type RowIndex, storedRowBytes } from '../../src/results/rows/row-index.ts';
import { noteFromJson } from '../../src/results/runs/status.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { objectBytes } from '../../src/results/stores/object/object-result.ts';
import { ObjectResultStore } from '../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../src/results/submit/submit.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerText, responseOf, rowTexts, submission } from '../unit/results/answers.ts';
import { MemoryBucket } from '../unit/results/stores/object/memory-bucket.ts';
import { checkAsync } from './support/fuzz.ts';

// Who can write to the bucket can give each object the right checksum. Whatever records, indexes and notes say, reading them ends with the rows or
// with a QueryError, in bounded memory and time.

const ROWS = rowTexts(5_000);
const { requestId } = submission();
const LINKED = { store: undefined as unknown as ObjectResultStore, lifetimeMs: 1_000, now: 0 };
/** What the bucket sends at most for one request, and what the test reads of one download. */
const MAX_SENT = 512 * 1024;

const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 2, 1.5, 63, 64 * 1024, 1024 * 1024, 2 ** 31, 2 ** 32 + 1, 2 ** 40, 2 ** 53 - 1, 1e300),
  fc.nat(10_000),
);
const value = fc.oneof(
  { weight: 4, arbitrary: number },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(null, '', 'x', '{}', '[', 'null', true, [], {}, [null], [{}], ['x']),
  },
);
const TOP = Object.keys({
  ...({
    rowCount: 0,
    rowBytes: 0,
    stride: 0,
    checkpoints: 0,
    dataSchema: 0,
    fields: 0,
    tableFields: 0,
    tables: 0,
    sql: 0,
    warnings: 0,
    checksums: 0,
    compression: 0,
    storedTimeMs: 0,
    expirationTimeMs: 0,
    owner: 0,
    version: 0,
  } satisfies Partial<Record<keyof ResultRecord, 0>>),
});
const INNER = [
  'checksums.blockBytes',
  'checksums.blocks',
  'checksums.index',
  'compression.bytes',
  'compression.coding',
];

interface Forgery {
  readonly record: readonly (readonly [path: string, value: unknown])[];
  readonly checkpoints: readonly (readonly [at: number, offset: number])[];
  readonly frames: readonly (readonly [at: number, bytes: number])[];
  /** The record describes the changed index and size, as a careful attacker would. */
  readonly isConsistent: boolean;
}

const forgery: fc.Arbitrary<Forgery> = fc.record({
  record: fc.array(fc.tuple(fc.constantFrom(...TOP, ...INNER), value), { maxLength: 3 }),
  checkpoints: fc.array(
    fc.tuple(fc.nat(5_000), fc.oneof(number, fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY))),
    {
      maxLength: 3,
    },
  ),
  frames: fc.array(fc.tuple(fc.nat(4), fc.oneof(fc.nat(2 ** 32 - 1), fc.nat(100_000))), { maxLength: 2 }),
  isConsistent: fc.boolean(),
});

function changed(record: ResultRecord, changes: Forgery['record']): Record<string, unknown> {
  const copy = JSON.parse(JSON.stringify(record)) as Record<string, unknown>;
  for (const [path, to] of changes) {
    const [first = '', second] = path.split('.');
    // A copy, because the next change may be within it.
    if (second === undefined) copy[first] = structuredClone(to);
    else if (typeof copy[first] === 'object' && copy[first] !== null)
      (copy[first] as Record<string, unknown>)[second] = to;
  }
  return copy;
}

/** The numbers of the record that follow from others. */
function consistent(record: Record<string, unknown>, index: RowIndex): void {
  const { checksums, compression, rowBytes } = record as {
    checksums?: unknown;
    compression?: unknown;
    rowBytes: number;
  };
  if (typeof checksums !== 'object' || checksums === null) return;
  const sums = checksums as { blockBytes: number; blocks: number; index: number };
  sums.blocks = Math.ceil(rowBytes / sums.blockBytes);
  sums.index = recordedIndex(index).checksums?.index ?? 0;
  if (typeof compression === 'object' && compression !== null && index.frames !== undefined)
    (compression as { bytes: number }).bytes = index.frames.sizes.reduce((sum, size) => sum + size, 0);
}

/** Forgeries that random changes rarely hit. Each of them was once an internal error, or work without end. */
const KNOWN: readonly Partial<Forgery>[] = [
  { record: [['fields', [null]]] },
  { record: [['tableFields', [{ name: 'x' }]]] },
  { record: [['dataSchema', 'null']] },
  { record: [['dataSchema', '[']] },
  { record: [['rowCount', 2 ** 53 - 1]] },
  { record: [['stride', 2 ** 40]] },
  { record: [['rowBytes', 2 ** 40]] },
  {
    record: [
      ['rowBytes', 2 ** 31],
      ['checksums.blockBytes', 2 ** 31],
    ],
  },
  { record: [['checksums.blockBytes', 1]] },
  ...[Number.NaN, -1, 0.5, 2 ** 53 - 1, Number.POSITIVE_INFINITY].map((offset) => ({
    checkpoints: [[1, offset]] as const,
  })),
  {
    checkpoints: [
      [1, 100_000],
      [2, 7],
    ],
  },
  { frames: [[0, 0]] },
  { frames: [[0, 2 ** 32 - 1]] },
];
const NOTHING: Forgery = { record: [], checkpoints: [], frames: [], isConsistent: true };

describe.each([undefined, 'zstd'] as const)(
  'a result with a forged record and index, with compression %s',
  (compression) => {
    let good: { readonly record: ResultRecord; readonly index: RowIndex; readonly rows: Buffer };
    const context = { gatewayId: 'gateway-0', clock: new FakeClock(), onProblem: () => undefined };

    beforeAll(async () => {
      const bucket = new MemoryBucket();
      const store = new ObjectResultStore(bucket, context, compression);
      const outcome = await storeResponse(
        responseOf(answerText(ROWS)),
        store,
        submission(),
        new AbortController().signal,
      );
      if (outcome.kind !== 'stored') throw new Error('not stored');
      const { record } = outcome.reader;
      const index = await outcome.reader.index(new AbortController().signal);
      const rows = bucket.objects.get(`${requestId}.rows`)?.bytes.subarray(0, storedRowBytes(record)) as Buffer;
      good = { record, index, rows };
    });

    function forged({ record: changes, checkpoints, frames, isConsistent }: Forgery): ObjectResultStore {
      const index: RowIndex = structuredClone(good.index);
      for (const [at, offset] of checkpoints) index.checkpoints[at % index.checkpoints.length] = offset;
      for (const [at, size] of frames)
        if (index.frames !== undefined) index.frames.sizes[at % index.frames.sizes.length] = size;
      const record = changed(good.record, changes);
      if (isConsistent) consistent(record, index);
      const bucket = new MemoryBucket();
      const json = Buffer.from(recordToJson(record as unknown as ResultRecord));
      bucket.objects.set(`${requestId}.json`, { bytes: json, modifiedMs: 0 });
      const claimed = record as unknown as ResultRecord;
      bucket.size = async (key) => (key.endsWith('.json') ? json.length : objectBytes(claimed));
      bucket.range = async (_key, from, to) => {
        const start = storedRowBytes(claimed);
        const bytes = from >= start ? encodeIndex(index).subarray(from - start) : good.rows.subarray(from);
        const size = Math.max(0, Math.min(to - from, MAX_SENT));
        const sent = Buffer.alloc(Number.isFinite(size) ? size : 0);
        sent.set(bytes.subarray(0, sent.length));
        return (async function* (): AsyncIterable<Uint8Array> {
          for (let at = 0; at < sent.length; at += 65_536) yield sent.subarray(at, at + 65_536);
        })();
      };
      return new ObjectResultStore(bucket, context, compression);
    }

    async function drain(pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[]): Promise<Buffer> {
      const all: Uint8Array[] = [];
      let size = 0;
      for await (const piece of pieces) {
        all.push(piece);
        size += piece.length;
        if (size > MAX_SENT) break;
      }
      return Buffer.concat(all);
    }

    const READS: Readonly<Record<string, (reader: ResultReader, signal: AbortSignal) => Promise<unknown>>> = {
      'first rows': async (reader, signal) =>
        drain((await readPage(reader, { offset: 0, numRows: 10 }, {}, signal)).rows),
      'last row': async (reader, signal) =>
        drain(
          (await readPage(reader, { offset: Math.max(0, reader.record.rowCount - 1), numRows: 1 }, {}, signal)).rows,
        ),
      'a large page': async (reader, signal) =>
        drain((await readPage(reader, { offset: 1, numRows: 100_000 }, {}, signal)).rows),
      links: async (reader, signal) => linkRows(reader, { offset: 1, numRows: 2 ** 52 }, LINKED, signal),
      csv: (reader, signal) => download(reader, 'csv', signal),
      jsonl: (reader, signal) => download(reader, 'jsonl', signal),
      parquet: (reader, signal) => download(reader, 'parquet', signal),
    };

    async function download(
      reader: ResultReader,
      format: 'csv' | 'jsonl' | 'parquet',
      signal: AbortSignal,
    ): Promise<Buffer> {
      const layouts = new LruCache<string, CsvLayout>({ maxWeight: 1 });
      const found = await exportRows(reader, { format, layouts }, { offset: 0, numRows: 1e6 }, signal);
      return drain(found.body(0, found.length ?? Number.MAX_SAFE_INTEGER, signal));
    }

    it.each(Object.keys(READS))('ends with the rows or a QueryError: %s', async (name) => {
      const signal = new AbortController().signal;
      const read = READS[name] as (typeof READS)[string];
      const attempt = async (one: Forgery): Promise<'read' | 'rejected'> => {
        const store = forged(one);
        store.link = async () => ({ url: 'mem://signed', expirationTimeMs: 0 });
        LINKED.store = store;
        try {
          const reader = await store.open(requestId, signal);
          if (reader === undefined) return 'rejected';
          await read(reader, signal);
          return 'read';
        } catch (error) {
          if (!(error instanceof QueryError)) throw error;
          return 'rejected';
        }
      };
      expect(await attempt(NOTHING)).toBe('read');
      for (const known of KNOWN) await attempt({ ...NOTHING, ...known });
      await checkAsync(forgery, async (one) => void (await attempt(one)), { short: 150, maxCpuMs: 500 });
    });

    it('takes no more memory than a block where the record makes the blocks large', () => {
      const blockBytes = 2 ** 31;
      const record = changed(good.record, [
        ['checksums.blockBytes', blockBytes],
        ['rowBytes', blockBytes],
      ]);
      consistent(record, good.index);
      expect(() => recordFromJson(recordToJson(record as unknown as ResultRecord))).toThrow(QueryError);
    });
  },
);

describe('the state of an asynchronous query with any content', () => {
  const status = {
    requestId,
    brokerId: 'b',
    owner: 'srn2:user#a@example.com',
    tables: ['orders'],
    state: 'failed',
    submissionTimeMs: 1,
    startTimeMs: 2,
    endTimeMs: 3,
    expirationTimeMs: 4,
    rowCount: 0,
    bytes: 0,
    sql: 'SELECT 1',
    cancelRequested: true,
    error: { status: 503, message: 'm' },
    warnings: ['w'],
  };
  const parts = { queries: { holder: undefined }, settings: () => DEFAULT_PAGINATION_SETTINGS };

  it('is unknown, or has the form of the documented response', async () => {
    const paths = [...Object.keys(status), 'error.status', 'error.message', 'extra', '__proto__'];
    const any = fc.oneof(value, fc.constant(undefined));
    let shown = 0;
    const attempt = async (changes: readonly (readonly [string, unknown])[]): Promise<void> => {
      const text = JSON.stringify({
        version: 1,
        instance: 'i',
        status: changed(status as unknown as ResultRecord, changes),
      });
      const note = noteFromJson(text);
      if (note === undefined) return;
      shown++;
      const sent: unknown = JSON.parse(JSON.stringify(queryStatus(note.status, parts, 5)));
      expect([...Value.Errors(QueryStatus, sent)].filter(({ keyword }) => keyword !== 'additionalProperties')).toEqual(
        [],
      );
    };
    await attempt([]);
    expect(shown).toBe(1);
    await checkAsync(fc.array(fc.tuple(fc.constantFrom(...paths), any), { maxLength: 3 }), attempt, 300);
  });
});
