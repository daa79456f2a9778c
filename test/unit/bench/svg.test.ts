import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Curve } from '../../../bench/frame/curve.ts';
import { drawCurve } from '../../../bench/frame/svg.ts';

const axis = (scale: 'linear' | 'log', label = 'roles') => ({ label, unit: 'ms', scale });
const curveOf = (change: Partial<Curve> = {}): Curve => ({
  id: 'decisions',
  title: 'Decisions',
  x: axis('log'),
  y: axis('linear', 'time'),
  series: [
    {
      name: 'ours',
      points: [
        [10, 1.5],
        [100_000, 2],
      ],
    },
  ],
  ...change,
});

/** Every element is closed, in order, and no `&` or `<` is left in a text. @returns the first fault */
function faultOf(svg: string): string | undefined {
  const open: string[] = [];
  for (const [, text = '', closing, name = '', single] of svg.matchAll(/([^<]*)<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
    if (/&(?!(?:amp|lt|gt|quot);)/.test(text)) return `a bare & in \`${text}\``;
    if (closing === '/' && open.pop() !== name) return `</${name}> closes nothing`;
    if (closing === '' && single === '') open.push(name);
  }
  const rest = svg.replaceAll(/<\/?[a-z]+[^<>]*>/g, '');
  return open.length === 0 && !rest.includes('<') ? undefined : `not closed: ${open.join(', ')}`;
}

describe('the picture of a curve', () => {
  it('is well-formed, with numbers only inside the picture, for any names and values', () => {
    const value = fc.double({ min: 1e-6, max: 1e12, noNaN: true });
    const points = fc.uniqueArray(fc.tuple(value, value), { minLength: 1, maxLength: 8, selector: ([x]) => x });
    const scale = fc.constantFrom('linear' as const, 'log' as const);
    fc.assert(
      fc.property(fc.string(), points, scale, scale, (text, some, x, y) => {
        const series = [{ name: text, points: some.toSorted(([a], [b]) => a - b) }];
        const svg = drawCurve(curveOf({ title: text, x: axis(x, text), y: axis(y, text), series }));
        expect(faultOf(svg)).toBeUndefined();
        for (const [, cx, cy] of svg.matchAll(/<circle cx="([^"]+)" cy="([^"]+)"/g)) {
          expect(Number(cx)).toBeGreaterThanOrEqual(84);
          expect(Number(cx)).toBeLessThanOrEqual(720 - 24);
          expect(Number(cy)).toBeGreaterThanOrEqual(48);
          expect(Number(cy)).toBeLessThanOrEqual(424);
        }
      }),
    );
  });

  it('has a text alternative with every value', () => {
    expect(drawCurve(curveOf())).toContain('time (ms) by roles (ms). ours: 10: 1.5, 100 k: 2.');
  });

  it('has colours for light and for dark ground', () => {
    expect(drawCurve(curveOf())).toContain('@media (prefers-color-scheme: dark)');
  });
});
