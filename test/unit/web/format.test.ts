import { describe, expect, it } from 'vitest';
import { fieldOf, relative, timeOfField, untilPreset } from '../../../web/src/lib/format.ts';

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
  ] as const)('%j is %s in the time zone of the browser', (preset, value) => {
    expect(fieldOf(untilPreset(preset, false, NOW), false)).toBe(value);
  });

  it.each([
    ['friday', '2026-03-06T23:59:00.000Z'],
    [{ hours: 2 }, '2026-03-07T01:00:00.000Z'],
    [{ days: 30 }, '2026-04-05T23:00:00.000Z'],
  ] as const)('%j is %s in UTC', (preset, value) => {
    expect(untilPreset(preset, true, new Date('2026-03-06T23:00:30Z'))).toBe(value);
  });

  it('is the next Friday where this one has ended', () => {
    expect(untilPreset('friday', true, new Date('2026-03-06T23:59:10Z'))).toBe('2026-03-13T23:59:00.000Z');
  });
});

describe('the field of a time', () => {
  it('shows the time in the zone of the page, and has no time while it is incomplete', () => {
    expect(fieldOf('2026-03-04T10:20:30.000Z', true)).toBe('2026-03-04T10:20');
    expect(timeOfField('2026-03-04T10:20', true)).toBe('2026-03-04T10:20:00.000Z');
    expect(timeOfField(fieldOf('0002-01-01T10:20:00.000Z', false), false)).not.toBe('');
    expect([fieldOf('', false), timeOfField('', false), timeOfField('x', true)]).toEqual(['', '', '']);
  });
});
