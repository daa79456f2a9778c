import { describe, expect, it } from 'vitest';
import { exceedsAverage, skewness } from '../../../../../src/health/checks/shared/statistics.ts';

const counts = (...values: number[]) => new Map(values.map((value, i) => [`s${i}`, value]));

describe('exceeds 50 % of the average', () => {
  it.each([
    { is: 'nothing', values: [], exceeding: [] },
    { is: 'one server', values: [100], exceeding: [] },
    { is: 'all equal', values: [7, 7, 7], exceeding: [] },
    { is: 'all zero', values: [0, 0, 0], exceeding: [] },
    { is: 'two servers, three times as many', values: [3, 1], exceeding: [] },
    { is: 'two servers, more than three times as many', values: [301, 100], exceeding: ['s0'] },
    { is: 'two servers, one with nothing', values: [1, 0], exceeding: ['s0'] },
    { is: 'exactly half as much more', values: [30, 20, 10], exceeding: [] },
    { is: 'a limit that no binary fraction is', values: [3, 1, 2, 2, 2, 2, 2, 2, 2], exceeding: [] },
    { is: 'two that exceed, the larger first', values: [9, 10, 0, 0, 0, 0], exceeding: ['s1', 's0'] },
  ])('$is', ({ values, exceeding }) => {
    expect(exceedsAverage(counts(...values), 50).exceeding.map(({ name }) => name)).toEqual(exceeding);
  });

  it('has mean and limit', () => {
    expect(exceedsAverage(counts(3, 1), 50)).toMatchObject({ mean: 2, limit: 3 });
  });
});

describe('skewness', () => {
  // Figures of pandas.Series.skew and of the SKEW function of spreadsheets.
  it.each([
    { values: [1, 2, 3], skew: 0 },
    { values: [3, 4, 5, 2, 3, 4, 5, 6, 4, 7], skew: 0.359543071406797 },
    { values: [0, 0, 1], skew: Math.sqrt(3) },
    { values: [0, 0, 0, 0, 1], skew: Math.sqrt(5) },
    { values: [1, 1, 1, 1, 0], skew: -Math.sqrt(5) },
    { values: [1e15, 1e15 + 1, 1e15 + 5], skew: 27 / 7 ** 1.5 },
  ])('of $values', ({ values, skew }) => {
    expect(skewness(values)).toBeCloseTo(skew, 9);
  });

  it.each([[[]], [[1]], [[1, 2]], [[4, 4, 4]], [[0, 0, 0, 0]], [[0.1, 0.1, 0.1]]])(
    'is not defined for %j',
    (values) => {
      expect(skewness(values)).toBeUndefined();
    },
  );
});
