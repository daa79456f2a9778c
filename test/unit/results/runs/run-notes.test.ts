import { beforeEach, describe, expect, it } from 'vitest';
import { holderTag, newRequestId } from '../../../../src/results/request-id.ts';
import { RunNotes } from '../../../../src/results/runs/run-notes.ts';
import { noteToJson, type RunStatus } from '../../../../src/results/runs/status.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { RecordedNotes } from './recorded-notes.ts';

const GATEWAY = 'gw-1';
const signal = new AbortController().signal;
const idOf = (gateway: string, byte = 1): string => newRequestId(gateway, (bytes) => Buffer.alloc(bytes, byte));
const ID = idOf(GATEWAY);
const ALIVE_ID = `${holderTag(GATEWAY)}-${'0'.repeat(30)}`;

let clock: FakeClock;
let notes: RecordedNotes;
beforeEach(() => {
  clock = new FakeClock();
  notes = new RecordedNotes();
});

const of = (gatewayId = 'gw-0', { local = false, instance = 'a' } = {}): RunNotes =>
  new RunNotes({ store: { notes, local }, gatewayId, instance, clock });

const status = (over: Partial<RunStatus> = {}): RunStatus => ({
  requestId: ID,
  brokerId: GATEWAY,
  owner: 'ann',
  tables: [],
  state: 'running',
  submissionTimeMs: 1,
  rowCount: 0,
  bytes: 0,
  ...over,
});
const note = (over: Partial<RunStatus> = {}, requestId = ID): void =>
  void notes.kept.set(
    `${requestId}.run`,
    noteToJson({ version: 1, instance: 'b', status: status({ requestId, ...over }) }),
  );
const alive = (atMs: number, instance = 'b'): void =>
  void notes.kept.set(`${ALIVE_ID}.alive`, JSON.stringify({ instance, atMs }));
const dead = {
  ...status(),
  state: 'failed',
  error: {
    status: 503,
    message: 'the gateway `gw-1` ended or restarted before the result was complete: run the query again',
  },
};

describe('the noted state of a query', () => {
  it('is unknown without a valid note of this query', async () => {
    expect(await of().read(ID, signal)).toBeUndefined();
    notes.kept.set(`${ID}.run`, '{}');
    expect(await of().read(ID, signal)).toBeUndefined();
    const other = idOf(GATEWAY, 2);
    note({ requestId: other, state: 'failed' });
    expect(await of().read(ID, signal)).toBeUndefined();
  });

  it('of a query that has ended is read once, and forgotten when it expires', async () => {
    note({ state: 'cancelled' });
    expect(await of().read(ID, signal)).toEqual(status({ state: 'cancelled' }));
    expect(notes.calls).toEqual([`get ${ID}.run`]);
    note({ state: 'failed', expirationTimeMs: clock.now() + 1 });
    expect(await of().read(ID, signal)).toMatchObject({ state: 'failed' });
    note({ state: 'failed', expirationTimeMs: clock.now() });
    expect(await of().read(ID, signal)).toBeUndefined();
  });

  it('counts while the same process of its gateway gives signs of life, at least every 45 seconds', async () => {
    note();
    alive(clock.now() - 44_999);
    expect(await of().read(ID, signal)).toEqual(status());
    alive(clock.now() - 45_000);
    expect(await of().read(ID, signal)).toEqual(dead);
    alive(clock.now(), 'another');
    expect(await of().read(ID, signal)).toEqual(dead);
    notes.kept.set(`${ALIVE_ID}.alive`, '{}');
    expect(await of().read(ID, signal)).toEqual(dead);
    notes.kept.delete(`${ALIVE_ID}.alive`);
    expect(await of().read(ID, signal)).toEqual(dead);
  });

  it('of a query of an earlier process with the same name, or with the same local store, is its end', async () => {
    note();
    alive(clock.now());
    expect(await of('gw-1').read(ID, signal)).toEqual(dead);
    expect(await of('gw-0', { local: true }).read(ID, signal)).toEqual(dead);
    expect(notes.calls).toEqual([`get ${ID}.run`, `get ${ID}.run`]);
  });

  it('says whether another gateway asked for the cancellation', async () => {
    note();
    alive(clock.now());
    await of('gw-2').requestCancel(ID, signal);
    expect(notes.kept.get(`${ID}.cancel`)).toBe('{}');
    expect(await of().read(ID, signal)).toEqual(status({ cancelRequested: true }));
  });
});

describe('the listing of noted states', () => {
  const listed = async (isOwn: (requestId: string) => boolean, limits: string[] = []): Promise<string[]> => {
    const found: string[] = [];
    for await (const { requestId } of of().list(isOwn, () => limits.push('limit'), signal)) found.push(requestId);
    return found;
  };

  it.each([0, 1, 7, 8, 9, 16, 20])('has all %i of them, and reads at most eight at once', async (count) => {
    const ids = Array.from({ length: count }, (_, at) => idOf(GATEWAY, at + 1));
    for (const requestId of ids) note({ state: 'failed' }, requestId);
    const limits: string[] = [];
    expect(await listed(() => false, limits)).toEqual(ids);
    expect([notes.maxRunning, limits]).toEqual([Math.min(8, count), []]);
  });

  it('has neither the queries of this process nor unknown states', async () => {
    const [own, other, unknown] = [1, 2, 3].map((byte) => idOf(GATEWAY, byte)) as [string, string, string];
    note({ state: 'failed' }, own);
    note({ state: 'failed' }, other);
    notes.kept.set(`${unknown}.run`, 'x');
    expect(await listed((requestId) => requestId === own)).toEqual([other]);
    expect(notes.calls).not.toContain(`get ${own}.run`);
  });
});

describe('the search for cancellations', () => {
  const ids = Array.from({ length: 20 }, (_, at) => idOf('gw-0', at + 1));
  const found = async (among: readonly string[], aborts = signal): Promise<string[]> => {
    const all: string[] = [];
    for await (const requestId of of().cancelled(among, aborts)) all.push(requestId);
    return all;
  };
  const cancel = (...of: number[]): void => {
    for (const at of of) notes.kept.set(`${ids[at]}.cancel`, '{}');
  };

  it('finds them among many queries, eight at once', async () => {
    cancel(0, 7, 8, 15, 16, 19);
    expect(await found(ids)).toEqual([0, 7, 8, 15, 16, 19].map((at) => ids[at]));
    expect([notes.calls.length, notes.maxRunning, clock.timers]).toEqual([20, 8, 0]);
    expect(await found(ids.slice(0, 8))).toEqual([ids[0], ids[7]]);
    expect(await found([])).toEqual([]);
  });

  it('ends when it is aborted', async () => {
    cancel(0, 19);
    expect(await found(ids, AbortSignal.abort())).toEqual([]);
    expect(notes.calls).toEqual([]);
    const abort = new AbortController();
    notes.wait = async () => {
      await Promise.resolve();
      abort.abort(new Error('stopped'));
    };
    await expect(found(ids, abort.signal)).rejects.toThrow('stopped');
    expect(notes.calls).toHaveLength(8);
  });

  it('finds the others where some calls fail or do not end, and fails then with the first error', async () => {
    cancel(0, 1, 2, 9);
    notes.wait = (call) => {
      if (call === `get ${ids[0]}.cancel`) return Promise.withResolvers<void>().promise;
      return call === `get ${ids[9]}.cancel` ? Promise.reject(new Error('closed')) : undefined;
    };
    const all: string[] = [];
    const search = (async () => {
      for await (const requestId of of().cancelled(ids, signal)) all.push(requestId);
    })();
    const failed = search.catch((error: unknown) => error);
    await clock.advance(9_999);
    expect(all).toEqual([]);
    await clock.advance(1);
    expect(await failed).toMatchObject({ message: 'timed out after 10000 ms' });
    expect([all, clock.timers]).toEqual([[ids[1], ids[2]], 0]);
  });
});

describe('the notes of one query', () => {
  it('say who runs it, and are removed with the request for its cancellation', async () => {
    const own = of('gw-1');
    await own.save(status());
    expect(JSON.parse(notes.kept.get(`${ID}.run`)!)).toEqual({ version: 1, instance: 'a', status: status() });
    await of().requestCancel(ID, signal);
    await own.end(status({ state: 'failed' }));
    expect([...notes.kept.keys()]).toEqual([`${ID}.run`]);
    await of().requestCancel(ID, signal);
    await own.remove(ID);
    expect(notes.kept.size).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it('of a local store are never requests for a cancellation', async () => {
    const own = of('gw-1', { local: true });
    await own.end(status({ state: 'failed' }));
    await own.remove(ID);
    expect(notes.calls).toEqual([`put ${ID}.run`, `delete ${ID}.run`]);
  });

  it('are written one after the other, also behind one that fails', async () => {
    const own = of('gw-1');
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    let calls = 0;
    notes.wait = () => gates[calls++]!.promise;
    const [first, second, third] = [1, 2, 3].map((rowCount) => own.save(status({ rowCount }))) as [
      Promise<void>,
      Promise<void>,
      Promise<void>,
    ];
    await settle();
    expect(calls).toBe(1);
    gates[0]!.reject(new Error('closed'));
    await expect(first).rejects.toThrow('closed');
    await settle();
    expect(calls).toBe(2);
    const fourth = own.save(status({ rowCount: 4 }));
    await settle();
    expect(calls).toBe(2);
    for (const gate of gates.slice(1)) gate.resolve();
    await Promise.all([second, third, fourth]);
    expect(notes.maxRunning).toBe(1);
    expect(JSON.parse(notes.kept.get(`${ID}.run`)!)).toMatchObject({ status: { rowCount: 4 } });
  });

  it('do not wait for those of other queries', async () => {
    const own = of('gw-1');
    notes.wait = (call) => (call.includes(ID) ? Promise.withResolvers<void>().promise : undefined);
    const slow = own.save(status()).catch((error: unknown) => error);
    await own.save(status({ requestId: idOf(GATEWAY, 2) }));
    await clock.advance(10_000);
    expect(await slow).toMatchObject({ message: 'timed out after 10000 ms' });
  });

  it('are beside a sign of life with the time', async () => {
    await of('gw-1', { instance: 'x' }).beAlive();
    expect([...notes.kept]).toEqual([[`${ALIVE_ID}.alive`, JSON.stringify({ instance: 'x', atMs: clock.now() })]]);
  });
});
