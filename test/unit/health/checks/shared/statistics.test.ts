import { describe, expect, it } from 'vitest';
import { exceedsAverage, farFromMedian, skewness } from '../../../../../src/health/checks/shared/statistics.ts';

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
    const limits = { maxExcessPercent: 50, minExcess: 0 };
    expect(exceedsAverage(counts(...values), limits).exceeding.map(({ name }) => name)).toEqual(exceeding);
  });

  it('names servers with the same count in the order of their names', () => {
    const equal = new Map([['c', 9], ['a', 9], ['b', 9], ...counts(0, 0, 0, 0, 0, 0)]);
    const { exceeding } = exceedsAverage(equal, { maxExcessPercent: 50, minExcess: 0 });
    expect(exceeding.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('has mean and limit', () => {
    expect(exceedsAverage(counts(3, 1), { maxExcessPercent: 50, minExcess: 0 })).toMatchObject({ mean: 2, limit: 3 });
    expect(exceedsAverage(counts(3, 1), { maxExcessPercent: 50, minExcess: 4 })).toMatchObject({ mean: 2, limit: 6 });
  });
});

describe('exceeds the average by more than the absolute floor', () => {
  it.each([
    // 11 segments on 10 servers: one server must have two of them.
    { is: 'the best possible distribution', values: [2, 1, 1, 1, 1, 1, 1, 1, 1, 1], minExcess: 1, exceeding: [] },
    { is: 'the same without a floor', values: [2, 1, 1, 1, 1, 1, 1, 1, 1, 1], minExcess: 0, exceeding: ['s0'] },
    { is: 'exactly the floor', values: [3, 1, 2, 2], minExcess: 1, exceeding: [] },
    { is: 'more than the floor', values: [3, 0, 0], minExcess: 1, exceeding: ['s0'] },
    { is: 'a higher floor', values: [30, 0, 0], minExcess: 20, exceeding: [] },
  ])('$is', ({ values, minExcess, exceeding }) => {
    const report = exceedsAverage(counts(...values), { maxExcessPercent: 50, minExcess });
    expect(report.exceeding.map(({ name }) => name)).toEqual(exceeding);
  });
});

describe('far from the median', () => {
  it.each([
    { is: 'nothing', values: [], expected: { median: 0, deviation: 0, far: [] } },
    { is: 'even', values: [1, 2, 3, 4], expected: { median: 2.5, deviation: 1, far: [] } },
    // The mean of 23 is far from all of them; the median does not change.
    { is: 'one extreme', values: [9, 10, 11, 100, 10, 9, 11], expected: { median: 10, deviation: 1 } },
    { is: 'equal but one', values: [5, 5, 5, 6], expected: { median: 5, deviation: 0 } },
  ])('$is', ({ values, expected }) => {
    expect(farFromMedian(counts(...values))).toMatchObject(expected);
  });

  it('takes the middle of an odd number of values, and the mean of both middles of an even one', () => {
    expect(farFromMedian(counts(9, 1, 4))).toMatchObject({ median: 4, deviation: 3 });
    expect(farFromMedian(counts(9, 1, 4, 5))).toMatchObject({ median: 4.5, deviation: 2 });
    expect(farFromMedian(counts())).toEqual({ median: 0, deviation: 0, far: [] });
  });

  it('names the farthest first, on both sides', () => {
    const far = (...values: number[]) => farFromMedian(counts(...values)).far.map(({ name }) => name);
    expect(far(9, 10, 11, 100, 10, 9, 11, -500)).toEqual(['s7', 's3']);
    expect(far(5, 5, 5, 6)).toEqual(['s3']);
    const equal = new Map([...counts(5, 5, 5, 5, 5, 5), ['c', 9], ['a', 1], ['b', 9]] as const);
    expect(farFromMedian(equal).far.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
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

  it('of one of four values that differs is exactly at the limit of 2, whatever the values', () => {
    for (let value = 1; value <= 2_000; value += 1) {
      expect(skewness([0, 0, 0, value / 7])).toBe(2);
      expect(skewness([value, value, value, value / 3])).toBe(-2);
    }
  });

  it.each([[[]], [[1]], [[1, 2]], [[4, 4, 4]], [[0, 0, 0, 0]], [[0.1, 0.1, 0.1]]])(
    'is not defined for %j',
    (values) => {
      expect(skewness(values)).toBeUndefined();
    },
  );
});
