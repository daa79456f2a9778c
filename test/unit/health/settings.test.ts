import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { parseInterval, parseThresholds, resolveSettings } from '../../../src/health/settings.ts';

describe('settings of a report', () => {
  it('are all checks with their defaults', () => {
    expect(resolveSettings({})).toMatchObject({ overrides: {}, maxFindings: 20, problems: [] });
    expect(resolveSettings({}).checks).toEqual(CATALOGUE);
  });

  it('take thresholds of the configuration, overridden by those of the report', () => {
    const configured = parseThresholds([
      'REPLICATION_CHECK.minReplication=2',
      'SEGMENT_SIZE_CHECK.minSizeMB=1.5',
      'SEGMENT_SIZE_CHECK.maxSmallFraction=0.5',
    ]);
    const { overrides, problems } = resolveSettings(
      { thresholds: { SEGMENT_SIZE_CHECK: { minSizeMB: 7 } } },
      { thresholds: configured },
    );
    expect(problems).toEqual([]);
    expect(overrides).toEqual({
      REPLICATION_CHECK: { minReplication: 2 },
      SEGMENT_SIZE_CHECK: { minSizeMB: 7, maxSmallFraction: 0.5 },
    });
  });

  it('report the source of an invalid threshold', () => {
    const { overrides, problems } = resolveSettings(
      {},
      { thresholds: parseThresholds(['NO_SUCH_CHECK.a=1', 'REPLICATION_CHECK.minimum=2']) },
    );
    expect(problems).toEqual([
      expect.stringContaining('controller.cluster.health.thresholds: unknown check `NO_SUCH_CHECK`') as string,
      expect.stringContaining(
        'controller.cluster.health.thresholds.REPLICATION_CHECK: unknown threshold `minimum`',
      ) as string,
    ]);
    expect(overrides['REPLICATION_CHECK']).toEqual({});
  });

  it("name the cluster property for prebuilt snapshots: the report's, else the configuration's, else the default", () => {
    const of = (...args: Parameters<typeof resolveSettings>) => resolveSettings(...args).prebuiltSnapshotProperty;
    expect(of({})).toBe('pinot.upsert.prebuilt.snapshot.enabled');
    expect(of({}, { prebuiltSnapshotProperty: 'ours' })).toBe('ours');
    expect(of({ prebuiltSnapshotProperty: 'theirs' }, { prebuiltSnapshotProperty: 'ours' })).toBe('theirs');
  });

  it('have a deadline of 5 minutes and read everything every 6 hours, unless the report has other durations', () => {
    const MINUTE_MS = 60_000;
    expect(resolveSettings({})).toMatchObject({ deadlineMs: 5 * MINUTE_MS, fullReadMs: 360 * MINUTE_MS });
    expect(resolveSettings({ deadline: '90s', fullReadInterval: '1h' })).toMatchObject({
      deadlineMs: 90_000,
      fullReadMs: 60 * MINUTE_MS,
      problems: [],
    });
  });

  it('report durations that are too short, in place of which the defaults are used', () => {
    expect(resolveSettings({ deadline: '9s', fullReadInterval: '59s' })).toMatchObject({
      deadlineMs: 300_000,
      fullReadMs: 21_600_000,
      problems: [
        'spec.fullReadInterval: `59s` is not a duration between 1m and 24d, such as `6h`',
        'spec.deadline: `9s` is not a duration between 10s and 24d, such as `5m`',
      ],
    });
  });

  it('exclude disabled checks', () => {
    const { checks, problems } = resolveSettings({ disabledChecks: ['REPLICATION_CHECK'] });
    expect(checks).toHaveLength(CATALOGUE.length - 1);
    expect(problems).toEqual([]);
  });

  it.each([
    [{ disabledChecks: ['REPLICATION'] }, 'did you mean `REPLICATION_CHECK`'],
    [{ thresholds: { NO_SUCH_CHECK: { a: 1 } } }, 'unknown check `NO_SUCH_CHECK`'],
    [{ thresholds: { REPLICATION_CHECK: { minimum: 1 } } }, 'the check has `minReplication`'],
    [{ thresholds: { SEGMENT_RETENTION_CHECK: { days: 1 } } }, 'the check has no thresholds'],
    [{ thresholds: { REPLICATION_CHECK: { minReplication: -1 } } }, 'expected a number of at least 0'],
    [{ thresholds: { REPLICATION_CHECK: { minReplication: Number.NaN } } }, 'a finite number'],
    [{ thresholds: { SEGMENT_SIZE_CHECK: { maxSmallFraction: 1.5 } } }, 'between 0 and 1'],
    [{ thresholds: { DATA_SIZE_SKEW_CHECK: { minSkew: 3 } } }, '`minSkew` is 3 and `maxSkew` is 2'],
  ])('%j is reported as invalid and the default is used', (spec, words) => {
    const settings = resolveSettings(spec);
    expect(settings.problems).toHaveLength(1);
    expect(settings.problems[0]).toContain(words);
    expect(Object.values(settings.overrides).every((values) => Object.keys(values).length === 0)).toBe(true);
  });

  it('keep valid thresholds next to invalid ones', () => {
    const { overrides } = resolveSettings({
      thresholds: { SEGMENT_SIZE_CHECK: { minSizeMB: 1, maxSmallFraction: 9 } },
    });
    expect(overrides).toEqual({ SEGMENT_SIZE_CHECK: { minSizeMB: 1 } });
  });

  it('allow a negative skew', () => {
    expect(resolveSettings({ thresholds: { DATA_SIZE_SKEW_CHECK: { minSkew: -5, maxSkew: -1 } } }).problems).toEqual(
      [],
    );
  });
});

describe('an interval', () => {
  it.each([
    ['20m', 1_200_000],
    ['1h30m', 5_400_000],
    ['60000ms', 60_000],
    ['1m', 60_000],
    ['24d', 2_073_600_000],
    ['59999ms', undefined],
    ['10s', undefined],
    ['25d', undefined],
    ['', undefined],
    ['20', undefined],
    ['m', undefined],
    ['20 m', undefined],
    ['-1s', undefined],
  ])('%j', (text, ms) => {
    expect(parseInterval(text)).toBe(ms);
  });
});
