import { defineCheck } from '../check.ts';
import type { SizeSummary, TableSnapshot } from '../snapshot.ts';
import { rounded } from '../numbers.ts';
import { enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

const DEFAULT_THRESHOLDS = { minSizeMB: 5, maxSmallFraction: 0.25 };

export const segmentSize = defineCheck({
  name: 'SEGMENT_SIZE_CHECK',
  specified: 4,
  title: 'Small segments',
  description: 'More than a quarter of the completed segments of a table are smaller than 5 MB.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: DEFAULT_THRESHOLDS,
  remediation:
    'Raise the flush thresholds of the stream, push larger files, or merge the segments with a merge-rollup task.',
  madeFault: { where: 'live', fault: 'a table has segments of a few rows', found: 'the table' },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata', 'size'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      const size = findings.value(table.size, 'table', table.name, 'the sizes of its segments');
      if (size !== undefined) examineTable(table, size, thresholds, findings);
    }
    const { minSizeMB, maxSmallFraction } = thresholds;
    return findings.outcome({
      pass: `no table has more than ${rounded(maxSmallFraction * 100)} % of its segments below ${rounded(minSizeMB)} MB`,
      fail: (count) => have(count, 'table', 'too many small segments'),
      notApplicable: 'not applicable: no enabled table has a completed segment',
    });
  },
});

function examineTable(
  table: TableSnapshot,
  size: SizeSummary,
  { minSizeMB, maxSmallFraction }: typeof DEFAULT_THRESHOLDS,
  findings: Findings,
): void {
  if (size.measured === 0) {
    if (size.incomplete !== undefined) {
      findings.couldNotRead('table', table.name, 'the sizes of its segments', size.incomplete);
    }
    return;
  }
  findings.examined();
  if (size.small.count <= maxSmallFraction * size.measured) {
    const { segments } = table;
    const missing = segments.ok ? Math.max(0, segments.value.completed - size.measured) : 0;
    // The segments that are missing may all be small.
    if (size.incomplete !== undefined && size.small.count + missing > maxSmallFraction * (size.measured + missing)) {
      findings.couldNotRead('table', table.name, 'the sizes of its segments', size.incomplete);
    }
    return;
  }
  const observed = `${rounded(size.small.count)} of ${rounded(size.measured)} (${rounded((100 * size.small.count) / size.measured)} %)`;
  const note = size.incomplete === undefined ? '' : `; ${size.incomplete}`;
  const message = `${observed} completed segments are smaller than ${rounded(minSizeMB)} MB${examples(size.small)}${note}`;
  const expected = `at most ${rounded(maxSmallFraction * 100)} % below ${rounded(minSizeMB)} MB`;
  findings.add(tableFinding(table, message, observed, expected));
}
