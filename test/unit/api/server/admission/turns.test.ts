import { expect, it } from 'vitest';
import { Turns } from '../../../../../src/api/server/admission/turns.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** Turns that the test ends. The start of a request takes as long as it is told, by default all the time of a turn. */
function turns(startMs = 4) {
  const clock = new FakeClock();
  let calls: (() => void)[] = [];
  let turn = 0;
  const waits: string[] = [];
  const entrance = new Turns({ clock, nextTurn: (call) => void calls.push(call), turnNumber: () => turn });
  const enter = (network: string) =>
    entrance.enter(network, (waitedMs) => {
      waits.push(`${network} ${waitedMs}`);
      clock.jump(startMs);
    });
  const endTurn = (): void => {
    const ended = calls;
    calls = [];
    turn++;
    clock.jump(10 - startMs);
    for (const call of ended) call();
  };
  return { enter, endTurn, waits, entrance };
}

it('starts one request in each turn where others wait, and tells how long it waited', () => {
  const { enter, endTurn, waits } = turns();
  for (let i = 0; i < 3; i++) enter('a');
  expect(waits).toEqual(['a 0']);
  endTurn();
  expect(waits).toEqual(['a 0', 'a 6']);
  endTurn();
  expect(waits).toEqual(['a 0', 'a 6', 'a 16']);
  endTurn();
  enter('a');
  expect(waits).toHaveLength(4);
});

it('starts requests at once for a few milliseconds of each turn', () => {
  const { enter, endTurn, waits } = turns(1);
  for (let i = 0; i < 100; i++) enter('a');
  expect(waits).toEqual(['a 0', 'a 0', 'a 0', 'a 0']);
  endTurn();
  expect(waits.slice(4)).toEqual(['a 9']);
});

it('starts nothing while it is held, and everything afterwards', () => {
  const { enter, endTurn, waits, entrance } = turns();
  const resume = entrance.hold();
  enter('a');
  enter('b');
  endTurn();
  expect(waits).toEqual([]);
  resume();
  endTurn();
  expect(waits).toEqual(['a 6', 'b 16']);
});

it('lets networks take turns, whichever the number of their requests', () => {
  const { enter, endTurn, waits } = turns();
  for (let i = 0; i < 100; i++) enter('many');
  enter('one');
  endTurn();
  endTurn();
  expect(waits).toEqual(['many 0', 'one 6', 'many 16']);
});

it('does not start a request whose client has disconnected meanwhile', () => {
  const { enter, endTurn, waits, entrance } = turns();
  enter('a');
  const left = enter('b');
  enter('c');
  left.release();
  endTurn();
  expect(waits).toEqual(['a 0', 'c 6']);
  expect(entrance.waiting).toBe(0);
});
