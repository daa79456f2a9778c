import { beforeEach, describe, expect, it } from 'vitest';
import { RequestWork } from '../../../../../src/api/server/admission/work.ts';
import { LongWork, type Slices } from '../../../../../src/platform/long-work.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const LONG = 8 * 1024 + 1;

let clock: FakeClock;
let afterSlice: (() => void)[];
let work: RequestWork;
let log: string[];

beforeEach(() => {
  clock = new FakeClock();
  afterSlice = [];
  log = [];
  const slices = new LongWork({ clock, afterSlice: (call) => void afterSlice.push(call) });
  work = new RequestWork({ clock, slices });
});

/** Lets the promises resolve that can, ends the turn of the event loop, and the rest after it. */
async function endTurn(): Promise<void> {
  await settle();
  for (const call of afterSlice.splice(0)) call();
  await clock.advance(10);
}

async function endTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endTurn();
}

describe('the work for bodies', () => {
  /** A request with a body whose work takes three slices. */
  async function send(caller: string, name = caller, isOpen = () => true): Promise<void> {
    const turn = work.bodyTurns(caller, LONG, isOpen);
    try {
      for (const part of [1, 2, 3]) {
        await turn();
        log.push(`${name} ${part}`);
        clock.jump(5);
      }
    } catch (error) {
      log.push(`${name}: ${(error as Error).message}`);
    }
  }

  it('does not wait for a short one', async () => {
    void send('a');
    await settle();
    expect(work.bodyTurns('b', LONG - 1, () => true)()).toBeUndefined();
  });

  it('is done for one body before another begins, with the callers in turn', async () => {
    const all = [send('a', 'first'), send('a', 'second'), send('b', 'other')];
    await endTurns(12);
    await Promise.all(all);
    const of = (name: string) => [1, 2, 3].map((part) => `${name} ${part}`);
    expect(log).toEqual([...of('first'), ...of('other'), ...of('second')]);
    expect(work.queues.map(({ used, waiting }) => [used, waiting])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('lets the next body begin while a request waits for something else', async () => {
    const turn = work.bodyTurns('a', LONG, () => true);
    await turn();
    clock.jump(5);
    const other = send('b');
    await endTurns(2);
    expect(log).toEqual(['b 1', 'b 2']);
    await endTurns(3);
    await other;
    // What the request does then needs no place of a body.
    const later = turn();
    await endTurn();
    await later;
  });

  it('leaves out requests whose clients have left', async () => {
    const all = [send('a'), send('b', 'b', () => false), send('c')];
    await endTurns(12);
    await Promise.all(all);
    expect(log.filter((entry) => !/ [23]$/.test(entry))).toEqual(['a 1', 'b: the client has disconnected', 'c 1']);
  });

  it('is refused after ten seconds', async () => {
    void send('a');
    await settle();
    void send('b');
    await clock.advance(10_000);
    expect(log).toEqual(['a 1', 'b: the request waited 10 s for the work for a large body: try again in 5 s']);
  });

  it('is refused where 64 bodies of the caller wait behind one of its own', async () => {
    void send('a');
    await settle();
    for (let request = 0; request < 64; request++) void send('a');
    const refused = work.bodyTurns('a', LONG, () => true)();
    await expect(refused).rejects.toMatchObject({ statusCode: 429, headers: { 'retry-after': '5' } });
  });
});

describe('the work for lists', () => {
  function* list(name: string): Slices<void> {
    for (const part of [1, 2]) {
      log.push(`${name} ${part}`);
      clock.jump(5);
      yield;
    }
  }

  const { signal } = new AbortController();

  it('is done for one list of a caller at a time, and slice by slice for several callers', async () => {
    const all = [
      work.list('a', list('first'), signal),
      work.list('a', list('second'), signal),
      work.list('b', list('other'), signal),
    ];
    await endTurns(10);
    await Promise.all(all);
    expect(log).toEqual(['first 1', 'other 1', 'first 2', 'other 2', 'second 1', 'second 2']);
    expect(work.queues[1].used).toBe(0);
  });

  it('is done for four callers at a time', async () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((caller) => work.list(caller, list(caller), signal));
    await endTurns(4);
    expect(work.queues[1]).toMatchObject({ used: 4, waiting: 1 });
    expect(new Set(log.map((entry) => entry.charAt(0)))).toEqual(new Set(['a', 'b', 'c', 'd']));
    await endTurns(16);
    await Promise.all(all);
  });

  it('ends when the client leaves, and the next one begins', async () => {
    const client = new AbortController();
    const left = expect(work.list('a', list('a'), client.signal)).rejects.toMatchObject({ statusCode: 499 });
    await settle();
    client.abort();
    await endTurns(2);
    await left;
    expect(log).toEqual(['a 1']);
    const next = work.list('a', list('next'), signal);
    await endTurns(4);
    await next;
  });
});
