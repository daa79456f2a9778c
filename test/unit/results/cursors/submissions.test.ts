import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineResponse } from '../../../../src/pinot/types.ts';
import type { CursorBrokers } from '../../../../src/results/cursors/brokers.ts';
import { NO_METRICS } from '../../../../src/results/metrics.ts';
import { Readers } from '../../../../src/results/readers.ts';
import { newCursorId, newRequestId } from '../../../../src/results/request-id.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { type QueryOrigin, Submissions, type Submitted } from '../../../../src/results/submissions.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, collect, NO_SERVER_QUERIED, responseOf, rowTexts } from '../answers.ts';
import { cursorText, URL } from './cursor-answers.ts';

const MB = 1024 * 1024;
const signal = new AbortController().signal;
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7);
const ORIGIN: QueryOrigin = { owner: 'ann', tables: [], numRows: 4 };

let seen: unknown[];
let readers: Readers;
beforeEach(() => {
  seen = [];
  readers = new Readers();
});

function submissionsOf(native: boolean): Submissions {
  const brokers = { forget: async () => void seen.push('forgotten') } as unknown as CursorBrokers;
  return new Submissions(
    {
      store: new MemoryStore({ maxBytes: MB }),
      settings: () => DEFAULT_PAGINATION_SETTINGS,
      identity: { id: 'gw-0', host: 'gw-0.test', port: 8080 },
      clock: new FakeClock(),
      random,
      metrics: {
        ...NO_METRICS,
        submitted: (outcome) => void seen.push(outcome),
        scanned: (bytes) => void seen.push(['scanned', bytes]),
        paged: (bytes) => void seen.push(['paged', bytes]),
      },
      cursors: { brokers, native },
    },
    { readers, spool: () => readers.spool(() => Promise.reject(new Error('not used'))) },
  );
}

/** @param answer of the engine; by the rows that it is asked for, which are none without a cursor */
function submitted(
  answer: (cursorRows: number | undefined) => EngineResponse,
  { native = true, origin = {} }: { readonly native?: boolean; readonly origin?: Partial<QueryOrigin> } = {},
): Promise<Submitted> {
  const run = async (_signal: AbortSignal, cursorRows?: number): Promise<EngineResponse> => {
    seen.push(['run', cursorRows]);
    return { ...answer(cursorRows), url: URL };
  };
  return submissionsOf(native).submit(run, { ...ORIGIN, ...origin }, signal);
}

describe('a submission of a query whose result the engine keeps', () => {
  it('asks for the rows of the first page, and holds them until it is closed', async () => {
    const found = await submitted(() => responseOf(cursorText()));
    if (found.kind !== 'stored' || found.page === undefined) throw new Error(found.kind);
    const { record } = found.reader;
    expect(record).toMatchObject({ requestId: newCursorId('gw-0', random), rowCount: 10, cursor: { url: URL } });
    const text = rowTexts(4).join(',');
    expect(await collect(found.page.rows)).toBe(text);
    expect(seen).toEqual([['run', 4], ['scanned', Buffer.byteLength(text)], ['paged', found.page.length], 'stored']);
    expect(readers.isBeingRead(record.requestId)).toBe(true);
    readers.hold(readers.tracked(found.reader), 62 * MB);
    expect(readers.room).toBe(2 * MB - Buffer.byteLength(text));
    await found.reader.close();
    expect(readers.room).toBe(2 * MB);
  });

  it('has the id that the caller of an asynchronous query knows', async () => {
    const accepted = { requestId: newCursorId('gw-0', () => new Uint8Array(15)), submissionTimeMs: 500 };
    const found = await submitted(() => responseOf(cursorText()), { origin: { accepted } });
    expect(found).toMatchObject({ kind: 'stored', reader: { record: accepted } });
  });

  it('without rows is asked again without a cursor, for its columns', async () => {
    const none = cursorText({ rows: [], numRowsResultSet: 0, numRows: 0 });
    const found = await submitted((cursorRows) => responseOf(cursorRows === undefined ? answerText([]) : none));
    if (found.kind !== 'stored') throw new Error(found.kind);
    const { rowCount, cursor, requestId } = found.reader.record;
    expect([rowCount, cursor, requestId]).toEqual([0, undefined, newRequestId('gw-0', random)]);
    expect(seen).toEqual([['run', 4], 'forgotten', ['run', undefined], ['scanned', 0], 'stored']);
    await found.reader.close();
    expect(readers.room).toBe(4 * MB);
  });

  it('without rows is stored without columns where the engine names none in the second response either', async () => {
    const none = cursorText({ rows: [], numRowsResultSet: 0, numRows: 0 }).replace(
      /"resultTable":\{.*?"rows":\[\]\},/,
      '',
    );
    const found = await submitted((rows) => responseOf(rows === undefined ? NO_SERVER_QUERIED : none));
    if (found.kind !== 'stored') throw new Error(found.kind);
    expect(found.reader.record).toMatchObject({ rowCount: 0, dataSchema: '{"columnNames":[],"columnDataTypes":[]}' });
    expect(seen).toEqual([['run', 4], 'forgotten', ['run', undefined], ['scanned', 0], 'stored']);
    await found.reader.close();
  });

  it('whose columns are null is rejected, and forgotten at the engine', async () => {
    const text = cursorText().replace(/"dataSchema":\{[^}]*\}/, '"dataSchema":null');
    await expect(submitted(() => responseOf(text))).rejects.toMatchObject({ code: 'bad-answer' });
    expect(seen).toEqual([['run', 4], 'forgotten', 'failed']);
  });

  it('that the engine refuses returns its response', async () => {
    expect(await submitted(() => responseOf('no', { status: 500 }))).toMatchObject({
      kind: 'refused',
      response: { status: 500 },
    });
    expect(seen).toEqual([['run', 4], 'not_stored']);
  });

  it('with exceptions returns the response, whose memory is held until it is closed', async () => {
    const text = cursorText({ exceptions: [{ errorCode: 200, message: 'x' }] });
    const rows = Buffer.byteLength(rowTexts(4).join(','));
    const found = await submitted(() => responseOf(text));
    if (found.kind !== 'engine-answer') throw new Error(found.kind);
    expect(seen).toEqual([['run', 4], 'forgotten', 'not_stored']);
    const other = readers.tracked({ record: { requestId: 'x' } } as never);
    readers.hold(other, 62 * MB);
    expect(readers.room).toBe(2 * MB - rows);
    expect(await collect(found.body)).toBe(text);
    expect(readers.room).toBe(2 * MB);
  });

  it('that fails holds no memory', async () => {
    const failing = submitted(() => responseOf(cursorText({ offset: 1 })));
    await expect(failing).rejects.toMatchObject({ code: 'bad-answer' });
    readers.hold(readers.tracked({ record: { requestId: 'x' } } as never), 62 * MB);
    expect([seen.at(-1), readers.room]).toEqual(['failed', 2 * MB]);
  });

  it('is one for this gateway where the setting is off', async () => {
    const found = await submitted(() => responseOf(answerText(rowTexts(2))), { native: false });
    if (found.kind !== 'stored') throw new Error(found.kind);
    expect([found.page, found.reader.record.cursor]).toEqual([undefined, undefined]);
    expect(seen[0]).toEqual(['run', undefined]);
    await found.reader.close();
  });

  it('has an id that says so', () => {
    expect(submissionsOf(true).newId()).toBe(newCursorId('gw-0', random));
    expect(submissionsOf(false).newId()).toBe(newRequestId('gw-0', random));
  });
});
