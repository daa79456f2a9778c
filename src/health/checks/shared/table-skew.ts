import type { CheckOutcome } from '../../check.ts';
import type {
  Assignment,
  ClusterSnapshot,
  Instance,
  InstancePartitions,
  ServerLoad,
  TableSnapshot,
} from '../../snapshot.ts';
import { rounded } from '../../numbers.ts';
import { counted, enabledTables, entityFinding, Findings, instancesOf } from './findings.ts';
import { groupNote, serverGroups, type ServerGroups } from './server-groups.ts';
import { serversWithTag } from './server-loads.ts';
import { exceedsAverage, type ExcessLimits } from './statistics.ts';

/** What is counted on each server of a table, and the limits. */
export interface TableSkewMeasure {
  /** Singular noun of what is counted. */
  readonly noun: string;
  readonly load: keyof ServerLoad;
  readonly inTable: (assignment: Assignment) => number;
  /** Tables with this count or fewer are not examined. */
  readonly minimum: number;
  readonly limits: ExcessLimits;
}

/** The outcome of a check that compares the servers of each table with their average. */
export function tableSkewOutcome(snapshot: ClusterSnapshot, measure: TableSkewMeasure): CheckOutcome {
  const findings = new Findings();
  const instances = instancesOf(snapshot, findings);
  for (const table of instances === undefined ? [] : enabledTables(snapshot, findings)) {
    // A dimension table is on every server of its tenant.
    if (!table.config.isDimension) examineTable(table, instances ?? [], { snapshot, measure, findings });
  }
  const { noun, minimum, limits } = measure;
  return findings.outcome({
    pass: `no server exceeds the average ${noun} count of a table by more than ${rounded(limits.maxExcessPercent)} %`,
    fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'is' : 'are'} unevenly distributed over servers`,
    notApplicable: `not applicable: no enabled table has more than ${counted(minimum, noun)}`,
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
  const stored = findings.value(snapshot.instancePartitions, 'table', table.name, 'the stored instance partitions');
  if (stored === undefined) return;
  const groups = comparedServers(table, instances, { stored, load: measure.load, loads: assignment.servers });
  for (const [group, servers] of groups) {
    const counts = new Map([...servers].map((server) => [server, assignment.servers.get(server)?.[measure.load] ?? 0]));
    const { mean, limit, exceeding } = exceedsAverage(counts, measure.limits);
    const first = exceeding[0];
    if (first === undefined) continue;
    const others = exceeding.length > 1 ? `; ${counted(exceeding.length - 1, 'more server')} above the limit` : '';
    const observed = counted(first.count, measure.noun);
    const message = `\`${first.name}\` hosts ${observed} of the table; the average over ${counted(counts.size, 'server')}${groupNote(groups, group)} is ${counted(mean, measure.noun)}${others}`;
    findings.add(entityFinding('table', table.name, message, observed, `at most ${counted(limit, measure.noun)}`));
    // One finding for each table.
    return;
  }
}

/**
 * The servers over which averages are taken: those of the table's stored instance partitions if it has any, else the enabled servers of
 * its tenant, in the groups of `serverGroups`; in both cases also every server that hosts a counted segment of the table.
 */
function comparedServers(
  table: TableSnapshot,
  instances: readonly Instance[],
  context: { stored: readonly InstancePartitions[]; load: keyof ServerLoad; loads: Assignment['servers'] },
): ServerGroups {
  const { load, loads } = context;
  const hosts = [...loads].filter(([, counts]) => counts[load] > 0).map(([server]) => server);
  if (load === 'consuming') {
    const stored = serversOfPartitions(table, context.stored, ['CONSUMING']);
    const tags = new Set(table.config.consumingTag === undefined ? [] : [table.config.consumingTag]);
    const eligible = stored.size > 0 ? stored : serversWithTag(instances, tags);
    return new Map([['consuming segments', new Set([...eligible, ...hosts])]]);
  }
  const groups = serverGroups([table], instances, hosts);
  const stored = serversOfPartitions(table, context.stored, ['OFFLINE', 'CONSUMING', 'COMPLETED']);
  if (stored.size === 0) return groups;
  const tiers = new Set(serversWithTag(instances, new Set(table.config.tierTags)));
  const counted = new Set([...stored, ...hosts, ...tiers]);
  return new Map([...groups].map(([group, servers]) => [group, servers.intersection(counted)]));
}

/** The servers of the table's stored instance partitions, whose names are `<table>_<suffix>`. */
function serversOfPartitions(
  { rawName, type }: TableSnapshot,
  all: readonly InstancePartitions[],
  suffixes: readonly string[],
): ReadonlySet<string> {
  const own = suffixes.filter((suffix) => (suffix === 'OFFLINE') === (type === 'OFFLINE'));
  const names = new Set(own.map((suffix) => `${rawName}_${suffix}`));
  const partitions = all.filter(({ name }) => names.has(name));
  return new Set(partitions.flatMap(({ servers }) => [...servers.values()].flat()));
}
