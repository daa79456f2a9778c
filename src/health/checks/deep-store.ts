import { defineCheck } from '../check.ts';
import type { FileSample, SegmentFiles, TableSnapshot } from '../snapshot.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

export const deepStore = defineCheck({
  name: 'DEEP_STORE_CHECK',
  title: 'Files in the deep store',
  description:
    'The deep store has no file of a completed segment: its metadata has an empty URL, or the controller does not have the file of the oldest or newest segment of a table.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: { maxSegmentsWithoutUrl: 0 },
  remediation:
    'While a server has the segment, push it again from its source, or restore the file from a backup of the deep store. Do not restart or replace the servers of the table before.',
  madeFault: {
    where: 'live',
    fault: 'the file of a segment is deleted in the folder of the controller',
    found: 'the table',
  },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata', 'files'],
  evaluate({ snapshot, thresholds: { maxSegmentsWithoutUrl } }) {
    const findings = new Findings();
    let elsewhere = 0;
    for (const table of enabledTables(snapshot, findings)) {
      const segments = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      if (segments === undefined) continue;
      const { files } = segments;
      if (files.elsewhere > 0) elsewhere += 1;
      if (files.withoutUrl.count > 0 || files.served.length > 0) findings.examined();
      addWithoutUrl(table, files, { maxSegmentsWithoutUrl, findings });
      const sample = findings.value(table.files, 'table', table.name, 'the files of its segments');
      if (sample !== undefined) addMissing(table, sample, findings);
    }
    const note = elsewhere === 0 ? '' : `; ${have(elsewhere, 'table', 'files')} that only their store can tell of`;
    return findings.outcome({
      pass: `the controller has the files of the segments that were tried${note}`,
      fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'lacks' : 'lack'} files in the deep store`,
      notApplicable: `not applicable: the controller serves no file of a segment${note}`,
    });
  },
});

function addWithoutUrl(
  table: TableSnapshot,
  { withoutUrl }: SegmentFiles,
  { maxSegmentsWithoutUrl, findings }: { readonly maxSegmentsWithoutUrl: number; readonly findings: Findings },
): void {
  if (withoutUrl.count <= maxSegmentsWithoutUrl) return;
  const observed = counted(withoutUrl.count, 'segment');
  const message = `${have(withoutUrl.count, 'completed segment', 'no URL in the deep store')}${examples(withoutUrl)}: only the servers have ${withoutUrl.count === 1 ? 'it' : 'them'}`;
  findings.add(tableFinding(table, message, observed, `at most ${counted(maxSegmentsWithoutUrl, 'segment')}`));
}

function addMissing(table: TableSnapshot, { asked, missing }: FileSample, findings: Findings): void {
  if (missing.count === 0) return;
  const observed = `${counted(missing.count, 'segment')} of ${asked} tried`;
  const message = `the controller does not have the file of ${observed}${examples(missing)}: a server that has lost ${missing.count === 1 ? 'it' : 'them'}, or a new one, cannot load ${missing.count === 1 ? 'it' : 'them'}`;
  findings.add(tableFinding(table, message, observed, 'all files'));
}
