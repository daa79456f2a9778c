import { expect, it } from 'vitest';
import { WorkSlices } from '../../../src/platform/work-slices.ts';

it('lets other work run after each slice, and not before', async () => {
  const slices = new WorkSlices(10);
  const order: string[] = [];
  setImmediate(() => order.push('other'));
  await slices.spend(4);
  order.push('4');
  await slices.spend(5);
  order.push('9');
  await slices.spend(1);
  order.push('10');
  setImmediate(() => order.push('other'));
  await slices.spend(9);
  order.push('19');
  await slices.spend(100);
  order.push('119');
  expect(order).toEqual(['4', '9', 'other', '10', '19', 'other', '119']);
});

it('gives several works different turns of the event loop', async () => {
  const turns: string[][] = [[]];
  let isOver = false;
  const countTurns = (): void => {
    if (isOver) return;
    turns.push([]);
    setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const work = async (name: string): Promise<void> => {
    const slices = new WorkSlices(1);
    for (let slice = 0; slice < 3; slice++) {
      await slices.spend(1);
      turns.at(-1)?.push(name + slice);
    }
  };
  await Promise.all(['a', 'b', 'c'].map(work));
  isOver = true;
  expect(turns.flat()).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  expect(Math.max(...turns.map(({ length }) => length))).toBe(1);
});
