import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { CallSlots } from '../../../../../src/api/server/bounds/call-slots.ts';

/** A call: whether it has started, and its end. */
function call(
  slots: CallSlots,
  caller: string,
  max = 2,
): { started: boolean; close: () => void; failed: Promise<unknown> } {
  const state = { started: false, close: () => {}, failed: Promise.resolve<unknown>(undefined) };
  const begun = slots.begin(caller, max, (close) => void (state.close = close));
  state.failed = begun.then(
    () => void (state.started = true),
    (error: unknown) => error,
  );
  return state;
}

it('starts calls of one caller in order when others end, and those of another caller at once', async () => {
  const slots = new CallSlots();
  const calls = Array.from({ length: 4 }, () => call(slots, 'a'));
  const other = call(slots, 'b');
  await turn();
  expect([...calls.map(({ started }) => started), other.started]).toEqual([true, true, false, false, true]);
  calls[1]?.close();
  await turn();
  expect(calls.map(({ started }) => started)).toEqual([true, true, true, false]);
});

it('does not start a call whose client has disconnected, nor gives its slot away twice', async () => {
  const slots = new CallSlots();
  const [first, second, third, fourth] = [1, 2, 3, 4].map(() => call(slots, 'a', 1));
  second?.close();
  first?.close();
  await turn();
  expect([second?.started, third?.started, fourth?.started]).toEqual([false, true, false]);
});

it('refuses calls when 256 wait, and accepts them again afterwards', async () => {
  const slots = new CallSlots();
  const running = call(slots, 'a', 1);
  const waiting = Array.from({ length: 256 }, () => call(slots, 'a', 1));
  const refused = call(slots, 'a', 1);
  expect(await refused.failed).toMatchObject({ statusCode: 429, message: expect.stringContaining('(1) exceeded') });
  for (const { close } of [...waiting, running]) close();
  const next = call(slots, 'a', 1);
  await turn();
  expect(next.started).toBe(true);
});

it('has no limit at 0', async () => {
  const slots = new CallSlots();
  const calls = Array.from({ length: 1000 }, () => call(slots, 'a', 0));
  await turn();
  expect(calls.every(({ started }) => started)).toBe(true);
});
