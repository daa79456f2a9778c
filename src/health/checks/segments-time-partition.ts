import { defineCheck } from '../check.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

export const segmentsTimePartition = defineCheck({
  name: 'SEGMENTS_TIME_PARTITION_CHECK',
  specified: 33,
  title: 'Time order of segments',
  description:
    'The segments of a table, sorted by start and end time, have one whose end time is before the end time of the previous one.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Partition the data by time before it is pushed, or merge the segments with a merge-rollup task.',
  madeFault: { where: 'live', fault: 'a segment within the time of another one', found: 'the table' },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      if (table.config.timeColumn === undefined || table.config.isDimension) continue;
      findings.examined();
      const segments = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      if (segments === undefined || segments.outOfOrder.count === 0) continue;
      const { outOfOrder } = segments;
      const fault = have(outOfOrder.count, 'segment', 'an end time before that of the previous segment');
      const message = `sorted by start and end time, ${fault}${examples(outOfOrder)}`;
      findings.add(tableFinding(table, message, counted(outOfOrder.count, 'segment'), '0 segments'));
    }
    return findings.outcome({
      pass: 'the segments of every table are in time order',
      fail: (count) => have(count, 'table', 'segments that end before the previous segment'),
      notApplicable: 'not applicable: no enabled table has a time column',
    });
  },
});
