import { beforeEach, describe, expect, it } from 'vitest';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import type { CursorBrokers } from '../../../../src/results/cursors/brokers.ts';
import type { Spool } from '../../../../src/results/cursors/spool.ts';
import { type CursorOutcome, storeCursor } from '../../../../src/results/cursors/submit.ts';
import type { ResultStore, ResultWriter } from '../../../../src/results/result-store.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import type { Submission, SubmissionHooks } from '../../../../src/results/submit.ts';
import { collect, DATA_SCHEMA, responseOf, rowTexts, submission } from '../answers.ts';
import { CURSOR, cursorText, spoolOf, URL } from './cursor-answers.ts';

const signal = new AbortController().signal;

let forgotten: string[];
let spool: Spool;
let store: ResultStore;
beforeEach(() => {
  forgotten = [];
  spool = spoolOf();
  store = new MemoryStore({ maxBytes: 1_000_000 });
});

const brokers = {
  forget: async ({ cursor }: { cursor: { requestId: string } }) => void forgotten.push(cursor.requestId),
} as unknown as CursorBrokers;

interface Asked {
  readonly numRows?: number;
  readonly own?: Partial<Submission>;
  readonly hooks?: SubmissionHooks;
}

function submitted(text: string, { numRows = 4, own = {}, hooks = {} }: Asked = {}): Promise<CursorOutcome> {
  const parts = { store, brokers, spool, submission: submission(own), numRows, holder: undefined };
  return storeCursor({ ...responseOf(text), url: URL }, parts, hooks, signal);
}

async function recordOf(text: string, asked?: Asked) {
  const outcome = await submitted(text, asked);
  if (outcome.kind !== 'stored') throw new Error(outcome.kind);
  return outcome.reader.record;
}

describe('the first response to a query whose result the engine keeps', () => {
  it('becomes a record without rows, and the first page', async () => {
    const seen: unknown[] = [];
    const hooks: SubmissionHooks = {
      inspect: (fields, rowCount) => {
        seen.push(fields.find(({ name }) => name === 'numDocsScanned')?.value, rowCount);
        return [tableNameOf('other')];
      },
      onRows: (rows, bytes) => void seen.push(rows, bytes),
      complete: (rowCount) => ({ storedTimeMs: rowCount, warnings: ['w'] }),
    };
    const outcome = await submitted(cursorText(), { hooks });
    if (outcome.kind !== 'stored') throw new Error(outcome.kind);
    expect(outcome.reader.record).toEqual({
      ...submission(),
      version: 1,
      tables: [tableNameOf('orders'), tableNameOf('other')],
      rowCount: 10,
      rowBytes: 0,
      stride: 1,
      checkpoints: 0,
      dataSchema: DATA_SCHEMA,
      tableFields: [],
      fields: [],
      cursor: CURSOR,
      storedTimeMs: 10,
      warnings: ['w'],
    });
    expect(await collect(outcome.page.rows)).toBe(rowTexts(4).join(','));
    expect([outcome.page.numRows, outcome.page.nextUrl]).toEqual([
      4,
      `/query/${submission().requestId}/results?offset=4&numRows=4`,
    ]);
    expect(seen).toEqual(['3', 10, 10, 900]);
    expect(forgotten).toEqual([]);
    expect(await store.open(submission().requestId, signal)).toBeDefined();
  });

  it.each([
    // The engine keeps it for an hour, the gateway for a minute.
    [{}, {}, 61_000],
    [{ expirationTimeMs: 5000 + 30_000 }, {}, 31_000],
    [{ expirationTimeMs: 5000 }, {}, 1000],
    // Known when the rows are complete.
    [{}, { expirationTimeMs: 50_000 }, 50_000],
    [{ expirationTimeMs: 5000 + 30_000 }, { expirationTimeMs: 50_000 }, 31_000],
  ])('expires with the result of the engine %j and the preference %j at %i', async (changes, additions, at) => {
    const record = await recordOf(cursorText(changes), { hooks: { complete: () => additions } });
    expect(record.expirationTimeMs).toBe(at);
  });

  it('with exceptions is returned, and its result is deleted at the engine', async () => {
    const text = cursorText({ exceptions: [{ errorCode: 200, message: 'x' }] });
    const outcome = await submitted(text);
    if (outcome.kind !== 'engine-answer') throw new Error(outcome.kind);
    expect(await collect(outcome.body)).toBe(text);
    expect(forgotten).toEqual(['1234']);
  });

  it('without rows keeps nothing', async () => {
    expect(await submitted(cursorText({ rows: [], numRowsResultSet: 0, numRows: 0 }))).toEqual({ kind: 'no-rows' });
    expect(await store.open(submission().requestId, signal)).toBeUndefined();
  });

  it('without a cursor is an error, which names the broker', async () => {
    await expect(submitted(cursorText({ submissionTimeMs: undefined }))).rejects.toMatchObject({
      code: 'no-cursors',
      message: expect.stringMatching(
        /^the broker http:\/\/broker\.test:8099 returned no cursor\..* Nothing was stored$/,
      ),
    });
    expect(forgotten).toEqual([]);
  });

  it.each([
    ['rows from another offset', { offset: 1 }, 4],
    ['another number of rows than it reports', { numRows: 3 }, 4],
    ['more rows than requested', {}, 3],
    ['no rows although the result has some', { rows: [], numRows: 0 }, 4],
  ])('with %s is an error, and its result is deleted at the engine', async (_what, changes, numRows) => {
    await expect(submitted(cursorText(changes), { numRows })).rejects.toMatchObject({
      code: 'bad-answer',
      message: expect.stringContaining('invalid page'),
    });
    expect(forgotten).toEqual(['1234']);
  });

  it('may have fewer rows than requested', async () => {
    expect((await recordOf(cursorText({ rows: rowTexts(1), numRows: 1 }), { numRows: 4 })).rowCount).toBe(10);
  });

  it('with rows without columns is an error', async () => {
    await expect(submitted(cursorText({}, false))).rejects.toThrow('rows without their columns');
    expect(forgotten).toEqual(['1234']);
  });

  it('is inspected with the rows that arrived where the engine reports none', async () => {
    const rows: number[] = [];
    const hooks: SubmissionHooks = {
      inspect: (_fields, rowCount) => {
        rows.push(rowCount);
        throw new Error('denied');
      },
    };
    await expect(submitted(cursorText({ numRowsResultSet: 'x' }), { hooks })).rejects.toThrow('denied');
    await expect(submitted(cursorText(), { hooks })).rejects.toThrow('denied');
    expect([rows, forgotten]).toEqual([[4, 10], ['1234']]);
  });

  it.each(['seal', 'commit'] as const)('leaves nothing where the store fails in `%s`', async (call) => {
    const begin = store.begin.bind(store);
    const calls: string[] = [];
    store.begin = async (requestId, abort) => {
      const writer = await begin(requestId, abort);
      const failing: ResultWriter = {
        write: (bytes) => writer.write(bytes),
        seal: (index) => writer.seal(index),
        read: (from, to, read) => writer.read(from, to, read),
        commit: (record) => writer.commit(record),
        discard: async () => {
          calls.push('discard');
          await writer.discard();
        },
        [call]: () => Promise.reject(new Error('the store fails')),
      };
      return failing;
    };
    await expect(submitted(cursorText())).rejects.toThrow('the store fails');
    expect([calls, forgotten]).toEqual([['discard'], ['1234']]);
  });
});
