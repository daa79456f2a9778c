// @module-tag slow
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atOnce } from '../../../src/platform/long-work.ts';
import { sorted } from '../../../src/platform/sorted.ts';

function partsOf<T>(work: Iterator<undefined, T, undefined>): number {
  let parts = 1;
  while (work.next().done !== true) parts++;
  return parts;
}

describe('sorting in parts', () => {
  it('gives the order of a stable sort by the keys', () => {
    const item = fc.record({ key: fc.stringMatching(/^[ab]{0,2}$/), id: fc.nat() });
    fc.assert(
      fc.property(fc.array(item, { size: 'max', maxLength: 2000 }), (items) => {
        const expected = items.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
        expect(atOnce(sorted(items, ({ key }) => key))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  it.each([0, 1, 511, 512, 513, 1024, 1537, 5000])('sorts %i items', (length) => {
    const items = Array.from({ length }, (_, index) => String((index * 7919) % 10_007).padStart(5, '0'));
    expect(atOnce(sorted(items, (text) => text))).toEqual(items.toSorted());
  });

  it.each([
    ['descending', (index: number) => -index],
    ['mixed', (index: number) => (index * 7919) % 20_011],
  ])('does some hundreds of items in a part (%s)', (_order, keyOf) => {
    const items = Array.from({ length: 20_000 }, (_, index) => String(keyOf(index) + 50_000));
    expect(partsOf(sorted(items, (text) => text))).toBeGreaterThan(100);
  });

  it('reads a sorted list once', () => {
    const items = Array.from({ length: 20_000 }, (_, index) => String(index + 50_000));
    expect(partsOf(sorted(items, (text) => text))).toBeLessThan(50);
  });
});
