import { beforeEach, describe, expect, it } from 'vitest';
import type { RunStatus } from '../../../../src/results/runs/status.ts';
import { RunWaits } from '../../../../src/results/runs/waits.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const ID = '00000000-000000000000000000000000000001';

let clock: FakeClock;
let listeners: Set<() => void>;
let looks: number;
let state: RunStatus['state'];
let isOwn: boolean;
let waits: RunWaits;

beforeEach(() => {
  clock = new FakeClock();
  listeners = new Set();
  looks = 0;
  state = 'running';
  isOwn = true;
  waits = new RunWaits({
    clock,
    runs: {
      onEnded: (_id, call) => {
        if (!isOwn) return undefined;
        listeners.add(call);
        return () => listeners.delete(call);
      },
      find: async () => {
        looks++;
        return { state } as RunStatus;
      },
    },
  });
});

function wait(caller = 'ann', maxMs = 20_000, signal = new AbortController().signal) {
  const seen = { ended: false };
  const end = waits.untilEnded(ID, { caller, maxMs }, signal).finally(() => (seen.ended = true));
  return { seen, end };
}

describe('a wait for the end of a query', () => {
  it('ends with the query, and with its time, and leaves nothing behind', async () => {
    const [short, long] = [wait('ann', 1_000), wait()];
    await clock.advance(1_000);
    await short.end;
    expect([short.seen.ended, long.seen.ended, listeners.size]).toEqual([true, false, 1]);
    for (const call of listeners) call();
    await long.end;
    expect([listeners.size, clock.timers]).toEqual([0, 0]);
  });

  it('ends when its client leaves', async () => {
    const leaving = new AbortController();
    const { end } = wait('ann', 20_000, leaving.signal);
    await settle();
    leaving.abort(new Error('left'));
    await expect(end).rejects.toThrow('left');
    expect([listeners.size, clock.timers]).toEqual([0, 0]);
  });

  it('looks for the state of a query that another gateway runs every two seconds', async () => {
    isOwn = false;
    const { seen, end } = wait();
    await clock.advance(10_000);
    expect([seen.ended, looks]).toEqual([false, 6]);
    state = 'done';
    await clock.advance(2_000);
    await end;
    expect(looks).toBe(7);
    state = 'running';
    const late = wait('ann', 5_000);
    await clock.advance(5_000);
    await late.end;
    expect(clock.timers).toBe(0);
  });

  it('has a place for 100 clients of a caller and 1,000 in all; others do not wait', async () => {
    const all = Array.from({ length: 1_100 }, (_, index) => wait(`caller ${index % 11}`));
    const more = wait('caller 0');
    await settle();
    expect(more.seen.ended).toBe(true);
    expect(all.filter(({ seen }) => !seen.ended)).toHaveLength(1_000);
    expect(listeners.size).toBe(1_000);
    for (const call of listeners) call();
    await Promise.all(all.map(({ end }) => end));
    expect([listeners.size, clock.timers]).toEqual([0, 0]);
    const again = wait('caller 0');
    await settle();
    expect(again.seen.ended).toBe(false);
    for (const call of listeners) call();
    await again.end;
  });
});
