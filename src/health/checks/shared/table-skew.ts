import type { CheckOutcome } from '../../check.ts';
import type { Assignment, ClusterSnapshot, Instance, ServerLoad, TableSnapshot } from '../../snapshot.ts';
import { counted, enabledTables, entityFinding, Findings, instancesOf, rounded } from './findings.ts';
import { eligibleServers } from './server-loads.ts';
import { exceedsAverage } from './statistics.ts';

/** What is counted on each server of a table, and the limits. */
export interface TableSkewMeasure {
  /** Singular noun of what is counted. */
  readonly noun: string;
  readonly onServer: (load: ServerLoad) => number;
  readonly inTable: (assignment: Assignment) => number;
  /** Tables with this count or fewer are not examined. */
  readonly minimum: number;
  readonly maxExcessPercent: number;
}

/** The outcome of a check that compares the servers of each table with their average. */
export function tableSkewOutcome(snapshot: ClusterSnapshot, measure: TableSkewMeasure): CheckOutcome {
  const findings = new Findings();
  const instances = instancesOf(snapshot, findings);
  for (const table of instances === undefined ? [] : enabledTables(snapshot, findings)) {
    // A dimension table is on every server of its tenant.
    if (!table.config.isDimension) examineTable(table, instances ?? [], { snapshot, measure, findings });
  }
  const { noun, minimum, maxExcessPercent } = measure;
  return findings.outcome({
    pass: `no server exceeds the average ${noun} count of a table by more than ${maxExcessPercent} %`,
    fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'is' : 'are'} unevenly distributed over servers`,
    notApplicable: `not applicable: no enabled table has more than ${minimum} ${noun}s`,
  });
}

function examineTable(
  table: TableSnapshot,
  instances: readonly Instance[],
  context: { snapshot: ClusterSnapshot; measure: TableSkewMeasure; findings: Findings },
): void {
  const { snapshot, measure, findings } = context;
  const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
  if (assignment === undefined || measure.inTable(assignment) <= measure.minimum) return;
  findings.examined();
  const counts = new Map<string, number>();
  for (const server of comparedServers(table, instances, snapshot)) {
    const load = assignment.servers.get(server);
    counts.set(server, load === undefined ? 0 : measure.onServer(load));
  }
  const { mean, limit, exceeding } = exceedsAverage(counts, measure.maxExcessPercent);
  const first = exceeding[0];
  if (first === undefined) return;
  const others = exceeding.length > 1 ? `; ${counted(exceeding.length - 1, 'more server')} above the limit` : '';
  const observed = counted(first.count, measure.noun);
  const message = `\`${first.name}\` hosts ${observed} of the table; the average over ${counted(counts.size, 'server')} is ${rounded(mean)}${others}`;
  findings.add(entityFinding('table', table.name, message, observed, `at most ${rounded(limit)}`));
}

/**
 * The servers over which the average is taken: those of the table's stored instance partitions if it has any, else the enabled servers
 * of its tenant; in both cases also every server that hosts a segment of the table.
 */
function comparedServers(
  table: TableSnapshot,
  instances: readonly Instance[],
  snapshot: ClusterSnapshot,
): ReadonlySet<string> {
  const servers = new Set(serversOfPartitions(table, snapshot));
  if (servers.size === 0) for (const server of eligibleServers(table, instances)) servers.add(server);
  if (table.assignment.ok) for (const server of table.assignment.value.servers.keys()) servers.add(server);
  return servers;
}

/** The servers of the table's stored instance partitions, whose names are `<table>_<OFFLINE|CONSUMING|COMPLETED>`. */
function serversOfPartitions(table: TableSnapshot, { instancePartitions }: ClusterSnapshot): string[] {
  if (!instancePartitions.ok) return [];
  const suffixes = table.type === 'OFFLINE' ? ['OFFLINE'] : ['CONSUMING', 'COMPLETED'];
  const names = new Set(suffixes.map((suffix) => `${table.rawName}_${suffix}`));
  return instancePartitions.value
    .filter((partitions) => names.has(partitions.name))
    .flatMap((partitions) => [...partitions.servers.values()].flat());
}
