import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sortedInSlices } from '../../../src/platform/sorted-in-slices.ts';
import { WorkSlices } from '../../../src/platform/work-slices.ts';

const NEVER = new WorkSlices(Infinity);

/** Turns of the event loop while the work is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return turns;
}

describe('sorting in slices', () => {
  it('gives the order of a stable sort by the keys', async () => {
    const item = fc.record({ key: fc.stringMatching(/^[ab]{0,2}$/), id: fc.nat() });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { size: 'max', maxLength: 2000 }), async (items) => {
        const sorted = await sortedInSlices(items, ({ key }) => key, NEVER);
        expect(sorted).toEqual(items.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
      }),
      { numRuns: 30 },
    );
  });

  it.each([0, 1, 511, 512, 513, 1024, 1537, 5000])('sorts %i items', async (length) => {
    const items = Array.from({ length }, (_, index) => String((index * 7919) % 10_007).padStart(5, '0'));
    expect(await sortedInSlices(items, (text) => text, NEVER)).toEqual(items.toSorted());
  });

  it.each([
    ['ascending', (index: number) => index],
    ['descending', (index: number) => -index],
    ['mixed', (index: number) => (index * 7919) % 20_011],
  ])('lets other work run after each slice (%s)', async (_order, keyOf) => {
    const items = Array.from({ length: 20_000 }, (_, index) => String(keyOf(index) + 50_000));
    const turns = await turnsDuring(() => sortedInSlices(items, (text) => text, new WorkSlices(1000)));
    expect(turns).toBeGreaterThan(60);
  });
});
