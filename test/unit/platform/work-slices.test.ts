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
