import { beforeEach, describe, expect, it } from 'vitest';
import { LongWork } from '../../../../../src/api/server/bounds/long-work.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const LONG = 8 * 1024 + 1;

let clock: FakeClock;
let queued: (() => void)[];
let work: LongWork;
let log: string[];

beforeEach(() => {
  clock = new FakeClock();
  queued = [];
  log = [];
  work = new LongWork({ clock, afterWork: (call) => void queued.push(call) });
});

/** A request whose work takes that long. */
async function send(caller: string, ms = 0, isOpen = (): boolean => true): Promise<void> {
  try {
    await work.begin(caller, LONG, isOpen);
    log.push(caller);
    clock.jump(ms);
  } catch (error) {
    log.push(`${caller}: ${(error as Error).message}`);
  }
}

/** Lets the promises resolve that can, and then ends the turn of the event loop. */
async function endTurn(): Promise<void> {
  await new Promise(setImmediate);
  for (const call of queued.splice(0)) call();
}

async function rest(ms: number): Promise<void> {
  await clock.advance(ms);
  await new Promise(setImmediate);
}

describe('the work for large bodies', () => {
  it('does not delay small ones', async () => {
    void send('a', 40);
    await endTurn();
    await work.begin('b', LONG - 1, () => true);
    expect(work.waitingBytes).toBe(0);
  });

  it('begins at once if nothing else is worked on', async () => {
    await send('a', 40);
    expect(log).toEqual(['a']);
  });

  it('is done for one request before another begins, of its caller or of another', async () => {
    const parts = async (caller: string, name: string): Promise<void> => {
      const turn = work.turnsOf(caller, LONG, () => true);
      for (const part of [1, 2, 3]) {
        await turn();
        log.push(`${name}${part}`);
      }
    };
    const all = [parts('a', 'first '), parts('a', 'second '), parts('b', 'other ')];
    for (let turn = 0; turn < 12; turn++) {
      await endTurn();
      await rest(1);
    }
    await Promise.all(all);
    const of = (name: string): string[] => [1, 2, 3].map((part) => `${name} ${part}`);
    const [first, ...others] = [log.slice(0, 3), log.slice(3, 6), log.slice(6)];
    expect(first).toEqual(of('first'));
    expect(others.toSorted()).toEqual([of('other'), of('second')]);
  });

  it('leaves the event loop to other requests for as long as it took', async () => {
    void send('a', 40);
    void send('b', 0);
    await endTurn();
    await rest(39);
    expect(log).toEqual(['a']);
    await rest(1);
    expect(log).toEqual(['a', 'b']);
  });

  it('rests after the last request, too, and for 100 ms at most', async () => {
    void send('a', 5_000);
    await endTurn();
    void send('b');
    await rest(99);
    expect(log).toEqual(['a']);
    await rest(1);
    expect(log).toEqual(['a', 'b']);
    await endTurn();
    await rest(0);
    await send('c');
    expect(log).toEqual(['a', 'b', 'c']);
  });

  it('takes the callers in turns, and the requests of each in their order', async () => {
    const order: string[] = [];
    const begin = async (caller: string, request: string): Promise<void> => {
      await work.begin(caller, LONG, () => true);
      order.push(request);
    };
    for (const request of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void begin(request.charAt(0), request);
    expect(work.waitingBytes).toBe(5 * LONG);
    for (let turn = 0; turn < 6; turn++) {
      await endTurn();
      await rest(0);
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
    expect(work.waitingBytes).toBe(0);
  });

  it('leaves out requests whose clients have left', async () => {
    void send('a');
    void send('b', 0, () => false);
    void send('c');
    await endTurn();
    await rest(0);
    expect(log).toEqual(['a', 'b: the client has disconnected', 'c']);
  });

  it('lets no request wait for more than ten seconds', async () => {
    void send('a', 20_000);
    void send('b');
    void send('c');
    await rest(9_999);
    expect(log).toEqual(['a']);
    await rest(1);
    const late = 'the request waited for 10 s behind others with large bodies: try again in 5 s';
    expect(log).toEqual(['a', `b: ${late}`, `c: ${late}`]);
    expect(work.waitingBytes).toBe(0);
    await endTurn();
    await rest(100);
    await send('d');
    expect(log.at(-1)).toBe('d');
  });

  it('lets 64 requests of a caller wait', async () => {
    void send('other');
    for (let request = 0; request < 64; request++) void send('a');
    await expect(work.begin('a', LONG, () => true)).rejects.toMatchObject({
      statusCode: 429,
      message: '64 requests of this caller with large bodies wait: try again in 5 s',
      headers: { 'retry-after': '5' },
    });
    void send('b');
    expect(work.waitingBytes).toBe(65 * LONG);
  });

  it('lets 16 MiB of a caller wait, and 128 MiB in all', async () => {
    const MB = 1024 * 1024;
    const begin = (caller: string, bytes: number) => work.begin(caller, bytes, () => true);
    void begin('other', MB);
    for (let request = 0; request < 15; request++) void begin('a', MB);
    await expect(begin('a', MB + 1)).rejects.toMatchObject({
      statusCode: 429,
      message: '15 requests of this caller with large bodies wait: try again in 5 s',
    });
    void begin('a', MB);
    for (let caller = 0; caller < 7; caller++) void begin(`caller ${caller}`, 16 * MB - 1);
    expect(work.waitingBytes).toBe(128 * MB - 7);
    await expect(begin('b', LONG)).rejects.toMatchObject({
      statusCode: 503,
      message: 'too many requests with large bodies wait: try again in 5 s',
    });
  });
});
