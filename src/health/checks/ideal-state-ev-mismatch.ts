import { defineCheck } from '../check.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

export const idealStateEvMismatch = defineCheck({
  name: 'IDEAL_STATE_EV_MISMATCH_CHECK',
  title: 'Ideal state against external view',
  description: 'A table has segments whose external view differs from the ideal state.',
  category: 'segments',
  severity: 'critical',
  defaultThresholds: {},
  remediation:
    'Check whether a server of the table is down or starting. If not, look up the named segments in its log and reset or reload them.',
  needs: ['tables', 'enabled', 'assignment', 'externalView'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const difference = findings.value(table.difference, 'table', table.name, 'its ideal state and external view');
      if (difference === undefined || difference.segments.count === 0) continue;
      const { segments, viewMissing } = difference;
      const observed = counted(segments.count, 'segment');
      const message = viewMissing
        ? `the table has no external view, so none of its ${observed} is served`
        : `${have(segments.count, 'segment', 'a different state in the external view than in the ideal state')}${examples(segments)}`;
      findings.add(tableFinding(table, message, observed, '0 segments'));
    }
    return findings.outcome({
      pass: 'the external view of every enabled table equals its ideal state',
      fail: (count) => have(count, 'table', 'segments whose external view differs from the ideal state'),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});
