import { defineCheck } from '../check.ts';
import { counted, enabledTables, Findings, have, tableFinding } from './shared/findings.ts';
import { unservedMessage } from './shared/unserved-segments.ts';

export const segmentsWithoutOnlineReplica = defineCheck({
  name: 'SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK',
  title: 'Segments without an online replica',
  description: 'A table has more segments without an online or consuming replica than allowed.',
  category: 'segments',
  severity: 'critical',
  defaultThresholds: { maxSegments: 0 },
  remediation:
    'Start the servers of the segments. A segment in the state ERROR: POST /segments/{tableNameWithType}/{segment}/reset; one whose file is lost: push it again.',
  madeFault: { where: 'live', fault: 'the only server of a table is stopped', found: 'the table' },
  needs: ['tables', 'enabled', 'assignment', 'externalView'],
  evaluate({ snapshot, thresholds: { maxSegments } }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const difference = findings.value(table.difference, 'table', table.name, 'its ideal state and external view');
      const unserved = difference?.unserved.count ?? 0;
      if (difference === undefined || unserved <= maxSegments) continue;
      const expected = `at most ${counted(maxSegments, 'segment')}`;
      findings.add(tableFinding(table, unservedMessage(difference), counted(unserved, 'segment'), expected));
    }
    return findings.outcome({
      pass: 'every segment of the enabled tables has an online replica',
      fail: (count) => have(count, 'table', 'segments without an online replica'),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});
