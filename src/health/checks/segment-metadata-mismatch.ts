import { defineCheck } from '../check.ts';
import type { Sample, TableSnapshot } from '../snapshot.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

export const segmentMetadataMismatch = defineCheck({
  name: 'SEGMENT_METADATA_MISMATCH_CHECK',
  title: 'Segment metadata against ideal state',
  description:
    'A table has segments in its ideal state without metadata, or metadata of segments that its ideal state lacks.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: { maxSegments: 0 },
  remediation:
    'Delete the named segments with DELETE /segments/{tableNameWithType}/{segment}, and push again those whose rows are needed.',
  madeFault: {
    where: 'live',
    fault: 'the metadata of a segment is deleted in ZooKeeper',
    found: 'the table and the segment',
  },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata'],
  evaluate({ snapshot, thresholds: { maxSegments } }) {
    const findings = new Findings();
    const faulty = new Set<string>();
    for (const table of enabledTables(snapshot, findings)) {
      const segments = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      if (segments === undefined) continue;
      findings.examined();
      const orphans = findings.value(segments.orphans, 'table', table.name, 'the metadata of its segments again');
      if (orphans === undefined) continue;
      const add = (sample: Sample, fault: string): void => {
        if (sample.count <= maxSegments) return;
        faulty.add(table.name);
        findings.add(orphanFinding(table, sample, { fault, maxSegments }));
      };
      add(orphans.withoutMetadata, 'no metadata, although the ideal state has');
      add(orphans.unassigned, 'metadata, although the ideal state does not have');
    }
    return findings.outcome({
      pass: 'the metadata of every enabled table has the segments of its ideal state',
      fail: () => have(faulty.size, 'table', 'segments in only one of the ideal state and the metadata'),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

function orphanFinding(
  table: TableSnapshot,
  sample: Sample,
  { fault, maxSegments }: { fault: string; maxSegments: number },
) {
  const observed = counted(sample.count, 'segment');
  const message = `${have(sample.count, 'segment', fault)} ${sample.count === 1 ? 'it' : 'them'}${examples(sample)}`;
  return tableFinding(table, message, observed, `at most ${counted(maxSegments, 'segment')}`);
}
