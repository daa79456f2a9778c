import { defineCheck } from '../check.ts';
import type { ReplicaFault, TableSnapshot, ViewDifference } from '../snapshot.ts';
import {
  counted,
  enabledTables,
  examples,
  Findings,
  have,
  lostReplica,
  tableFinding,
  withSeverity,
} from './shared/findings.ts';
import { unservedMessage } from './shared/unserved-segments.ts';

export const idealStateEvMismatch = defineCheck({
  name: 'IDEAL_STATE_EV_MISMATCH_CHECK',
  specified: 1,
  title: 'Ideal state against external view',
  description: 'A table has segments whose external view differs from the ideal state.',
  category: 'segments',
  severity: 'critical',
  otherSeverity: 'warning',
  defaultThresholds: {},
  remediation:
    'Check whether a server of the table is down or starting. If not, look up the named segments in its log and reset or reload them.',
  madeFault: { where: 'live', fault: 'a server is stopped', found: 'the tables with segments on it' },
  needs: ['tables', 'enabled', 'assignment', 'externalView'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const differing: [TableSnapshot, ViewDifference][] = [];
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const difference = findings.value(table.difference, 'table', table.name, 'its ideal state and external view');
      if (difference !== undefined && difference.segments.count > 0) differing.push([table, difference]);
    }
    // First the segments that cannot be queried, of all tables.
    for (const [table, difference] of differing) addUnserved(table, difference, findings);
    for (const [table, difference] of differing) addReplicas(table, difference, findings);
    const unserved = differing.reduce((sum, [, difference]) => sum + difference.unserved.count, 0);
    const note = unserved === 0 ? '' : `; ${have(unserved, 'segment', 'no online replica')}`;
    return findings.outcome({
      pass: 'the external view of every enabled table equals its ideal state',
      fail: () =>
        `${have(differing.length, 'table', 'segments whose external view differs from the ideal state')}${note}`,
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

function addUnserved(table: TableSnapshot, difference: ViewDifference, findings: Findings): void {
  const { count } = difference.unserved;
  if (count === 0) return;
  findings.add(tableFinding(table, unservedMessage(difference), counted(count, 'segment'), '0 segments'));
}

/** The replicas that differ, by server and state. */
function addReplicas(table: TableSnapshot, difference: ViewDifference, findings: Findings): void {
  const { replicas, moreReplicaGroups, viewMissing } = difference;
  if (viewMissing) return;
  for (const replica of replicas) {
    const observed = `${counted(replica.segments.count, 'segment')} ${stateText(replica)}`;
    const finding = tableFinding(table, replicaMessage(replica), observed, '0 segments');
    // A replica that is not needed does not put data at risk. Segments without any replica have a finding of their own.
    findings.add(
      replica.state === 'unexpected'
        ? withSeverity('warning', { ...finding, instance: replica.server })
        : lostReplica(finding, replica.server),
    );
  }
  if (moreReplicaGroups === 0) return;
  const groups = counted(moreReplicaGroups, 'more group');
  const message = `${groups} of segments by server and state differ from the ideal state`;
  findings.add(lostReplica(tableFinding(table, message, groups, '0 segments')));
}

function stateText({ state }: ReplicaFault): string {
  return state === 'unexpected' ? 'not in the ideal state' : state;
}

function replicaMessage({ server, state, segments }: ReplicaFault): string {
  const subject = counted(segments.count, 'segment');
  const verb = segments.count === 1 ? 'is' : 'are';
  const names = examples(segments);
  switch (state) {
    case 'missing':
      return `${subject} on \`${server}\` ${verb} missing from the external view${names}`;
    case 'unexpected':
      return `${subject} ${verb} on \`${server}\`, which the ideal state does not have for ${segments.count === 1 ? 'it' : 'them'}${names}`;
    default:
      return `${subject} on \`${server}\` ${verb} in the state ${state}${names}`;
  }
}
