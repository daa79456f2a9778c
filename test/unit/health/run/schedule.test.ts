import cronParser from 'cron-parser';
import { describe, expect, it, vi } from 'vitest';
import { describeTiming, nextRunAt, timingProblems } from '../../../../src/health/run/schedule.ts';

const since = Date.parse('2026-11-21T10:00:00Z');
const next = (spec: Parameters<typeof nextRunAt>[0]) => new Date(nextRunAt(spec, since)).toISOString();

describe('the next run', () => {
  it.each([
    [{}, '2026-11-21T10:20:00.000Z'],
    [{ interval: '1h30m' }, '2026-11-21T11:30:00.000Z'],
    [{ interval: '10s' }, '2026-11-21T10:20:00.000Z'],
    [{ schedule: '*/15 * * * *' }, '2026-11-21T10:15:00.000Z'],
    [{ schedule: '30 0 3 * * *' }, '2026-11-22T03:00:30.000Z'],
    [{ schedule: '0 0 29 2 *' }, '2028-02-29T00:00:00.000Z'],
    [{ schedule: 'every now and then' }, '2026-11-21T10:20:00.000Z'],
  ])('of %j', (spec, time) => {
    expect(next(spec)).toBe(time);
  });
});

it('finds the next leap day across a century without one', () => {
  const schedule = '0 0 29 2 *';
  expect(nextRunAt({ schedule }, Date.parse('2096-03-01T00:00:00Z'))).toBe(Date.parse('2104-02-29T00:00:00Z'));
});

describe('problems', () => {
  it.each([
    ['five words', 'every now and then yes'],
    ['four fields', '0 3 * *'],
    ['seven fields', '* * * * * * *'],
    ['a minute of 99', '99 * * * *'],
    ['a day that does not exist', '0 0 31 2 *'],
    ['days that do not exist', '0 0 31 4,6 *'],
    ['several runs in a minute', '*/10 * * * * *'],
    ['a date', '2026-11-21T10:00:00Z'],
  ])('name a schedule of %s', (_what, schedule) => {
    expect(timingProblems({ schedule }, since)).toEqual([
      `spec.schedule: \`${schedule}\` is not a cron expression of five fields, such as \`*/20 * * * *\`, or of six with a number of seconds first, that is due at some time`,
    ]);
  });

  it('are found once for a schedule that is never due, because that takes long', () => {
    const parse = vi.spyOn(cronParser, 'parseExpression');
    for (let count = 0; count < 10; count++) timingProblems({ schedule: '0 0 31 6,9 *' }, since + count);
    expect(parse).toHaveBeenCalledTimes(1);
  });

  it.each(['59s', '0d', '25d', '99999999999h'])('name an interval of %s', (interval) => {
    expect(timingProblems({ interval }, since)).toEqual([
      `spec.interval: \`${interval}\` is not a duration between 1m and 24d, such as \`20m\` or \`1h30m\``,
    ]);
  });

  it('are none of a valid timing', () => {
    for (const spec of [{}, { interval: '1m' }, { schedule: '0 3 * * MON' }, { schedule: ' 5 4 * * 1-5 ' }])
      expect(timingProblems(spec, since)).toEqual([]);
  });
});

it('is described in words', () => {
  expect(describeTiming({})).toBe('every 20m');
  expect(describeTiming({ interval: '1h30m' })).toBe('every 90m');
  expect(describeTiming({ schedule: '0 3 * * *' })).toBe('by the schedule `0 3 * * *`');
});
