import { defineCheck } from '../check.ts';
import type { Assignment, ClusterSnapshot, InstancePartitions, TableSnapshot } from '../snapshot.ts';
import { rounded } from '../numbers.ts';
import { counted, enabledTables, Findings, have, tableFinding } from './shared/findings.ts';

export const upsertTableSegmentAssignment = defineCheck({
  name: 'UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK',
  specified: 9,
  title: 'Assignment of upsert tables',
  description: 'In an upsert table, segments of one partition of a single replica group are on more than one server.',
  category: 'upsert',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Rebalance the table with includeConsuming=true, so that each partition is on one server of a group.',
  madeFault: {
    where: 'live',
    fault: 'completed segments of a partition are moved',
    found: 'the table and the partition',
  },
  needs: ['tables', 'enabled', 'assignment', 'instancePartitions'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      if (!table.config.upsert) continue;
      findings.examined();
      const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
      if (assignment !== undefined) examineTable(table, assignment, snapshot, findings);
    }
    return findings.outcome({
      pass: 'in every upsert table each partition of a replica group is on one server',
      fail: (count) => have(count, 'partition', 'segments of one replica group on more than one server'),
      notApplicable: 'not applicable: the cluster has no enabled upsert table',
    });
  },
});

function examineTable(
  table: TableSnapshot,
  { partitions, segmentsWithoutPartition }: Assignment,
  snapshot: ClusterSnapshot,
  findings: Findings,
): void {
  if (segmentsWithoutPartition > 0) {
    const error = have(segmentsWithoutPartition, 'segment', 'a name without a partition id');
    findings.couldNotRead('table', table.name, 'the partitions of its segments', error);
  }
  const groups = replicaGroups(table, snapshot, findings);
  for (const [partition, servers] of partitions) {
    const fault = groups === undefined ? inferredFault(table, servers) : groupFault(groups, servers);
    if (fault === undefined) continue;
    const message = `partition ${partition}: ${fault}`;
    findings.add(tableFinding(table, message, servers.join(', '), 'one server in each replica group'));
  }
}

/** The table's stored replica groups for consuming segments; undefined if it has none. */
function replicaGroups(
  table: TableSnapshot,
  snapshot: ClusterSnapshot,
  findings: Findings,
): InstancePartitions | undefined {
  const stored = findings.value(snapshot.instancePartitions, 'table', table.name, 'the stored instance partitions');
  return stored?.find((partitions) => partitions.name === `${table.rawName}_CONSUMING`);
}

/** Used where no replica groups are stored: a partition on more servers than replicas is split within a group. */
function inferredFault(table: TableSnapshot, servers: readonly string[]): string | undefined {
  const replicas = Number(table.config.replication);
  if (!(servers.length > replicas)) return undefined;
  return `its segments are on ${counted(servers.length, 'server')}, but the table has ${counted(replicas, 'replica')}`;
}

function groupFault(groups: InstancePartitions, servers: readonly string[]): string | undefined {
  const membersByGroup = new Map<string, Set<string>>();
  for (const [key, servers] of groups.servers) {
    const group = key.slice(key.indexOf('_') + 1);
    const members = membersByGroup.get(group) ?? new Set<string>();
    for (const server of servers) members.add(server);
    membersByGroup.set(group, members);
  }
  for (const [group, members] of membersByGroup) {
    const hosting = servers.filter((server) => members.has(server));
    if (hosting.length > 1) return `the segments of replica group ${group} are on ${rounded(hosting.length)} servers`;
  }
  const outside = servers.find((server) => [...membersByGroup.values()].every((members) => !members.has(server)));
  return outside && `\`${outside}\` hosts its segments but is in no replica group of the table`;
}
