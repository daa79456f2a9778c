import { beforeEach, describe, expect, it } from 'vitest';
import { Turns } from '../../../../../src/api/server/bounds/turns.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

let clock: FakeClock;
let queued: (() => void)[];
let turns: Turns;
let begun: string[];

beforeEach(() => {
  clock = new FakeClock();
  queued = [];
  begun = [];
  turns = new Turns({ clock, afterReads: (call) => void queued.push(call) });
});

/** A request that takes that long when it begins. */
const enter = (name: string, ms: number): void =>
  turns.enter((waitedMs) => {
    begun.push(waitedMs === 0 ? name : `${name} after ${waitedMs}`);
    clock.jump(ms);
  });

/** The callbacks of one turn; those that they queue come in the next one. */
function endTurn(): void {
  for (const call of queued.splice(0)) call();
}

describe('turns of the event loop', () => {
  it('begin requests at once while there is time', () => {
    for (const name of ['a', 'b', 'c']) enter(name, 1);
    expect(begun).toEqual(['a', 'b', 'c']);
    endTurn();
    expect(queued).toEqual([]);
  });

  it('begin no more requests than fit into their time, in the order of arrival', () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) enter(name, 4);
    expect(begun).toEqual(['a', 'b']);
    expect(turns.waiting).toBe(3);
    endTurn();
    expect(begun.slice(2)).toEqual(['c']);
    enter('f', 4);
    endTurn();
    expect(begun.slice(3)).toEqual(['d after 4', 'e after 8']);
    endTurn();
    expect(begun.slice(5)).toEqual(['f after 8']);
    expect(turns.waiting).toBe(0);
    endTurn();
    enter('g', 1);
    expect(begun.slice(6)).toEqual(['g']);
  });

  it('count the time of the reads before, and then begin one request', () => {
    for (const name of ['a', 'b', 'c', 'd']) enter(name, 6);
    endTurn();
    expect(begun).toEqual(['a', 'b']);
    clock.jump(20);
    endTurn();
    expect(begun.slice(2)).toEqual(['c after 26']);
    endTurn();
    expect(begun.slice(3)).toEqual(['d after 32']);
  });

  it('begin many short requests in few turns', () => {
    enter('long', 10);
    for (let request = 0; request < 1000; request++) enter('short', 0.25);
    let count = 0;
    for (; turns.waiting > 0; count++) endTurn();
    expect(begun).toHaveLength(1001);
    expect(count).toBeLessThanOrEqual(1 + 1000 / 24 + 1);
  });
});
