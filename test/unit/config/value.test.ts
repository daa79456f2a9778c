import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, parseBytes, parseDuration } from '../../../src/config/value.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30m', 1_800_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['250', 250],
    ['1.5h', undefined],
    ['h', undefined],
    ['-1s', undefined],
    ['', undefined],
  ])('%j is %j ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it('is written with the largest unit that fits', () => {
    expect([5_400_000, 3_600_000, 86_400_000, 1500, 0].map(formatDuration)).toEqual([
      '90m',
      '1h',
      '1d',
      '1500ms',
      '0ms',
    ]);
  });
});

describe('sizes', () => {
  it.each([
    ['256MB', 268_435_456],
    ['1 GB', 1_073_741_824],
    ['10', 10],
    ['10kb', 10_240],
    ['10 apples', undefined],
  ])('%j is %j bytes', (text, size) => {
    expect(parseBytes(text)).toBe(size);
  });

  it('is written with the largest unit that fits', () => {
    expect([268_435_456, 1000].map(formatBytes)).toEqual(['256MB', '1000']);
  });
});
