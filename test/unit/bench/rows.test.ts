import { describe, expect, it } from 'vitest';
import { atLeast, atLeastTimes, atMost, atMostTimes, missingRow, NO_GOAL, rowOf } from '../../../bench/frame/rows.ts';
import { lineOf } from '../../../bench/frame/table.ts';

const rate = { work: 'decisions', unit: 'decisions/s', better: 'more', peer: 'a peer' } as const;
const cost = { work: 'a page', unit: 'ms CPU', better: 'less', peer: 'a peer' } as const;

describe('a row of the benchmark', () => {
  it('has a ratio above 1 when ours is better, for rates and for costs', () => {
    expect(rowOf({ ...rate, ours: 300, theirs: 100, goal: NO_GOAL }).ratio).toBe(3);
    expect(rowOf({ ...cost, ours: 2, theirs: 6, goal: NO_GOAL }).ratio).toBe(3);
  });

  it.each([
    ['at least 3×', { ...rate, ours: 300, theirs: 100, goal: atLeastTimes(3) }, true],
    ['less than 3×', { ...rate, ours: 299, theirs: 100, goal: atLeastTimes(3) }, false],
    ['a cost of 1.3×', { ...cost, ours: 1.3, theirs: 1, goal: atMostTimes(1.3) }, true],
    ['a cost of 1.31×', { ...cost, ours: 1.31, theirs: 1, goal: atMostTimes(1.3) }, false],
    ['a rate at its goal', { ...rate, ours: 5, theirs: 9, goal: atLeast(5, 'decisions/s') }, true],
    ['a rate below its goal', { ...rate, ours: 4.9, theirs: 1, goal: atLeast(5, 'decisions/s') }, false],
    ['a cost at its goal', { ...cost, ours: 50, theirs: 1, goal: atMost(50, 'ms CPU') }, true],
    ['a cost above its goal', { ...cost, ours: 50.1, theirs: 99, goal: atMost(50, 'ms CPU') }, false],
  ])('%s: met is %o', (_, comparison, met) => {
    expect(rowOf(comparison).met).toBe(met);
  });

  it('misses a ratio without a peer', () => {
    expect(rowOf({ ...rate, peer: '', ours: 300, goal: atLeastTimes(3) })).toMatchObject({ ratio: null, met: false });
  });

  it('is not made from different answers or from figures that are not numbers', () => {
    const different = { ...rate, ours: 1, theirs: 1, answers: [[true], [false]], goal: NO_GOAL } as const;
    expect(() => rowOf(different)).toThrow('decisions: the answers of ours and a peer differ');
    expect(() => rowOf({ ...rate, ours: Number.NaN, theirs: 1, goal: NO_GOAL })).toThrow('nothing was measured');
    expect(() => rowOf({ ...rate, ours: 1, theirs: Infinity, goal: NO_GOAL })).toThrow('nothing was measured');
  });

  it('explains a missed goal only', () => {
    const ifMissed = 'the core is busy';
    expect(rowOf({ ...cost, ours: 51, goal: atMost(50, 'ms'), ifMissed }).reason).toBe(ifMissed);
    expect(rowOf({ ...cost, ours: 50, goal: atMost(50, 'ms'), ifMissed }).reason).toBeUndefined();
  });

  it('counts as missed when its peer is missing, and says why', () => {
    const row = missingRow({ work: 'a page', ours: 2, unit: 'ms', peer: 'nginx', reason: 'apt-get has no package' });
    expect(row).toMatchObject({ met: false, ratio: null, theirs: null });
    expect(lineOf(row)).toBe('a page: 2 ms; nginx: –, ratio – (apt-get has no package)');
  });
});
