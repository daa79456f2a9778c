import { beforeEach, describe, expect, it } from 'vitest';
import { tableNameOf } from '../../../../src/pinot/table-name.ts';
import {
  type AsyncQuery,
  CANCELLED,
  REVOKED,
  Run,
  type RunEnd,
  type RunHandle,
} from '../../../../src/results/runs/run.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const MAX_MS = 60_000;
const IDS = { requestId: 'r1', brokerId: 'gw-0', submissionTimeMs: 1000 };
const TABLES = [tableNameOf('orders')];
const STORED: RunEnd = { kind: 'stored', rowCount: 5, bytes: 70, expirationTimeMs: 9000 };
const FAILED: RunEnd = { kind: 'failed', status: 500, message: 'disk' };
const LATE = {
  status: 504,
  message: 'the query did not end within 60000 ms (`olap.broker.pagination.async.max.time`)',
};

let clock: FakeClock;
let handle: RunHandle | undefined;
let ends: number;
let cancelled: string[];
let result: PromiseWithResolvers<RunEnd>;
beforeEach(() => {
  clock = new FakeClock();
  handle = undefined;
  ends = 0;
  cancelled = [];
  result = Promise.withResolvers();
});

function runOf(sql: string | undefined = 'SELECT 1'): Run {
  const query: AsyncQuery = {
    owner: 'ann',
    sql,
    tables: TABLES,
    heldBytes: 1,
    isAllowed: () => true,
    execute: (given) => {
      handle = given;
      return result.promise;
    },
    cancelAtEngine: async (requestId) => void cancelled.push(requestId),
    onEnd: () => void ends++,
  };
  return new Run(query, IDS, MAX_MS, clock);
}

describe('an asynchronous query', () => {
  it('is queued at first', () => {
    const run = runOf();
    const status = { ...IDS, owner: 'ann', tables: TABLES, state: 'queued', rowCount: 0, bytes: 0 };
    expect(run.status).toEqual({ ...status, sql: 'SELECT 1' });
    expect(run.requestId).toBe('r1');
  });

  it('has no text where none is recorded', () => {
    const query = { ...runOf().query, sql: undefined };
    expect(new Run(query, IDS, MAX_MS, clock).status).not.toHaveProperty('sql');
  });

  it('has not started before it is started', () => {
    const run = runOf();
    expect(run.isStarted).toBe(false);
    void run.start();
    expect(run.isStarted).toBe(true);
  });

  it('runs with the time that is left, and reports its rows', async () => {
    const run = runOf();
    await clock.advance(20_000);
    const done = run.start();
    expect(run.status).toMatchObject({ state: 'running', startTimeMs: clock.now() });
    expect(handle).toMatchObject({ requestId: 'r1', submissionTimeMs: 1000, remainingMs: 40_000, signal: run.signal });
    handle!.onResponse();
    handle!.onRows(3, 40);
    expect(run.status).toMatchObject({ state: 'storing', rowCount: 3, bytes: 40 });
    clock.jump(500);
    result.resolve(STORED);
    await done;
    expect(run.status).toEqual({
      ...IDS,
      owner: 'ann',
      sql: 'SELECT 1',
      tables: TABLES,
      state: 'done',
      startTimeMs: clock.now() - 500,
      endTimeMs: clock.now(),
      rowCount: 5,
      bytes: 70,
      expirationTimeMs: 9000,
    });
    expect([ends, cancelled, clock.timers]).toEqual([1, [], 0]);
    await run.ended;
  });

  it('has a millisecond where it is started at its end', () => {
    const run = runOf();
    clock.jump(MAX_MS + 1);
    void run.start();
    expect(handle!.remainingMs).toBe(1);
  });

  it('has the warnings of its result', async () => {
    const run = runOf();
    result.resolve({ ...STORED, warnings: ['cut'] });
    await run.start();
    expect(run.status).toMatchObject({ state: 'done', warnings: ['cut'] });
  });

  it('that fails by itself is not cancelled at the engine', async () => {
    const run = runOf();
    result.resolve(FAILED);
    await run.start();
    expect(run.status).toMatchObject({ state: 'failed', error: { status: 500, message: 'disk' } });
    expect([ends, cancelled, run.signal.aborted]).toEqual([1, [], false]);
  });

  it('that is stopped ends with the first reason, and is cancelled at the engine', async () => {
    const run = runOf();
    const done = run.start();
    run.stop(REVOKED);
    run.stop(CANCELLED);
    expect([run.signal.aborted, (run.signal.reason as Error).message]).toEqual([true, REVOKED.message]);
    expect(run.status.state).toBe('running');
    result.resolve(FAILED);
    await done;
    const { state, error } = run.status;
    expect({ state, ...error }).toEqual(REVOKED);
    expect([ends, cancelled]).toEqual([1, ['r1']]);
  });

  it('that is stopped while its result becomes complete is done', async () => {
    const run = runOf();
    const done = run.start();
    run.stop(CANCELLED);
    result.resolve(STORED);
    await done;
    expect([run.status.state, cancelled]).toEqual(['done', []]);
  });

  it('that takes too long ends at its time, which began with its submission', async () => {
    const run = runOf();
    await clock.advance(MAX_MS - 1);
    expect(run.signal.aborted).toBe(false);
    const done = run.start();
    await clock.advance(1);
    expect(run.signal.aborted).toBe(true);
    result.resolve(FAILED);
    await done;
    expect(run.status).toMatchObject({ state: 'failed', error: LATE });
    expect(cancelled).toEqual(['r1']);
  });

  it('that never ran ends with the failure, the reason of the stop, or the end of its time', async () => {
    const [failed, stopped, late] = [runOf(), runOf(), runOf()];
    const failure = { status: 503, message: 'the store is full' };
    failed.endWithout(failure);
    expect(failed.status).toMatchObject({ state: 'failed', error: failure });
    stopped.stop(CANCELLED);
    stopped.endWithout(failure);
    expect(stopped.status).toMatchObject({ state: 'cancelled', error: { status: 499 } });
    await clock.advance(MAX_MS);
    late.endWithout(failure);
    expect(late.status).toMatchObject({ state: 'failed', error: LATE });
    expect(ends).toBe(3);
  });

  it('does not change after its end, except when its state is forgotten', async () => {
    const run = runOf();
    const done = run.start();
    run.endWithout({ status: 500, message: 'first' });
    const { status } = run;
    run.endWithout({ status: 500, message: 'second' });
    run.stop(CANCELLED);
    handle!.onResponse();
    handle!.onRows(3, 40);
    result.resolve(STORED);
    await done;
    await settle();
    expect(run.status).toBe(status);
    expect([ends, run.signal.aborted]).toEqual([1, false]);
    run.forgetAt(7000);
    expect(run.status).toEqual({ ...status, expirationTimeMs: 7000 });
  });
});
