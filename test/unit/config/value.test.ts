import { describe, expect, it } from 'vitest';
import { formatBytes, parseBytes } from '../../../src/config/value.ts';

describe('the size in a setting', () => {
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
