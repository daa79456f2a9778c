import type { CheckOutcome } from '../../check.ts';
import type { ClusterSnapshot } from '../../snapshot.ts';
import { counted, entityFinding, Findings, have, instancesOf, rounded } from './findings.ts';
import { loadByServer, serversWithTag, type ServerLoads } from './server-loads.ts';
import { exceedsAverage } from './statistics.ts';

export interface ClusterSkewMeasure {
  readonly load: keyof ServerLoads;
  /** Singular noun of what is counted. */
  readonly noun: string;
  readonly maxExcessPercent: number;
}

/** The outcome of a check that compares every server with the average over the cluster. */
export function clusterSkewOutcome(
  snapshot: ClusterSnapshot,
  { load, noun, maxExcessPercent }: ClusterSkewMeasure,
): CheckOutcome {
  const findings = new Findings();
  const servers = clusterServers(snapshot, findings, load === 'consuming' ? ['REALTIME'] : ['OFFLINE', 'REALTIME']);
  const loads = loadByServer(snapshot, findings)[load];
  const counts = new Map([...servers].map((server) => [server, loads.get(server) ?? 0]));
  for (const [server, count] of loads) if (count > 0) counts.set(server, count);
  const { mean, limit, exceeding } = exceedsAverage(counts, maxExcessPercent);
  if (counts.size > 1) findings.examined();
  for (const { name, count } of exceeding) {
    const observed = counted(count, noun);
    const message = `the server hosts ${observed}; the average over ${counts.size} servers is ${rounded(mean)}`;
    findings.add(entityFinding('server', name, message, observed, `at most ${rounded(limit)}`));
  }
  return findings.outcome({
    pass: `no server exceeds the average of ${rounded(mean)} ${noun}s by more than ${maxExcessPercent} %`,
    fail: (count) => have(count, 'server', `over ${maxExcessPercent} % more ${noun}s than the average`),
    notApplicable: 'not applicable: fewer than two servers are eligible for tables',
  });
}

/** Every enabled server whose tags admit segments of some enabled table of these types. */
export function clusterServers(
  snapshot: ClusterSnapshot,
  findings: Findings,
  types: readonly string[] = ['OFFLINE', 'REALTIME'],
): ReadonlySet<string> {
  const instances = instancesOf(snapshot, findings) ?? [];
  const tables = snapshot.tables.ok ? snapshot.tables.value : [];
  const tags = tables.filter(({ enabled, type }) => enabled && types.includes(type)).map((table) => table.config);
  return new Set(serversWithTag(instances, new Set(tags.flatMap(({ serverTags }) => serverTags))));
}
