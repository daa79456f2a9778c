import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, globMatches, type Glob } from '../../../src/platform/glob.ts';

/** A text that counts how many of its characters are read. */
class CountedText extends String {
  static read = 0;

  override charCodeAt(index: number): number {
    CountedText.read++;
    return super.charCodeAt(index);
  }

  override startsWith(text: string, position?: number): boolean {
    CountedText.read += text.length;
    return super.startsWith(text, position);
  }

  override endsWith(text: string, position?: number): boolean {
    CountedText.read += text.length;
    return super.endsWith(text, position);
  }
}

const counted = (text: string): string => new CountedText(text) as unknown as string;

/** Number of characters of pattern and text that a comparison reads. */
function stepsOf(pattern: string, text: string): number {
  const glob = compileGlob(pattern);
  const inner = glob.inner.map((part) => ({ ...part, text: counted(part.text) }));
  CountedText.read = 0;
  globMatches({ ...glob, inner } satisfies Glob, counted(text));
  return CountedText.read;
}

describe('globs', () => {
  it('match the same texts as the equivalent regular expression', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 10 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 16 });
    fc.assert(
      fc.property(pattern, text, (pattern, subject) => {
        const expression = pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*');
        expect(globMatches(compileGlob(pattern), subject)).toBe(new RegExp(`^${expression}$`).test(subject));
      }),
      { numRuns: 5000 },
    );
  });

  it('match every text with any characters in place of their stars', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(parts, parts, (literals, fillings) => {
        const text = literals.map((literal, at) => (at === 0 ? '' : (fillings[at] ?? '')) + literal).join('');
        expect(globMatches(compileGlob(literals.join('*')), text)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[string, (n: number) => string, (n: number) => string]>([
    ['many parts of one letter', (n) => `${'a*'.repeat(n)}a`, (n) => 'a'.repeat(2 * n)],
    ['many parts and a long text', (n) => `*${'a*'.repeat(n)}b*`, (n) => 'a'.repeat(2 * n)],
    ['one part that nearly occurs everywhere', (n) => `*${'a'.repeat(n)}b*`, (n) => 'a'.repeat(2 * n)],
    ['a part of a short period', (n) => `*${'ab'.repeat(n)}c*`, (n) => 'ab'.repeat(2 * n)],
    [
      'parts that nearly occur, one after another',
      (n) => `*${`${'a'.repeat(30)}b*`.repeat(n / 16)}`,
      (n) => 'a'.repeat(4 * n),
    ],
    ['a beginning and an end', (n) => `${'a'.repeat(n)}*${'b'.repeat(n)}`, (n) => 'a'.repeat(n) + 'b'.repeat(n)],
  ])('take a linear number of steps in the lengths of pattern and text: %s', (_name, pattern, text) => {
    for (const n of [256, 512, 1024, 4096]) {
      const length = pattern(n).length + text(n).length;
      const steps = stepsOf(pattern(n), text(n));
      expect(steps).toBeGreaterThan(n / 2);
      // Each character of the text is compared at most twice, and each comparison also reads a character of the pattern, sometimes again.
      expect(steps / length).toBeLessThan(6);
    }
  });
});
