import { expect, it } from 'vitest';
import { Turns } from '../../../../../src/api/server/admission/turns.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** Turns that the test ends. */
function turns() {
  const clock = new FakeClock();
  let calls: (() => void)[] = [];
  const waits: string[] = [];
  const entrance = new Turns({ clock, nextTurn: (call) => void calls.push(call) });
  const enter = (network: string) => entrance.enter(network, (waitedMs) => void waits.push(`${network} ${waitedMs}`));
  const endTurn = (): void => {
    const ended = calls;
    calls = [];
    clock.jump(10);
    for (const call of ended) call();
  };
  return { enter, endTurn, waits, entrance };
}

it('starts one request in each turn, and tells how long it waited', () => {
  const { enter, endTurn, waits } = turns();
  for (let i = 0; i < 3; i++) enter('a');
  expect(waits).toEqual(['a 0']);
  endTurn();
  expect(waits).toEqual(['a 0', 'a 10']);
  endTurn();
  expect(waits).toEqual(['a 0', 'a 10', 'a 20']);
  endTurn();
  enter('a');
  expect(waits).toHaveLength(4);
});

it('lets networks take turns, whichever the number of their requests', () => {
  const { enter, endTurn, waits } = turns();
  for (let i = 0; i < 100; i++) enter('many');
  enter('one');
  endTurn();
  endTurn();
  expect(waits).toEqual(['many 0', 'one 10', 'many 20']);
});

it('does not start a request whose client has disconnected meanwhile', () => {
  const { enter, endTurn, waits, entrance } = turns();
  enter('a');
  const leave = enter('b');
  enter('c');
  leave();
  endTurn();
  expect(waits).toEqual(['a 0', 'c 10']);
  endTurn();
  expect([entrance.queue.used, entrance.queue.waiting]).toEqual([0, 0]);
});
