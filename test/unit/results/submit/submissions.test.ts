import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import { EngineError, type EngineResponse } from '../../../../src/pinot/types.ts';
import { NO_METRICS } from '../../../../src/results/metrics.ts';
import { Readers } from '../../../../src/results/rows/readers.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import type { ResultRecord } from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { type QueryOrigin, Submissions } from '../../../../src/results/submit/submissions.ts';
import type { SubmissionHooks } from '../../../../src/results/submit/submit.ts';
import { type SendQuery, submit } from '../../../support/submit.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { answerText, collect, responseOf, rowTexts } from '../answers.ts';

const signal = new AbortController().signal;
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7);
const ORIGIN: QueryOrigin = { owner: 'ann', tables: [tableNameOf('orders')] };
const ACCEPTED = { requestId: newRequestId('gw-0', () => new Uint8Array(15)), submissionTimeMs: 500 };
const ROWS = rowTexts(3);

let clock: FakeClock;
let settings: { maxSubmissions: number; defaultLimit: number; expirationMs: number };
let outcomes: string[];
let scanned: number[];
let readers: Readers;
let submissions: Submissions;
beforeEach(() => {
  clock = new FakeClock();
  settings = { maxSubmissions: 64, defaultLimit: 0, expirationMs: 60_000 };
  outcomes = [];
  scanned = [];
  readers = new Readers();
  submissions = new Submissions(
    {
      store: new MemoryStore({ maxBytes: 1_000_000 }),
      settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, ...settings }),
      identity: { id: 'gw-0', host: 'gw-0.test', port: 8080 },
      clock,
      random,
      metrics: {
        ...NO_METRICS,
        submitted: (outcome) => void outcomes.push(outcome),
        scanned: (bytes) => void scanned.push(bytes),
      },
    },
    readers,
  );
});

const rows: SendQuery = async () => responseOf(answerText(ROWS));

async function recordOf(
  origin: Partial<QueryOrigin> = {},
  run: SendQuery = rows,
  hooks?: SubmissionHooks,
): Promise<ResultRecord> {
  const submitted = await submit(submissions, run, { origin: { ...ORIGIN, ...origin }, signal, hooks });
  if (submitted.kind !== 'stored') throw new Error(submitted.kind);
  await submitted.reader.close();
  return submitted.reader.record;
}

describe('the record of a submitted query', () => {
  it('has its origin, its times and an id of this gateway', async () => {
    const started = clock.now();
    const record = await recordOf({}, async (...asked) => {
      expect(asked).toEqual([signal]);
      clock.jump(5000);
      return rows(...asked);
    });
    expect(record).toMatchObject({
      requestId: newRequestId('gw-0', random),
      brokerId: 'gw-0',
      owner: 'ann',
      tables: ['orders'],
      submissionTimeMs: started,
      storedTimeMs: started + 5000,
      expirationTimeMs: started + 60_000,
      rowCount: 3,
    });
    for (const name of ['sql', 'warnings']) expect(record).not.toHaveProperty(name);
    expect([outcomes, scanned]).toEqual([['stored'], [ROWS.join(',').length + 3]]);
  });

  it('of an asynchronous query has the id and the time that its caller knows, and expires after its end', async () => {
    const record = await recordOf({ accepted: ACCEPTED }, async (...asked) => {
      clock.jump(5000);
      return rows(...asked);
    });
    expect(record).toMatchObject({ ...ACCEPTED, storedTimeMs: clock.now(), expirationTimeMs: clock.now() + 60_000 });
  });

  it('has the first 4,096 characters of the text', async () => {
    const sqlOf = async (sql: string): Promise<string | undefined> => (await recordOf({ sql })).sql;
    expect(await sqlOf('')).toBe('');
    expect(await sqlOf('x'.repeat(4096))).toBe('x'.repeat(4096));
    expect(await sqlOf('x'.repeat(4097))).toBe(`${'x'.repeat(4095)}…`);
    // Not one half of a character.
    expect(await sqlOf(`${'x'.repeat(4094)}😀x`)).toBe(`${'x'.repeat(4094)}\ufffd…`);
  });

  it('warns where the default of the engine may have limited the rows', async () => {
    const warned = async (defaultLimit: number, hasDefaultLimit?: boolean): Promise<readonly string[] | undefined> => {
      settings.defaultLimit = defaultLimit;
      return (await recordOf(hasDefaultLimit === undefined ? {} : { hasDefaultLimit })).warnings;
    };
    expect(await warned(3, true)).toEqual([
      'the query has no LIMIT, so the engine returned at most its default of 3 rows, and the result has exactly so many: ' +
        'it may be incomplete. End the query with the LIMIT that you need',
    ]);
    for (const limit of [2, 4, 0]) expect(await warned(limit, true)).toBeUndefined();
    expect(await warned(3, false)).toBeUndefined();
    expect(await warned(3)).toBeUndefined();
    // Without a default, a result without rows has not exactly so many.
    settings.defaultLimit = 0;
    const empty = await recordOf({ hasDefaultLimit: true }, async () => responseOf(answerText([])));
    expect([empty.rowCount, empty.warnings]).toEqual([0, undefined]);
  });

  it('has the tables that the inspection adds', async () => {
    const inspect: SubmissionHooks['inspect'] = (_fields, count) => [tableNameOf(`more${count}`)];
    expect((await recordOf({}, rows, { inspect })).tables).toEqual(['orders', 'more3']);
  });
});

describe('a submission', () => {
  it('protects its result from the cleaner until it is closed', async () => {
    const submitted = await submit(submissions, rows, { origin: ORIGIN, signal });
    if (submitted.kind !== 'stored') throw new Error(submitted.kind);
    const { requestId } = submitted.reader.record;
    expect(readers.isBeingRead(requestId)).toBe(true);
    await submitted.reader.close();
    expect(readers.isBeingRead(requestId)).toBe(false);
  });

  it('that the engine refuses returns its response', async () => {
    const response = responseOf('no', { status: 429 });
    const submitted = await submit(submissions, async () => response, { origin: ORIGIN, signal });
    expect(submitted).toEqual({ kind: 'refused', response });
    expect([outcomes, scanned]).toEqual([['not_stored'], []]);
  });

  it('that fails returns the response of the engine', async () => {
    const text = '{"exceptions":[{"errorCode":190}],"numDocsScanned":3}';
    const submitted = await submit(submissions, async () => responseOf(text), { origin: ORIGIN, signal });
    if (submitted.kind !== 'unstored') throw new Error(submitted.kind);
    expect(await collect(submitted.body)).toBe(text);
    expect([outcomes, scanned]).toEqual([['not_stored'], []]);
  });

  it('whose response is no result fails, and stores nothing', async () => {
    const run: SendQuery = async () => responseOf('{"exceptions":[],"numDocsScanned":3}');
    await expect(submit(submissions, run, { origin: ORIGIN, signal })).rejects.toMatchObject({ code: 'bad-response' });
    expect([outcomes, scanned]).toEqual([['failed'], []]);
  });

  it('is refused while too many others run, of which asynchronous ones do not count', async () => {
    settings.maxSubmissions = 2;
    const gate = Promise.withResolvers<EngineResponse>();
    const waiting: SendQuery = () => gate.promise;
    const start = (origin = ORIGIN, run = waiting): Promise<unknown> => submit(submissions, run, { origin, signal });
    const running = [start(), start({ ...ORIGIN, accepted: ACCEPTED }), start({ ...ORIGIN, accepted: ACCEPTED })];
    running.push(start());
    await expect(start(ORIGIN, rows)).rejects.toMatchObject({
      code: 'busy',
      message: 'concurrent paginated query limit (2) of this gateway exceeded; try again later',
    });
    expect(outcomes).toEqual([]);
    // An asynchronous one has a limit of its own.
    running.push(start({ ...ORIGIN, accepted: ACCEPTED }));
    gate.reject(new Error('over'));
    await Promise.allSettled(running);
    expect(outcomes).toEqual(Array(5).fill('failed'));
    await start(ORIGIN, rows);
    expect(outcomes.at(-1)).toBe('stored');
  });

  it('has an id like those of its store', () => {
    expect(submissions.newId()).toBe(newRequestId('gw-0', random));
  });
});

describe('a response that breaks off while it is stored', () => {
  const broken = (error: Error): EngineResponse => ({
    ...responseOf(''),
    body: Readable.from(
      (async function* pieces() {
        yield Buffer.from(answerText(ROWS).slice(0, 100));
        throw error;
      })(),
    ),
  });
  const lost = new EngineError('unreachable', 'the connection was lost');
  /** @returns how often the query was run, and how it ended */
  const repeated = async (...responses: readonly (() => EngineResponse)[]): Promise<readonly [number, string]> => {
    let runs = 0;
    const run: SendQuery = async () => responses[Math.min(runs++, responses.length - 1)]!();
    const end = await submit(submissions, run, { origin: ORIGIN, signal }).catch(
      (error: unknown) => error as { code?: string },
    );
    return [runs, 'kind' in end ? end.kind : (end.code ?? 'other')];
  };
  const whole = (): EngineResponse => responseOf(answerText(ROWS));

  it('because the connection was lost is requested again, twice', async () => {
    expect(await repeated(() => broken(lost), whole)).toEqual([2, 'stored']);
    expect(
      await repeated(
        () => broken(lost),
        () => broken(lost),
        whole,
      ),
    ).toEqual([3, 'stored']);
    expect(await repeated(() => broken(lost))).toEqual([3, 'bad-response']);
    expect(outcomes).toEqual(['stored', 'stored', 'failed']);
  });

  it.each([
    ['a time-out', new EngineError('timeout', 'x')],
    ['another error', new Error('x')],
    ['another error with the same code', Object.assign(new Error('x'), { code: 'unreachable' })],
  ])('because of %s is not requested again', async (_what, error) => {
    expect(await repeated(() => broken(error), whole)).toEqual([1, 'bad-response']);
  });

  it('is not requested again where the query was not accepted or its response is not valid', async () => {
    const fails = (error: Error) => (): EngineResponse => {
      throw error;
    };
    expect(await repeated(fails(lost), whole)).toEqual([1, 'unreachable']);
    expect(await repeated(fails(new Error('x', { cause: lost })), whole)).toEqual([1, 'other']);
    expect(await repeated(() => responseOf('{'), whole)).toEqual([1, 'bad-response']);
  });
});
