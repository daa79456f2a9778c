import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/platform/clock.ts';
import { BlockChecksumBuilder, readRows } from '../../../src/results/rows/checksums.ts';
import { QueryError } from '../../../src/results/errors.ts';
import { newRequestId } from '../../../src/results/request-id.ts';
import type { ResultRecord } from '../../../src/results/result-store.ts';
import { recordedIndex, RowIndexBuilder, type RowIndex } from '../../../src/results/rows/row-index.ts';
import { MAX_WHOLE_BYTES, type ObjectClient } from '../../../src/results/stores/object/object-client.ts';
import { ObjectResultStore } from '../../../src/results/stores/object/object-store.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { checkAsync } from './fuzz.ts';
import { change, type HostileBucket } from './hostile-bucket.ts';

// A bucket with any responses: each operation of the store has the right result or a QueryError, and ends.

const GATEWAY = 'gateway-0';
const ID = newRequestId(GATEWAY, (bytes) => Buffer.alloc(bytes, 7));
const ROWS = Buffer.from(Array.from({ length: 3_000 }, (_, i) => `["city ${i}",${i}]`).join(','));
const STATUSES = [200, 201, 204, 206, 301, 304, 307, 308, 400, 401, 403, 404, 409, 410, 412, 416, 499];
/** Pages of listings with themselves as the next page. */
const ENDLESS = [
  '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>',
  '<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker></ListMultipartUploadsResult>',
  '{"kind":"storage#objects","nextPageToken":"a","items":[]}',
];
/** Requests that are repeated after a delay. */
const REPEATED = [408, 429, 500, 502, 503, 504];

function indexOf(rows: Buffer): RowIndex {
  const builder = new RowIndexBuilder();
  builder.add(0, 0);
  const checksums = new BlockChecksumBuilder();
  checksums.add(rows);
  return { ...builder.build(), checksums: checksums.build() };
}

const INDEX = indexOf(ROWS);
const record = (requestId: string): ResultRecord => ({
  version: 1,
  requestId,
  brokerId: GATEWAY,
  owner: 'srn2:user-email#ada@example.com',
  tables: [],
  submissionTimeMs: 1,
  expirationTimeMs: 4e12,
  rowCount: 3_000,
  rowBytes: ROWS.length,
  ...recordedIndex(INDEX),
  dataSchema: '{"columnNames":["city","id"],"columnDataTypes":["STRING","INT"]}',
  tableFields: [],
  fields: [],
});

/** Waits of up to this long are delays between attempts; time-outs are longer. */
const MAX_DELAY_MS = 1_000;

/** Does not wait between attempts. */
export const impatientClock: Clock = {
  ...systemClock,
  random: () => 0,
  schedule: (callback, ms) => systemClock.schedule(callback, ms <= MAX_DELAY_MS ? 0 : ms),
};

/** The result of the work; undefined where it fails as documented. */
async function orQueryError<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    expect(error.message).not.toMatch(/SECRET|127\.0\.0\.1/);
    return undefined;
  }
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

async function read(store: ObjectResultStore, signal: AbortSignal): Promise<void> {
  const reader = await store.open(ID, signal);
  if (reader === undefined) return;
  const index = await reader.index(signal);
  const parts = await readRows({ reader, index }, 0, reader.record.rowBytes, signal);
  expect(Buffer.concat(parts).equals(ROWS)).toBe(true);
}

async function list(store: ObjectResultStore, signal: AbortSignal): Promise<void> {
  for await (const { bytes, record: listed } of store.list(signal)) {
    expect(bytes).toBeGreaterThanOrEqual(0);
    expect(typeof listed.requestId).toBe('string');
  }
}

async function write(store: ObjectResultStore, signal: AbortSignal): Promise<void> {
  const writer = await store.begin(ID, signal);
  try {
    await writer.write(ROWS);
    await writer.seal(INDEX);
    await writer.commit(record(ID));
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

const OPERATIONS = {
  read,
  list,
  write,
  delete: (store: ObjectResultStore, signal: AbortSignal) => store.delete(ID, signal),
  start: (store: ObjectResultStore, signal: AbortSignal) => store.start(signal),
  tidy: (store: ObjectResultStore, signal: AbortSignal) => store.tidy(signal),
  renew: (store: ObjectResultStore, signal: AbortSignal) => store.renew(record(ID), signal),
  note: (store: ObjectResultStore, signal: AbortSignal) => store.notes.get(ID, 'run', signal),
} as const;

/** Tests of a kind of bucket. Each kind has a file of its own, so that they run in parallel. */
export function hostileBucketTests(bucket: HostileBucket, open: () => ObjectClient): void {
  let client: ObjectClient;
  let valid: ReadonlyMap<string, Buffer>;
  beforeAll(async () => {
    await bucket.listen();
    client = open();
    const store = new ObjectResultStore(client, {
      gatewayId: GATEWAY,
      clock: impatientClock,
      onProblem: () => undefined,
    });
    await write(store, AbortSignal.timeout(WAIT_LIMIT_MS));
    valid = new Map(bucket.objects);
    expect([...valid.keys()].toSorted()).toEqual([`${ID}.json`, `${ID}.rows`]);
  });
  afterAll(async () => {
    await client.close();
    await bucket.close();
  });

  const run = async (name: keyof typeof OPERATIONS, plan: HostileBucket['plan']): Promise<void> => {
    bucket.objects.clear();
    for (const [key, bytes] of valid) bucket.objects.set(key, bytes);
    bucket.plan = [...plan];
    const problems: string[] = [];
    const store = new ObjectResultStore(client, {
      gatewayId: GATEWAY,
      clock: impatientClock,
      onProblem: (problem) => problems.push(problem),
    });
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    await orQueryError<unknown>(OPERATIONS[name](store, signal));
    expect(signal.aborted, 'the operation ends by itself').toBe(false);
    expect(problems.join('\n')).not.toContain('SECRET');
    bucket.plan = [];
  };

  it.each(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[])('%s: right, or a QueryError', async (name) => {
    // Without a change the operation works.
    bucket.plan = [];
    await run(name, []);
    const changes = fc.array(fc.option(change(STATUSES), { nil: undefined, freq: 2 }), { minLength: 1, maxLength: 4 });
    await checkAsync(changes, (plan) => run(name, plan), 40);
  });

  it.each(ENDLESS)('ends a listing whose pages name themselves as the next one: %s', async (page) => {
    const same = { edits: [{ at: 0, removed: 1e9, insert: page }], keepsLength: false };
    bucket.plan = Array.from({ length: 200 }, () => same);
    const before = bucket.requests;
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    const found = await orQueryError(all(client.list('', signal)));
    if (found !== undefined) expect(found).toEqual([]);
    await orQueryError(all(client.uploads('', signal)));
    expect(bucket.requests - before).toBeLessThan(10);
    expect(signal.aborted).toBe(false);
    bucket.plan = [];
  });

  it('does not read a record of any size', async () => {
    bucket.objects.set('large', Buffer.alloc(MAX_WHOLE_BYTES + 1));
    await expect(client.get('large', AbortSignal.timeout(WAIT_LIMIT_MS))).rejects.toThrow(QueryError);
    bucket.objects.delete('large');
  });

  it('repeats requests a bounded number of times', async () => {
    for (const status of REPEATED) {
      const before = bucket.requests;
      await run(
        'read',
        Array.from({ length: 100 }, () => ({ status, edits: [], keepsLength: false })),
      );
      expect(bucket.requests - before).toBeLessThan(40);
    }
  });
}
