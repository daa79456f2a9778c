import { expect, it } from 'vitest';
import { rounded } from '../../../../../src/health/numbers.ts';
import { describeMedian } from '../../../../../src/health/checks/shared/skewness.ts';

const counts = (...values: number[]) => new Map(values.map((value, i) => [`s${i}`, value]));
/** With a median of 10 and a median absolute deviation of 1. */
const EVEN = [9, 10, 11].flatMap((value) => Array<number>(9).fill(value));

it.each([
  { values: [], far: 'none' },
  // The limit is 3 · 1.4826 = 4.4478.
  { values: [14.4], far: 'none' },
  { values: [14.5], far: '`s27` (14.5)' },
  { values: [30, 40, 1_000], far: '`s29` (1,000), `s28` (40), `s27` (30)' },
  { values: [30, 40, 1_000, 50, 60], far: '`s29` (1,000), `s31` (60), `s30` (50) and 2 more' },
])('names at most three entities far from the median: $values', ({ values, far }) => {
  expect(describeMedian(counts(...EVEN, ...values), rounded)).toBe(
    `the median is 10, the median absolute deviation 1; far from the median: ${far}`,
  );
});
