import { describe, expect, it } from 'vitest';
import { jsonDifferences } from '../../../src/platform/json-diff.ts';

const LIMITS = { maxDifferences: 3, maxValueLength: 20, maxLength: 40 };

describe('jsonDifferences()', () => {
  it('lists the paths at which two documents differ', () => {
    const { differences, truncated } = jsonDifferences(
      { same: [1, { x: null }], gone: 1, 'a/b~': 'old' },
      { same: [1, { x: null }], 'a/b~': 'new', list: [] },
      LIMITS,
    );
    expect(truncated).toBe(false);
    expect(differences).toEqual([
      { path: '/gone', before: 1 },
      { path: '/a~1b~0', before: 'old', after: 'new' },
      { path: '/list', after: [] },
    ]);
    expect(jsonDifferences({ a: [1] }, { a: [1] }, LIMITS)).toEqual({ differences: [], truncated: false });
    expect(jsonDifferences([1], { 0: 1 }, LIMITS).differences).toEqual([{ path: '', before: [1], after: { 0: 1 } }]);
  });

  it('is bounded in number, in each value and in total', () => {
    expect(jsonDifferences([0, 0, 0, 0], [1, 1, 1, 1], LIMITS)).toMatchObject({
      differences: { length: 3 },
      truncated: true,
    });
    const long = jsonDifferences(undefined, 'x'.repeat(100), LIMITS);
    expect(long).toEqual({ differences: [{ path: '', after: `"${'x'.repeat(19)}…` }], truncated: true });
    const many = jsonDifferences({}, { a: 'x'.repeat(50), b: 'x'.repeat(50), c: 1 }, LIMITS);
    expect(many.truncated).toBe(true);
    expect(JSON.stringify(many).length).toBeLessThan(200);
  });
});
