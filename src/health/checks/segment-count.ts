import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, enabledTables, Findings, have, tableFinding } from './shared/findings.ts';

export const segmentCount = defineCheck({
  name: 'SEGMENT_COUNT_CHECK',
  specified: 3,
  title: 'Segments of a table',
  description: 'A table has more than 50,000 segments.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: { maxSegments: 50_000 },
  remediation: 'Merge small segments with a merge-rollup task, push larger ones, or shorten the retention.',
  madeFault: { where: 'lowered', fault: 'a table has one segment more than allowed', found: 'the table' },
  needs: ['tables', 'enabled', 'assignment'],
  evaluate({ snapshot, thresholds: { maxSegments } }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
      if (assignment === undefined || assignment.segments <= maxSegments) continue;
      const observed = counted(assignment.segments, 'segment');
      findings.add(tableFinding(table, `the table has ${observed}`, observed, `at most ${rounded(maxSegments)}`));
    }
    return findings.outcome({
      pass: `no table has more than ${rounded(maxSegments)} segments`,
      fail: (count) => have(count, 'table', `more than ${rounded(maxSegments)} segments`),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});
