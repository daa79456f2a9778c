import { describe, expect, it } from 'vitest';
import { lineDiff, withContext } from '../../../web/src/lib/line-diff.ts';

const marks = { same: ' ', added: '+', removed: '-' } as const;
const shown = (before: string, after: string): string[] =>
  lineDiff(before, after).map(({ kind, text }) => marks[kind] + text);

describe('the difference of two texts', () => {
  it.each([
    ['a\nb\nc', 'a\nb\nc', [' a', ' b', ' c']],
    ['a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
    ['a\nb', 'b\na', ['-a', ' b', '+a']],
    ['a', 'a\nb', [' a', '+b']],
    ['a\na\nb', 'a\nb', [' a', '-a', ' b']],
  ])('of %j and %j', (before, after, expected) => {
    expect(shown(before, after)).toEqual(expected);
  });

  it('has both texts in it, also where it is too large to compare', () => {
    const many = (prefix: string): string =>
      Array.from({ length: 3000 }, (_, index) => `${prefix}${index % 7}`).join('\n');
    for (const [before, after] of [
      [many('a'), many('b')],
      [many('a').slice(0, 900), `${many('a').slice(60, 700)}\nz`],
    ] as const) {
      const diff = lineDiff(before, after);
      const texts = (without: string): string =>
        diff
          .filter(({ kind }) => kind !== without)
          .map(({ text }) => text)
          .join('\n');
      expect(texts('added')).toBe(before);
      expect(texts('removed')).toBe(after);
    }
  });

  it('omits lines that are far from a change', () => {
    const lines = Array.from({ length: 20 }, (_, index) => String(index));
    const kept = withContext(lineDiff(lines.join('\n'), lines.with(10, 'x').join('\n')));
    expect(kept.map((line) => line?.text)).toEqual([undefined, '8', '9', '10', 'x', '11', '12', undefined]);
  });
});
