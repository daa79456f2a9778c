import { describe, expect, it } from 'vitest';
import { relative, untilPreset } from '../../../web/src/lib/format.ts';

const HOUR = 3_600_000;

describe('a time relative to now', () => {
  it.each([
    [5 * 24 * HOUR + 15.9 * HOUR, 'in 5 days 15 h'],
    [24 * HOUR, 'in 1 day'],
    [29 * 24 * HOUR + 23.9 * HOUR, 'in 30 days'],
    [7 * 24 * HOUR + HOUR, 'in 7 days'],
    [40 * 24 * HOUR + HOUR, 'in 40 days'],
    [2.5 * HOUR, 'in 2 h 30 min'],
    [HOUR, 'in 1 h'],
    [90_000, 'in 2 minutes'],
    [0, 'just now'],
    [-120_000, '2 minutes ago'],
    [-50 * HOUR, '2 days ago'],
  ])('%i ms ahead is %s', (ms, text) => {
    expect(relative(1_000_000_000_000 + ms, 1_000_000_000_000).replaceAll('yesterday', '1 day ago')).toBe(text);
  });
});

describe('a usual time for the end of something', () => {
  const NOW = new Date('2026-03-04T10:20:30');
  it.each([
    ['friday', '2026-03-06T23:59'],
    [{ hours: 2 }, '2026-03-04T12:20'],
    [{ days: 30 }, '2026-04-03T10:20'],
  ] as const)('%j is %s', (preset, value) => {
    expect(untilPreset(preset, NOW)).toBe(value);
  });
});
