import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../../src/platform/duration.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30m', 1_800_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['2w', 1_209_600_000],
    ['0s', 0],
    ['250', undefined],
    ['1.5h', undefined],
    ['h', undefined],
    ['-1s', undefined],
    ['1h ', undefined],
    ['1h\n', undefined],
    ['', undefined],
  ])('%j is %j ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it('are written in the largest unit without a fraction', () => {
    const texts = [5_400_000, 3_600_000, 86_400_000, 1500, 0].map((ms) => formatDuration(ms));
    expect(texts).toEqual(['90m', '1h', '1d', '1500ms', '0ms']);
  });

  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.nat(), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});
