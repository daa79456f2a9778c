import { defineCheck } from '../check.ts';
import type { TableSnapshot } from '../snapshot.ts';
import { counted, Findings, tableFinding, tablesOf } from './shared/findings.ts';

export const instancePoolsNReplicaGroups = defineCheck({
  name: 'INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK',
  specified: 28,
  title: 'Pools and replica groups of tables',
  description: 'A table does not use instance pools and replica groups.',
  category: 'placement',
  severity: 'advice',
  defaultThresholds: {},
  remediation: 'Set poolBased and replicaGroupBased in the instanceAssignmentConfigMap of the table and rebalance it.',
  madeFault: { where: 'live', fault: 'a table without instance assignment', found: 'the table' },
  needs: ['tables'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of tablesOf(snapshot, findings)) {
      // A dimension table is on every server of its tenant: there is nothing to group.
      if (table.config.isDimension) continue;
      findings.examined();
      const fault = assignmentFault(table);
      if (fault === undefined) continue;
      findings.add(tableFinding(table, fault.message, fault.observed, 'pools and replica groups'));
    }
    return findings.outcome({
      pass: 'every table uses instance pools and replica groups',
      fail: (count) =>
        `${counted(count, 'table')} ${count === 1 ? 'does' : 'do'} not use instance pools and replica groups`,
      notApplicable: 'not applicable: the cluster has no tables other than dimension tables',
    });
  },
});

function assignmentFault({ config }: TableSnapshot): { message: string; observed: string } | undefined {
  if (config.instanceAssignments.length === 0) {
    return { message: 'the table has no `instanceAssignmentConfigMap`', observed: 'no assignment' };
  }
  const faults = config.instanceAssignments.flatMap(({ name, poolBased, replicaGroupBased }) => [
    ...(poolBased ? [] : [`\`${name}\` is not pool-based`]),
    ...(replicaGroupBased ? [] : [`\`${name}\` is not based on replica groups`]),
  ]);
  if (faults.length === 0) return undefined;
  return { message: `instance assignment ${faults.join(', ')}`, observed: faults.join(', ').replaceAll('`', '') };
}
