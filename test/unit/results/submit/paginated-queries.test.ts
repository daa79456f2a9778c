import { beforeEach, describe, expect, it } from 'vitest';
import { damaged, QueryError } from '../../../../src/results/errors.ts';
import { NO_METRICS } from '../../../../src/results/metrics.ts';
import type { PaginationOptions } from '../../../../src/results/submit/options.ts';
import { PaginatedQueries } from '../../../../src/results/submit/paginated-queries.ts';
import { submit } from '../../../support/submit.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import type {
  ResultReader,
  ResultRecord,
  ResultStore,
  StoredResultSummary,
} from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { collect, answerText, responseOf, rowTexts, submission } from '../answers.ts';

const signal = new AbortController().signal;
const NOW = 1000;
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7);
const ID = newRequestId('gw-0', random);
const ROWS = rowTexts(3);

let seen: unknown[];
let found: ResultReader | Error | undefined;
let store: ResultStore;
beforeEach(() => {
  seen = [];
  found = undefined;
  store = new MemoryStore({ maxBytes: 1_000_000 });
});

function queriesOf(over: Partial<PaginationOptions> = {}): PaginatedQueries {
  return new PaginatedQueries({
    store,
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    identity: { id: 'gw-0', host: 'gw-0.test', port: 8080 },
    clock: { now: () => NOW },
    random,
    metrics: {
      ...NO_METRICS,
      deleted: (reason) => void seen.push(['deleted', reason]),
      paged: (bytes) => void seen.push(['paged', bytes]),
    },
    ...over,
  });
}

/** A store whose results are `found`. */
const storeOfOne = (more: Partial<ResultStore> = {}): ResultStore =>
  ({
    local: true,
    open: async (requestId: string) => {
      seen.push(['open', requestId]);
      if (found instanceof Error) throw found;
      return found;
    },
    ...more,
  }) as ResultStore;

const readerOf = (record: Partial<ResultRecord> = {}): ResultReader =>
  ({
    record: { ...submission({ requestId: ID, expirationTimeMs: NOW + 1 }), ...record },
    close: async () => void seen.push('close'),
  }) as ResultReader;

async function submitted(queries: PaginatedQueries): Promise<ResultReader> {
  const run = async () => responseOf(answerText(ROWS));
  const outcome = await submit(queries.submissions, run, { origin: { owner: 'ann', tables: [] }, signal });
  if (outcome.kind !== 'stored') throw new Error(outcome.kind);
  return outcome.reader;
}

describe('a stored result', () => {
  it('can be opened until it expires, and is in use until it is closed', async () => {
    found = readerOf();
    const queries = queriesOf({ store: storeOfOne() });
    const reader = await queries.open(ID, signal);
    expect(reader.record).toBe(found.record);
    expect(queries.isBeingRead(ID)).toBe(true);
    await reader.close();
    expect(queries.isBeingRead(ID)).toBe(false);
    seen = [];
    found = readerOf({ expirationTimeMs: NOW });
    await expect(queries.open(ID, signal)).rejects.toMatchObject({ code: 'not-found' });
    expect(seen).toEqual([['open', ID], 'close']);
    expect(queries.isBeingRead(ID)).toBe(false);
  });

  it('is unknown where the store has none of this id, or it has not the form of an id', async () => {
    const queries = queriesOf({ store: storeOfOne() });
    for (const requestId of [ID, '../x']) {
      await expect(queries.open(requestId, signal)).rejects.toMatchObject({ code: 'not-found' });
      await expect(queries.deletable(requestId, signal)).rejects.toMatchObject({ code: 'not-found' });
    }
    expect(seen).toEqual([
      ['open', ID],
      ['open', ID],
    ]);
  });

  it('can be deleted although it is expired or damaged', async () => {
    const queries = queriesOf({ store: storeOfOne() });
    found = readerOf({ expirationTimeMs: 5 });
    expect(await queries.deletable(ID, signal)).toBe(found.record);
    expect(seen).toEqual([['open', ID], 'close']);
    found = damaged('its record is not valid');
    expect(await queries.deletable(ID, signal)).toEqual({
      requestId: ID,
      owner: undefined,
      expirationTimeMs: Number.POSITIVE_INFINITY,
    });
    found = new QueryError('store-unavailable', 'later');
    await expect(queries.deletable(ID, signal)).rejects.toBe(found);
  });

  it('is deleted because it expired, or because it was requested', async () => {
    let isThere = true;
    const queries = queriesOf({ store: storeOfOne({ delete: async () => isThere }) });
    const at = (expirationTimeMs: number) => ({ requestId: ID, owner: 'ann', expirationTimeMs });
    await queries.delete(at(NOW), signal);
    await queries.delete(at(NOW + 1), signal);
    isThere = false;
    await expect(queries.delete(at(NOW), signal)).rejects.toMatchObject({ code: 'not-found' });
    expect(seen).toEqual([
      ['deleted', 'expired'],
      ['deleted', 'request'],
    ]);
  });

  it('needs no metrics', async () => {
    const { metrics: _, ...options } = {
      store,
      settings: () => DEFAULT_PAGINATION_SETTINGS,
      identity: { id: 'gw-0', host: 'gw-0.test', port: 8080 },
      clock: { now: () => NOW },
      random,
      metrics: undefined,
    };
    const queries = new PaginatedQueries(options);
    const page = await queries.page(await submitted(queries), { offset: 1, numRows: 1 }, signal);
    expect(await collect(page.rows)).toBe(ROWS[1]);
    await queries.delete({ requestId: ID, owner: 'ann', expirationTimeMs: NOW }, signal);
  });
});

describe('the listing of results', () => {
  const summary = (name: string, submissionTimeMs: number, more: Partial<StoredResultSummary> = {}) => ({
    record: submission({ requestId: name, submissionTimeMs }) as ResultRecord,
    bytes: 1,
    dataFile: '',
    metadataFile: '',
    ...more,
  });

  it('is in the order of their submission, and has the damages that the store knows', async () => {
    const all = [summary('c', 30), summary('a', 10), summary('b', 20, { damaged: 'no record' }), summary('d', 40)];
    const list = async function* list(): AsyncIterable<StoredResultSummary> {
      yield* all;
    };
    const listed = await queriesOf({ store: storeOfOne({ list }) }).list(signal);
    expect(listed).toEqual([all[1], all[2], all[0], all[3]]);
    expect(listed[1]).toMatchObject({ damaged: 'no record' });
    expect(listed[0]).toBe(all[1]);
  });

  it('has the damages that were found by reading', async () => {
    const queries = queriesOf();
    const reader = await submitted(queries);
    const index = (): Promise<never> => Promise.reject(damaged('its index is too short'));
    const failing = { record: reader.record, knownIndex: undefined, index } as unknown as ResultReader;
    expect(await queries.list(signal)).not.toMatchObject([{ damaged: expect.anything() }]);
    const page = queries.page(failing, { offset: 0, numRows: 1 }, signal);
    await expect(page).rejects.toMatchObject({ code: 'damaged' });
    expect(await queries.list(signal)).toMatchObject([
      { damaged: 'the stored result is damaged: its index is too short. Run the query again' },
    ]);
  });
});

describe('a download', () => {
  it('can be measured only in formats of which parts can be read', async () => {
    const queries = queriesOf();
    const reader = await submitted(queries);
    const rows = { offset: 0, numRows: 2 };
    const csv = await queries.export(reader, { format: 'csv', caller: 'ann' }, rows, signal);
    const length = await csv.measure?.(signal);
    expect(Buffer.byteLength(await collect(csv.body(0, length!, signal)))).toBe(length);
    const arrow = await queries.export(reader, { format: 'arrow', caller: 'ann' }, rows, signal);
    expect([arrow.format, 'measure' in arrow]).toEqual(['arrow', false]);
    csv.release();
    arrow.release();
  });

  it('that is measured finds damages of the rows, and one that fails occupies no place', async () => {
    const queries = queriesOf();
    const reader = await submitted(queries);
    const read = (): Promise<never> => Promise.reject(damaged('a byte has changed'));
    const failing = { record: reader.record, knownIndex: reader.knownIndex, read } as unknown as ResultReader;
    const csv = await queries.export(failing, { format: 'csv', caller: 'ann' }, { offset: 0, numRows: 3 }, signal);
    await expect(csv.measure!(signal)).rejects.toMatchObject({ code: 'damaged' });
    csv.release();
    expect(await queries.list(signal)).toMatchObject([{ damaged: expect.stringContaining('a byte has changed') }]);
    for (let count = 0; count < 10; count++) {
      const past = queries.export(reader, { format: 'csv', caller: 'ann' }, { offset: 3, numRows: 1 }, signal);
      await expect(past).rejects.toMatchObject({ code: 'bad-page' });
    }
  });
});
