import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NO_METRICS } from '../../../../src/results/metrics.ts';
import { holderTag, newRequestId } from '../../../../src/results/request-id.ts';
import type { ResultReader, ResultRecord, ResultStore } from '../../../../src/results/result-store.ts';
import { BEAT_MS, QueryRuns } from '../../../../src/results/runs/runs.ts';
import { noteToJson, type RunState, type RunStatus } from '../../../../src/results/runs/status.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { submission } from '../answers.ts';
import { HeldQuery, OWNER } from './held-query.ts';
import { RecordedNotes } from './recorded-notes.ts';

const signal = new AbortController().signal;
const DAY_MS = 86_400_000;
const FAILURE = { kind: 'failed', status: 500, message: 'x' } as const;
const ALIVE = `put ${holderTag('gw-0')}-${'0'.repeat(30)}.alive`;
const FOREIGN = newRequestId('gw-1', (bytes) => Buffer.alloc(bytes, 1));

let clock: FakeClock;
let notes: RecordedNotes;
let problems: string[];
let seen: unknown[];
/** Ids that the store was asked for. */
let opened: string[];
/** What the store then has. */
let results: (ResultRecord | undefined)[];
let open: QueryRuns[];
beforeEach(() => {
  clock = new FakeClock();
  notes = new RecordedNotes();
  problems = [];
  seen = [];
  opened = [];
  results = [];
  open = [];
});
afterEach(async () => {
  notes.wait = () => undefined;
  for (const runs of open) {
    const closing = runs.close();
    await clock.advance(10_000);
    await closing;
  }
});

function runsOf({ local = false, measured = true, maxRunning = 16, maxPerCaller = 2_000 } = {}): QueryRuns {
  let ids = 0;
  const async = { ...DEFAULT_PAGINATION_SETTINGS.async, maxRunning, maxPerCaller };
  const store = {
    local,
    notes,
    open: async (requestId: string): Promise<ResultReader | undefined> => {
      opened.push(requestId);
      const record = results.shift();
      return record && ({ record, close: async () => void seen.push('close') } as ResultReader);
    },
  } as unknown as ResultStore;
  const runs = new QueryRuns({
    store,
    settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, async }),
    gatewayId: 'gw-0',
    clock,
    instance: 'a',
    newId: () => newRequestId('gw-0', (bytes) => Buffer.alloc(bytes, `${++ids}-`)),
    ...(measured && {
      metrics: {
        ...NO_METRICS,
        asyncActive: (waiting, running) => void seen.push([waiting, running]),
        asyncEnded: (state) => void seen.push(state),
      },
    }),
    onProblem: (message) => problems.push(message),
  });
  open.push(runs);
  return runs;
}

const record = (requestId: string, expirationTimeMs = clock.now() + 1): ResultRecord =>
  submission({ requestId, expirationTimeMs }) as ResultRecord;

/** The note of a query that another gateway runs. */
function note(state: RunState, more: Partial<RunStatus> = {}): void {
  const status = { brokerId: 'gw-1', owner: OWNER, tables: [], submissionTimeMs: 1, rowCount: 0, bytes: 0, ...more };
  notes.kept.set(
    `${FOREIGN}.run`,
    noteToJson({ version: 1, instance: 'b', status: { requestId: FOREIGN, state, ...status } }),
  );
  notes.kept.set(`${holderTag('gw-1')}-${'0'.repeat(30)}.alive`, JSON.stringify({ instance: 'b', atMs: clock.now() }));
}

/** The calls since the last look. */
const calls = (): string[] => notes.calls.splice(0);

describe('the notes of a gateway with asynchronous queries', () => {
  it('in a shared store are a sign of life, and the state of each query', async () => {
    const runs = runsOf({ maxRunning: 1 });
    const first = new HeldQuery();
    const { requestId } = await runs.submit(first);
    expect(calls()).toEqual([ALIVE, `put ${requestId}.run`, `put ${requestId}.run`]);
    const { requestId: waiting } = await runs.submit(new HeldQuery());
    // The gateway gives a sign of life once an interval, and a query that waits has no other state.
    expect(calls()).toEqual([`put ${waiting}.run`]);
    await clock.advance(BEAT_MS);
    expect(calls().toSorted()).toEqual(
      [ALIVE, `put ${requestId}.run`, `get ${requestId}.cancel`, `get ${waiting}.cancel`].toSorted(),
    );
    first.end(FAILURE);
    await settle();
    expect(calls().toSorted()).toEqual(
      [`put ${requestId}.run`, `delete ${requestId}.cancel`, `put ${waiting}.run`].toSorted(),
    );
  });

  it('end with the queries, and begin again with the next one', async () => {
    const runs = runsOf();
    const query = new HeldQuery();
    await runs.submit(query);
    query.end(FAILURE);
    await settle();
    calls();
    await clock.advance(BEAT_MS);
    expect(calls()).toEqual([]);
    const { requestId } = await runs.submit(new HeldQuery());
    expect(calls()).toEqual([ALIVE, `put ${requestId}.run`, `put ${requestId}.run`]);
  });

  it('in a local store are only about its queries, and nobody else asks to cancel them', async () => {
    const runs = runsOf({ local: true });
    const query = new HeldQuery();
    const { requestId } = await runs.submit(query);
    await clock.advance(3 * BEAT_MS);
    expect(calls()).toEqual([`put ${requestId}.run`]);
    query.end({ kind: 'stored', rowCount: 1, bytes: 1, expirationTimeMs: 9 });
    await settle();
    expect(calls()).toEqual([`delete ${requestId}.run`]);
  });
});

describe('the state of a query', () => {
  it('is not looked up for a text that is no id', async () => {
    expect(await runsOf().find('../x', signal)).toBeUndefined();
    expect([opened, calls()]).toEqual([[], []]);
  });

  it('is that of this process, without the store', async () => {
    const runs = runsOf();
    const query = new HeldQuery();
    const { requestId } = await runs.submit(query);
    calls();
    expect(await runs.find(requestId, signal)).toMatchObject({ state: 'running' });
    query.end(FAILURE);
    await settle();
    expect(await runs.find(requestId, signal)).toMatchObject({ state: 'failed', error: { status: 500 } });
    expect(opened).toEqual([]);
  });

  it('is done with a result that has not expired', async () => {
    const runs = runsOf();
    results = [record(FOREIGN, clock.now() + 1)];
    expect(await runs.find(FOREIGN, signal)).toMatchObject({ state: 'done', requestId: FOREIGN });
    expect([seen, calls()]).toEqual([['close'], []]);
    results = [record(FOREIGN, clock.now()), record(FOREIGN, clock.now())];
    expect(await runs.find(FOREIGN, signal)).toBeUndefined();
    expect(seen).toEqual(['close', 'close', 'close']);
  });

  it('is that of the note of another gateway, and then the result is not looked up again', async () => {
    note('running');
    expect(await runsOf().find(FOREIGN, signal)).toMatchObject({ state: 'running', brokerId: 'gw-1' });
    expect(opened).toEqual([FOREIGN]);
  });

  it('is failed when its gateway has given no sign of life for 45 seconds', async () => {
    note('running');
    clock.jump(44_999);
    expect(await runsOf().find(FOREIGN, signal)).toMatchObject({ state: 'running' });
    clock.jump(1);
    expect(await runsOf().find(FOREIGN, signal)).toMatchObject({ state: 'failed', error: { status: 503 } });
  });

  it.each(['failed', undefined] as const)(
    'is done where the result was completed after the first look, and the note says: %s',
    async (state) => {
      if (state !== undefined) note(state);
      results = [undefined, record(FOREIGN)];
      expect(await runsOf().find(FOREIGN, signal)).toMatchObject({ state: 'done' });
      results = [];
      const found = await runsOf().find(FOREIGN, signal);
      expect(found?.state).toBe(state);
      expect(opened).toHaveLength(4);
    },
  );

  it('is known, or it is not', async () => {
    const runs = runsOf();
    expect(await runs.isKnown(FOREIGN, signal)).toBe(false);
    note('cancelled');
    expect(await runs.isKnown(FOREIGN, signal)).toBe(true);
  });
});

describe('a cancellation', () => {
  it('of a query of this gateway waits for its end, at most five seconds', async () => {
    const runs = runsOf();
    const [ending, other] = [new HeldQuery(), new HeldQuery()];
    const end = Promise.withResolvers<typeof FAILURE>();
    other.execute = () => end.promise;
    const [a, b] = [await runs.submit(ending), await runs.submit(other)];
    const cancelled = await runs.cancel(a.requestId, signal);
    expect(cancelled).toMatchObject({ state: 'cancelled', error: { status: 499 } });
    expect(cancelled).not.toHaveProperty('cancelRequested');
    let answer: RunStatus | undefined;
    const waiting = runs.cancel(b.requestId, signal).then((status) => (answer = status));
    await clock.advance(4_999);
    expect(answer).toBeUndefined();
    await clock.advance(1);
    expect(await waiting).toMatchObject({ state: 'running', cancelRequested: true });
    end.resolve(FAILURE);
    await settle();
    expect(await runs.cancel(b.requestId, signal)).toMatchObject({ state: 'cancelled' });
    expect(opened).toEqual([]);
  });

  it('of an unknown query, or of one that has ended, does nothing', async () => {
    const runs = runsOf();
    expect(await runs.cancel(FOREIGN, signal)).toBeUndefined();
    results = [record(FOREIGN)];
    expect(await runs.cancel(FOREIGN, signal)).toMatchObject({ state: 'done' });
    note('failed');
    expect(await runs.cancel(FOREIGN, signal)).toMatchObject({ state: 'failed' });
    expect(calls().filter((call) => call.startsWith('put'))).toEqual([]);
  });

  it('of a query of another gateway asks that one', async () => {
    note('queued');
    expect(await runsOf().cancel(FOREIGN, signal)).toMatchObject({ state: 'queued', cancelRequested: true });
    expect(calls()).toContain(`put ${FOREIGN}.cancel`);
  });
});

describe('the queries that a gateway knows', () => {
  it('are those that have not ended, and for a day those that have no result', async () => {
    const runs = runsOf();
    const [failed, done, active] = [new HeldQuery(), new HeldQuery(), new HeldQuery()];
    const [a, b, c] = [await runs.submit(failed), await runs.submit(done), await runs.submit(active)];
    failed.end(FAILURE);
    done.end({ kind: 'stored', rowCount: 1, bytes: 1, expirationTimeMs: 9 });
    await settle();
    const own = (): unknown[] => [...runs.own()].map(({ requestId, state }) => [requestId, state]);
    expect(own()).toEqual([
      [c.requestId, 'running'],
      [a.requestId, 'failed'],
    ]);
    clock.jump(DAY_MS - 1);
    expect(own()).toHaveLength(2);
    clock.jump(1);
    expect(own()).toEqual([[c.requestId, 'running']]);
    // The note of this gateway says nothing more about them.
    notes.kept.set(`${b.requestId}.run`, notes.kept.get(`${a.requestId}.run`)!);
    note('failed');
    const noted: string[] = [];
    for await (const { requestId } of runs.noted(() => undefined, signal)) noted.push(requestId);
    expect(noted).toEqual([FOREIGN]);
    expect(calls()).not.toContain(`get ${c.requestId}.run`);
    expect(calls()).not.toContain(`get ${a.requestId}.run`);
  });

  it.each([
    ['1,000 that have ended', 1000, (at: number) => `caller ${at}`],
    ['100 of one caller that have ended', 100, () => OWNER],
  ])('are at most %s, the newest ones', async (_what, most, ownerOf) => {
    const runs = runsOf({ local: true });
    const ended = async (at: number): Promise<string> => {
      const query = new HeldQuery(ownerOf(at));
      query.execute = async () => FAILURE;
      return (await runs.submit(query)).requestId;
    };
    const first = await ended(0);
    for (let at = 1; at < most; at++) await ended(at);
    await settle();
    expect([[...runs.own()].length, notes.kept.size]).toEqual([most, most]);
    expect(await runs.isKnown(first, signal)).toBe(true);
    await ended(most);
    await settle();
    expect([[...runs.own()].length, notes.kept.size]).toEqual([most, most]);
    expect(await runs.isKnown(first, signal)).toBe(false);
  });

  it('are counted', async () => {
    const runs = runsOf({ maxRunning: 1 });
    const [first, second] = [new HeldQuery(), new HeldQuery()];
    await runs.submit(first);
    await runs.submit(second);
    expect(seen).toEqual([
      [0, 1],
      [1, 1],
    ]);
    first.end(FAILURE);
    await settle();
    expect(seen.slice(2)).toEqual(['failed', [0, 1]]);
    second.end({ kind: 'stored', rowCount: 1, bytes: 1, expirationTimeMs: 9 });
    await settle();
    expect(seen.slice(4)).toEqual(['done', [0, 0]]);
  });

  it('need no metrics', async () => {
    const query = new HeldQuery();
    await runsOf({ measured: false }).submit(query);
    query.end(FAILURE);
    await settle();
    expect([query.ended, problems]).toEqual([1, []]);
  });
});

describe('a gateway that stops', () => {
  it('ends its queries, starts none, and accepts none', async () => {
    const runs = runsOf({ maxRunning: 1 });
    const [running, waiting] = [new HeldQuery(), new HeldQuery()];
    const [a, b] = [await runs.submit(running), await runs.submit(waiting)];
    const closing = runs.close();
    await expect(runs.submit(new HeldQuery())).rejects.toMatchObject({ code: 'busy' });
    await closing;
    expect([running.ended, waiting.ended, waiting.run]).toEqual([1, 1, undefined]);
    for (const { requestId } of [a, b]) {
      expect(JSON.parse(notes.kept.get(`${requestId}.run`)!)).toMatchObject({
        status: { state: 'failed', error: { status: 503, message: 'the gateway was stopped: run the query again' } },
      });
    }
    expect(problems).toEqual([]);
  });
});

describe('a query that fails', () => {
  it('without a reason is an internal error, which is reported', async () => {
    const runs = runsOf();
    const query = new HeldQuery();
    query.execute = () => Promise.reject(new Error('a fault of the program'));
    const { requestId } = await runs.submit(query);
    await settle();
    expect(await runs.find(requestId, signal)).toMatchObject({
      state: 'failed',
      error: { status: 500, message: 'internal error; the log of the gateway has details' },
    });
    expect(problems).toEqual([`the asynchronous query ${requestId} failed: a fault of the program`]);
  });

  it('has a state although it cannot be stored, which is reported', async () => {
    const runs = runsOf();
    const query = new HeldQuery();
    const { requestId } = await runs.submit(query);
    await settle();
    notes.wait = () => Promise.reject(new Error('closed'));
    query.end(FAILURE);
    await settle();
    expect(await runs.find(requestId, signal)).toMatchObject({ state: 'failed' });
    expect(problems).toEqual(['failed to store the state of an asynchronous query: closed']);
  });
});
