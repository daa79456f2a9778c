import { beforeEach, describe, expect, it } from 'vitest';
import { atOnce, inTurns, LongWork, type Slices } from '../../../src/platform/long-work.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

let clock: FakeClock;
let afterSlice: (() => void)[];
let work: LongWork;
let log: string[];

beforeEach(() => {
  clock = new FakeClock();
  afterSlice = [];
  log = [];
  work = new LongWork({ clock, afterSlice: (call) => void afterSlice.push(call) });
});

/** Work of so many parts, each of which takes that long. */
function* parts(name: string, count: number, ms: number): Slices<string> {
  for (let part = 1; part <= count; part++) {
    log.push(`${name}${part}`);
    clock.jump(ms);
    if (part < count) yield;
  }
  return name;
}

/** Lets the promises resolve that can, ends the turn of the event loop, and the rest after it. @returns what was done in it */
async function endTurn(restMs = 100): Promise<string[]> {
  await settle();
  for (const call of afterSlice.splice(0)) call();
  await clock.advance(restMs);
  return log.splice(0);
}

describe('long work', () => {
  it('begins at once if there is no other, and does parts together for 4 ms', async () => {
    const done = work.run('a', parts('a', 9, 1));
    await settle();
    expect(log).toEqual(['a1', 'a2', 'a3', 'a4']);
    await endTurn();
    await endTurn();
    expect(await done).toBe('a');
  });

  it('is done in one slice at a time, with the callers in turn', async () => {
    const all = [
      work.run('a', parts('first ', 3, 5)),
      work.run('a', parts('second ', 2, 5)),
      work.run('b', parts('other ', 2, 5)),
    ];
    await settle();
    const turns = [log.splice(0)];
    for (let turn = 0; turn < 7; turn++) turns.push(await endTurn());
    expect(turns.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
    expect(turns.flat()).toEqual(['first 1', 'other 1', 'first 2', 'other 2', 'second 1', 'first 3', 'second 2']);
    await Promise.all(all);
    expect(work.waiting).toBe(0);
  });

  it('leaves the event loop to other requests for as long as a slice took, and for 100 ms at most', async () => {
    for (const [tookMs, restMs] of [
      [40, 40],
      [5_000, 100],
    ] as const) {
      const both = [work.run('a', parts('a', 1, tookMs)), work.run('b', parts('b', 1, 0))];
      expect(await endTurn(restMs - 1)).toEqual(['a1']);
      await clock.advance(1);
      expect(log.splice(0)).toEqual(['b1']);
      await endTurn();
      await Promise.all(both);
    }
  });

  it('leaves one turn of the event loop to others after a short slice', async () => {
    const both = [work.run('a', parts('a', 1, 1)), work.run('b', parts('b', 1, 0))];
    expect(await endTurn(0)).toEqual(['a1', 'b1']);
    expect(clock.delays).toEqual([]);
    await endTurn();
    await Promise.all(both);
  });

  it('of a stream goes on in the next turn of the event loop, beside the work of callers', async () => {
    const stream = async (): Promise<void> => {
      const turn = work.streamTurns();
      for (let piece = 1; piece <= 3; piece++) {
        await turn();
        log.push(`piece ${piece}`);
        clock.jump(3);
      }
    };
    const all = [stream(), work.run('a', parts('a', 2, 5))];
    expect(await endTurn(0)).toEqual(['piece 1', 'a1']);
    expect(await endTurn(5)).toEqual(['piece 2']);
    expect(await endTurn(0)).toEqual(['a2']);
    expect(await endTurn(5)).toEqual(['piece 3']);
    await Promise.all(all);
  });

  it('tells when a work does not wait for its next slice', async () => {
    const turn = work.turns('a', () => log.push('pause'));
    await turn();
    clock.jump(5);
    const next = turn();
    expect(await endTurn()).toEqual([]);
    await next;
    expect(await endTurn()).toEqual(['pause']);
  });

  it('ends before its next slice when it is aborted, and others go on', async () => {
    const client = new AbortController();
    const aborted = work.run('a', parts('a', 3, 5), client.signal);
    const other = work.run('b', parts('b', 1, 5));
    await settle();
    client.abort(new Error('gone'));
    const ended = expect(aborted).rejects.toThrow('gone');
    expect([await endTurn(), await endTurn(), await endTurn()].flat()).toEqual(['a1', 'b1']);
    await ended;
    await other;
  });

  it('goes on after a work that fails', async () => {
    // oxlint-disable-next-line require-yield -- it fails in its first part
    function* failing(): Slices<void> {
      throw new Error('broken');
    }
    await expect(work.run('a', failing())).rejects.toThrow('broken');
    await endTurn();
    const other = work.run('b', parts('b', 1, 1));
    expect(await endTurn()).toEqual(['b1']);
    expect(await other).toBe('b');
  });
});

describe('work in parts', () => {
  it('is done at once', () => {
    expect(atOnce(parts('a', 3, 1))).toBe('a');
    expect(log).toEqual(['a1', 'a2', 'a3']);
  });

  it('waits for a turn before each part but the first', async () => {
    const turns: (() => void)[] = [];
    const all = inTurns(parts('a', 3, 1), () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      turns.push(resolve);
      return promise;
    });
    expect(log).toEqual(['a1']);
    turns[0]?.();
    await settle();
    expect(log).toEqual(['a1', 'a2']);
    turns[1]?.();
    await expect(all).resolves.toBe('a');
  });

  it('has no promise where it need not wait', () => {
    expect(inTurns(parts('a', 3, 1), () => undefined)).toBe('a');
  });

  it('ends where a turn is refused', async () => {
    await expect(inTurns(parts('a', 3, 1), () => Promise.reject(new Error('too many')))).rejects.toThrow('too many');
    expect(log).toEqual(['a1']);
  });
});
