import { defineCheck } from '../check.ts';
import type { TableConfig } from '../snapshot.ts';
import { Findings, have, tableFinding, tablesOf } from './shared/findings.ts';

/** Pinot skips the retention of a table with a value or a unit that it cannot parse. */
const TIME_UNITS: ReadonlySet<string> = new Set([
  'DAYS',
  'HOURS',
  'MINUTES',
  'SECONDS',
  'MILLISECONDS',
  'MICROSECONDS',
  'NANOSECONDS',
]);
const WHOLE_NUMBER = /^\+?[0-9]{1,18}$/u;

export const segmentRetention = defineCheck({
  name: 'SEGMENT_RETENTION_CHECK',
  specified: 5,
  title: 'Retention',
  description: 'A table has no segment retention configured.',
  category: 'tables',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Set segmentsConfig.retentionTimeUnit and retentionTimeValue in the table configuration.',
  madeFault: { where: 'live', fault: 'a table without retention', found: 'the table, until it has one' },
  needs: ['tables'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of tablesOf(snapshot, findings)) {
      const { config } = table;
      // Every push replaces all segments of such a table, so retention does not apply.
      if (config.isRefresh || config.isDimension) continue;
      findings.examined();
      const fault = retentionFault(config);
      if (fault === undefined) continue;
      const observed = `${config.retentionTimeValue ?? 'no value'} ${config.retentionTimeUnit ?? 'no unit'}`;
      const message = `the table has no segment retention: ${fault}`;
      findings.add(tableFinding(table, message, observed, 'a retention time above 0'));
    }
    return findings.outcome({
      pass: 'every table whose segments accumulate has a retention',
      fail: (count) => have(count, 'table', 'no segment retention'),
      notApplicable: 'not applicable: the cluster has no tables other than REFRESH and dimension tables',
    });
  },
});

function retentionFault({ retentionTimeUnit: unit, retentionTimeValue: value }: TableConfig): string | undefined {
  if (unit === undefined && value === undefined) return '`retentionTimeUnit` and `retentionTimeValue` are not set';
  if (unit === undefined) return '`retentionTimeUnit` is not set';
  if (value === undefined) return '`retentionTimeValue` is not set';
  if (!TIME_UNITS.has(unit.toUpperCase())) return `\`retentionTimeUnit\` is \`${unit}\`, which is no unit of time`;
  if (!(Number(value) > 0)) return `\`retentionTimeValue\` is \`${value}\`, expected a positive number`;
  return WHOLE_NUMBER.test(value)
    ? undefined
    : `Pinot ignores the \`retentionTimeValue\` \`${value}\`, expected digits only`;
}
