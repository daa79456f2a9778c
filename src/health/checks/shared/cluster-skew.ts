import type { CheckOutcome } from '../../check.ts';
import type { ClusterSnapshot, Instance, TableSnapshot } from '../../snapshot.ts';
import { rounded } from '../../numbers.ts';
import { counted, entityFinding, Findings, have, instancesOf } from './findings.ts';
import { groupNote, serverGroups, type ServerGroups } from './server-groups.ts';
import { loadByServer, serversWithTag, type ServerLoads } from './server-loads.ts';
import { exceedsAverage, type ExcessLimits } from './statistics.ts';

export interface ClusterSkewMeasure {
  readonly load: keyof ServerLoads;
  /** Singular noun of what is counted. */
  readonly noun: string;
  readonly limits: ExcessLimits;
}

/** The outcome of a check that compares every server with the average over the cluster, or over the servers of its group. */
export function clusterSkewOutcome(
  snapshot: ClusterSnapshot,
  { load, noun, limits }: ClusterSkewMeasure,
): CheckOutcome {
  const findings = new Findings();
  const loads = loadByServer(snapshot, findings)[load];
  const hosts = [...loads].filter(([, count]) => count > 0).map(([server]) => server);
  const instances = instancesOf(snapshot, findings) ?? [];
  const tables = (snapshot.tables.ok ? snapshot.tables.value : []).filter(({ enabled }) => enabled);
  const groups =
    load === 'consuming' ? consumingServers(tables, instances, hosts) : serverGroups(tables, instances, hosts);
  const means: string[] = [];
  for (const [group, servers] of groups) {
    const counts = new Map([...servers].map((server) => [server, loads.get(server) ?? 0]));
    const { mean, limit, exceeding } = exceedsAverage(counts, limits);
    if (counts.size > 1) findings.examined();
    if (counts.size > 1) means.push(`${counted(mean, noun)}${groupNote(groups, group)}`);
    for (const { name, count } of exceeding) {
      const observed = counted(count, noun);
      const message = `the server hosts ${observed}; the average over ${counted(counts.size, 'server')}${groupNote(groups, group)} is ${counted(mean, noun)}`;
      findings.add(entityFinding('server', name, message, observed, `at most ${counted(limit, noun)}`));
    }
  }
  return findings.outcome({
    pass: `no server exceeds the average of ${means.join(', ')} by more than ${rounded(limits.maxExcessPercent)} %`,
    fail: (count) => have(count, 'server', `over ${rounded(limits.maxExcessPercent)} % more ${noun}s than the average`),
    notApplicable: 'not applicable: fewer than two comparable servers are eligible for tables',
  });
}

/** One group: the enabled servers for consuming segments, and those that host one. */
function consumingServers(
  tables: readonly TableSnapshot[],
  instances: readonly Instance[],
  hosts: readonly string[],
): ServerGroups {
  const tags = new Set(tables.flatMap(({ config }) => config.consumingTag ?? []));
  return new Map([['consuming segments', new Set([...serversWithTag(instances, tags), ...hosts])]]);
}
