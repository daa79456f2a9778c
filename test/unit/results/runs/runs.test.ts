import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holderTag, newRequestId } from '../../../../src/results/request-id.ts';
import { queriesOf } from '../../../../src/results/runs/listing.ts';
import type { RunEnd } from '../../../../src/results/runs/run.ts';
import { RunNotes } from '../../../../src/results/runs/run-notes.ts';
import { BEAT_MS, QueryRuns } from '../../../../src/results/runs/runs.ts';
import type { ResultStore } from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { FileStore } from '../../../../src/results/stores/file/file-store.ts';
import { ObjectResultStore } from '../../../../src/results/stores/object/object-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { answerText, responseOf, rowTexts, submission } from '../answers.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';
import { HeldQuery, OWNER } from './held-query.ts';

const SIGNAL = new AbortController().signal;
const HOUR_MS = 3_600_000;

describe('asynchronous queries of gateways', () => {
  let clock: FakeClock;
  let bucket: MemoryBucket;
  let folder: string;
  let problems: string[];
  let open: QueryRuns[];
  let ids: number;

  beforeEach(async () => {
    clock = new FakeClock();
    bucket = new MemoryBucket();
    problems = [];
    open = [];
    ids = 0;
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-runs-'));
  });
  afterEach(async () => {
    for (const runs of open) {
      const closing = runs.close();
      await clock.advance(10_000);
      await closing;
    }
    await rm(folder, { recursive: true });
  });

  const shared = (gatewayId: string): ResultStore =>
    new ObjectResultStore(bucket, { gatewayId, clock, onProblem: (message) => problems.push(message) });
  const local = (): FileStore =>
    new FileStore({
      dataDir: join(folder, 'data'),
      tempDir: join(folder, 'temp'),
      tag: holderTag('gateway-0'),
      clock,
      onProblem: (message) => problems.push(message),
    });
  const runsOf = (
    store: ResultStore,
    gatewayId: string,
    instance: string,
    settings = DEFAULT_PAGINATION_SETTINGS,
  ): QueryRuns => {
    const runs = new QueryRuns({
      store,
      settings: () => settings,
      gatewayId,
      clock,
      instance,
      newId: () => newRequestId(gatewayId, (bytes) => Buffer.alloc(bytes, `${++ids}-`)),
      onProblem: (message) => problems.push(message),
    });
    open.push(runs);
    return runs;
  };
  /** A gateway that ends without a word, as one that is killed. */
  const kill = (runs: QueryRuns): void => {
    open = open.filter((other) => other !== runs);
  };
  const stored = async (store: ResultStore, requestId: string): Promise<RunEnd> => {
    const into = submission({ requestId, owner: OWNER, expirationTimeMs: clock.now() + HOUR_MS });
    const outcome = await storeResponse(responseOf(answerText(rowTexts(5))), store, into, SIGNAL);
    if (outcome.kind !== 'stored') throw new Error('not stored');
    const { rowCount, rowBytes: bytes, expirationTimeMs } = outcome.reader.record;
    await outcome.reader.close();
    return { kind: 'stored', rowCount, bytes, expirationTimeMs };
  };
  const notes = (): string[] => [...bucket.objects.keys()].filter((key) => /\.(run|cancel)$/.test(key));

  it('are known to the other gateways of a shared store while they run and when they are done', async () => {
    const store = shared('gateway-0');
    const one = runsOf(store, 'gateway-0', 'a');
    const two = runsOf(shared('gateway-1'), 'gateway-1', 'b');
    const query = new HeldQuery();
    const { requestId } = await one.submit(query);
    expect(await two.find(requestId, SIGNAL)).toMatchObject({ state: 'running', brokerId: 'gateway-0', rowCount: 0 });
    query.run!.onResponse();
    query.run!.onRows(3, 40);
    await clock.advance(BEAT_MS);
    expect(await two.find(requestId, SIGNAL)).toMatchObject({ state: 'storing', rowCount: 3, bytes: 40 });
    query.end(await stored(store, requestId));
    await settle();
    for (const runs of [one, two]) {
      expect(await runs.find(requestId, SIGNAL)).toMatchObject({ state: 'done', rowCount: 5, owner: OWNER });
    }
    expect([notes(), query.ended]).toEqual([[], 1]);
  });

  it('are cancelled by another gateway of a shared store', async () => {
    const one = runsOf(shared('gateway-0'), 'gateway-0', 'a');
    const two = runsOf(shared('gateway-1'), 'gateway-1', 'b');
    const query = new HeldQuery();
    const { requestId } = await one.submit(query);
    expect(await two.cancel(requestId, SIGNAL)).toMatchObject({ state: 'running', cancelRequested: true });
    expect(await two.find(requestId, SIGNAL)).toMatchObject({ state: 'running', cancelRequested: true });
    await clock.advance(BEAT_MS);
    expect(await two.find(requestId, SIGNAL)).toMatchObject({ state: 'cancelled', error: { status: 499 } });
    expect(await two.cancel(requestId, SIGNAL)).toMatchObject({ state: 'cancelled' });
    expect([query.cancelled, notes()]).toEqual([[requestId], [`${requestId}.run`]]);
  });

  it.each(['queued', 'running', 'storing'])(
    'have failed where their gateway was killed while they were %s',
    async (state) => {
      const one = runsOf(shared('gateway-0'), 'gateway-0', 'a');
      const two = runsOf(shared('gateway-1'), 'gateway-1', 'b');
      const queries = Array.from(
        { length: DEFAULT_PAGINATION_SETTINGS.async.maxRunning + 1 },
        (_, at) => new HeldQuery(`u${at}`),
      );
      const all = [];
      for (const query of queries) all.push(await one.submit(query));
      const { requestId } = (state === 'queued' ? all.at(-1) : all[0])!;
      if (state === 'storing') queries[0]!.run!.onResponse();
      await clock.advance(BEAT_MS);
      expect(await two.find(requestId, SIGNAL)).toMatchObject({ state });
      kill(one);
      // Its timers end with the process.
      clock.jump(60_000);
      const lost = {
        state: 'failed',
        error: { status: 503, message: expect.stringContaining('`gateway-0` ended or restarted') },
      };
      expect(await two.find(requestId, SIGNAL)).toMatchObject(lost);
      expect(await two.cancel(requestId, SIGNAL)).toMatchObject(lost);
      // The gateway restarts with the same name, and runs another query.
      const again = runsOf(shared('gateway-0'), 'gateway-0', 'c');
      await again.submit(new HeldQuery());
      for (const runs of [two, again]) expect(await runs.find(requestId, SIGNAL)).toMatchObject(lost);
    },
  );

  it('are done where their gateway was killed after their result was complete', async () => {
    const store = shared('gateway-0');
    const one = runsOf(store, 'gateway-0', 'a');
    const query = new HeldQuery();
    const { requestId } = await one.submit(query);
    await stored(store, requestId);
    kill(one);
    clock.jump(60_000);
    const two = runsOf(shared('gateway-1'), 'gateway-1', 'b');
    expect(await two.find(requestId, SIGNAL)).toMatchObject({ state: 'done', rowCount: 5 });
  });

  it('have failed after a restart of a gateway with a local store', async () => {
    const store = local();
    await store.start();
    const before = runsOf(store, 'gateway-0', 'a');
    const { requestId } = await before.submit(new HeldQuery());
    kill(before);
    const again = local();
    await again.start();
    const after = runsOf(again, 'gateway-0', 'b');
    expect(await after.find(requestId, SIGNAL)).toMatchObject({
      state: 'failed',
      error: { status: 503, message: expect.stringContaining('ended or restarted') },
    });
    const options = { store: again, runs: after, clock };
    expect(await queriesOf(OWNER, { limit: 10 }, options, SIGNAL)).toMatchObject({
      queries: [{ requestId, state: 'failed' }],
      isIncomplete: false,
    });
    expect(await queriesOf('srn2:user#bob', { limit: 10 }, options, SIGNAL)).toMatchObject({ queries: [] });
  });

  it('are listed as incomplete where the store has more than 5,000 states', async () => {
    const store = shared('gateway-0');
    const runs = runsOf(store, 'gateway-0', 'a');
    let states = 5000;
    store.notes.list = async function* list() {
      for (let count = 0; count < states; count++) yield `${count}`;
    };
    store.notes.get = async () => undefined;
    const listed = () => queriesOf(OWNER, { limit: 10 }, { store, runs, clock }, SIGNAL);
    expect(await listed()).toEqual({ queries: [], isIncomplete: false });
    states++;
    expect(await listed()).toEqual({ queries: [], isIncomplete: true });
  });

  it('of one caller run in at most three quarters of the places', async () => {
    const runs = runsOf(shared('gateway-0'), 'gateway-0', 'a');
    const { maxRunning, maxPerCaller } = DEFAULT_PAGINATION_SETTINGS.async;
    const states = [];
    for (let at = 0; at < maxPerCaller; at++) states.push((await runs.submit(new HeldQuery())).state);
    expect(states.filter((state) => state === 'running')).toHaveLength((maxRunning * 3) / 4);
    const others = [await runs.submit(new HeldQuery('bob')), await runs.submit(new HeldQuery('eve'))];
    expect(others.map(({ state }) => state)).toEqual(['running', 'running']);
  });

  it.each(['while they wait', 'when a place is free'])(
    'of a caller without rights end together, a thousand and more: %s',
    async (when) => {
      const count = 1_500;
      const async = { ...DEFAULT_PAGINATION_SETTINGS.async, maxPerCaller: count, maxInAll: count + 1, maxRunning: 2 };
      const store = local();
      // Files would take the time of the test.
      Object.assign(store, { notes: shared('gateway-0').notes });
      const runs = runsOf(store, 'gateway-0', 'a', { ...DEFAULT_PAGINATION_SETTINGS, async });
      const other = new HeldQuery('bob');
      const queries = Array.from({ length: count }, () => new HeldQuery());
      for (const query of queries) await runs.submit(query);
      await runs.submit(other);
      for (const query of queries) query.allowed = false;
      if (when === 'while they wait') await clock.advance(BEAT_MS);
      else queries.find(({ run }) => run !== undefined)!.end({ kind: 'failed', status: 500, message: 'x' });
      await settle();
      expect(queries.every(({ ended }) => ended === 1)).toBe(true);
      expect(problems).toEqual([]);
      expect([other.ended, other.run === undefined]).toEqual([0, false]);
    },
  );

  it('whose state is still being stored are not started, and end if their caller has lost its rights meanwhile', async () => {
    const store = shared('gateway-0');
    const runs = runsOf(store, 'gateway-0', 'a');
    const first = new HeldQuery();
    await runs.submit(first);
    const put = store.notes.put.bind(store.notes);
    const isStored = Promise.withResolvers<void>();
    store.notes.put = async (id, kind, content, signal) => {
      await isStored.promise;
      return put(id, kind, content, signal);
    };
    const [kept, revoked] = [new HeldQuery(), new HeldQuery()];
    const submitted = [runs.submit(kept), runs.submit(revoked)];
    await settle();
    revoked.allowed = false;
    // The next query is searched now.
    first.end({ kind: 'failed', status: 500, message: 'x' });
    await settle();
    expect([kept.run, revoked.run]).toEqual([undefined, undefined]);
    isStored.resolve();
    const states = (await Promise.all(submitted)).map(({ state, error }) => [state, error?.status]);
    expect(states).toEqual([
      ['running', undefined],
      ['failed', 403],
    ]);
    expect([kept.ended, revoked.ended, revoked.run]).toEqual([0, 1, undefined]);
  });

  it('leave no notes for ever', async () => {
    const store = local();
    await store.start();
    const runs = runsOf(store, 'gateway-0', 'a');
    const query = new HeldQuery();
    const { requestId } = await runs.submit(query);
    query.end({ kind: 'failed', status: 500, message: 'x' });
    const note = join(folder, 'data', `${requestId}.run`);
    await until('the note of the failure', async () => (await readFile(note, 'utf8')).includes('"failed"'));
    const expires = (await runs.find(requestId, SIGNAL))!.expirationTimeMs!;
    expect(expires).toBe(clock.now() + 24 * HOUR_MS);
    const another = (now: number): RunNotes =>
      new RunNotes({
        store,
        gatewayId: 'gateway-0',
        instance: 'b',
        clock: Object.assign(Object.create(clock), { now: () => now }),
      });
    expect(await another(expires - 1).read(requestId, SIGNAL)).toMatchObject({ state: 'failed' });
    expect(await another(expires).read(requestId, SIGNAL)).toBeUndefined();
    // The note of a gateway that does not exist any more.
    const foreign = `${newRequestId('other', (bytes) => Buffer.alloc(bytes, 7))}.run`;
    const path = join(folder, 'data', foreign);
    await writeFile(path, '{}');
    const old = new Date(clock.now() - 25 * HOUR_MS);
    await utimes(path, old, old);
    clock.jump(25 * HOUR_MS);
    expect(await runs.find(requestId, SIGNAL)).toBeUndefined();
    await clock.advance(BEAT_MS);
    await store.tidy();
    await until('no files', async () => (await readdir(join(folder, 'data'))).length === 0);
    expect(problems).toEqual([]);
  });

  it('are not accepted where their state cannot be stored, and leave nothing', async () => {
    const runs = runsOf(shared('gateway-0'), 'gateway-0', 'a');
    bucket.failing.set('put', 'the bucket is closed');
    const query = new HeldQuery();
    await expect(runs.submit(query)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect([query.ended, query.run, [...runs.own()]]).toEqual([1, undefined, []]);
    bucket.failing.clear();
    await runs.submit(new HeldQuery());
  });

  it('are accepted as soon as the store works again, although the last sign of life failed', async () => {
    const runs = runsOf(shared('gateway-0'), 'gateway-0', 'a');
    await runs.submit(new HeldQuery());
    bucket.failing.set('put', 'the bucket is closed');
    await clock.advance(BEAT_MS);
    expect(problems).toEqual(['failed to update the states of asynchronous queries: the store does not answer']);
    bucket.failing.clear();
    expect(await runs.submit(new HeldQuery())).toMatchObject({ state: 'running' });
  });

  it('keep at most 100 failures of a caller, and those of others', async () => {
    const runs = runsOf(shared('gateway-0'), 'gateway-0', 'a');
    const fail = async (owner: string): Promise<string> => {
      const query = new HeldQuery(owner);
      const { requestId } = await runs.submit(query);
      query.end({ kind: 'failed', status: 500, message: 'x' });
      await settle();
      return requestId;
    };
    const ofBob = await fail('bob');
    const first = await fail(OWNER);
    for (let count = 0; count < 100; count++) await fail(OWNER);
    expect(await runs.find(first, SIGNAL)).toBeUndefined();
    expect(await runs.find(ofBob, SIGNAL)).toMatchObject({ state: 'failed' });
    expect(notes()).toHaveLength(101);
  });
});
