import type { CheckInput, CheckOutcome } from '../check.ts';
import { candidates, increase } from '../loads.ts';
import { counted, enabledTables, entityFinding, Findings, have, rounded, tableFinding } from '../outcome.ts';
import type { ClusterSnapshot, InstancePartitions, PrimaryKeys, Switch, TableSnapshot } from '../snapshot.ts';
import { skewness } from '../statistics.ts';
import { skewOutcome } from './skew.ts';

const ONE_SERVER = 'one server in each replica group';
const NO_UPSERT = 'not applicable: the cluster has no enabled upsert or deduplication table';
/** Cluster-wide defaults of the servers for a table's `DEFAULT`; in the cluster configuration as an operator may have put them there. */
const SERVER_DEFAULTS = {
  upsert: {
    snapshot: 'pinot.server.instance.upsert.default.enable.snapshot',
    preload: 'pinot.server.instance.upsert.default.enable.preload',
  },
  dedup: { preload: 'pinot.server.instance.dedup.default.enable.preload' },
} as const;

function keyedTables(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  return enabledTables(snapshot, findings).filter((table) => table.config.upsert || table.config.dedup);
}

export function upsertAssignment({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of enabledTables(snapshot, findings)) {
    if (!table.config.upsert) continue;
    findings.examined();
    const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
    if (assignment === undefined) continue;
    if (assignment.segmentsWithoutPartition > 0) {
      const which = have(assignment.segmentsWithoutPartition, 'segment', 'a name that does not tell the partition');
      findings.couldNotRead('table', table.name, 'the partitions of its segments', which);
    }
    const groups = replicaGroups(table, snapshot, findings);
    for (const [partition, servers] of assignment.partitions) {
      const fault = groups === undefined ? spreadOf(table, servers) : splitGroup(groups, partition, servers);
      if (fault !== undefined)
        findings.add(tableFinding(table, `partition ${partition}: ${fault}`, servers.join(', '), ONE_SERVER));
    }
  }
  return findings.outcome({
    pass: 'in every upsert table each partition of a replica group is on one server',
    fail: (count) => have(count, 'partition', 'segments of one replica group on more than one server'),
    notApplicable: 'not applicable: the cluster has no enabled upsert table',
  });
}

function replicaGroups(
  table: TableSnapshot,
  snapshot: ClusterSnapshot,
  findings: Findings,
): InstancePartitions | undefined {
  const stored = findings.value(snapshot.instancePartitions, 'table', table.name, 'the stored instance partitions');
  return stored?.find((partitions) => partitions.name === `${table.rawName}_CONSUMING`);
}

/** Without stored instance partitions a replica group can only be inferred: as many servers as replicas, or fewer, are right. */
function spreadOf(table: TableSnapshot, servers: readonly string[]): string | undefined {
  const replicas = Number(table.config.replication);
  if (!(servers.length > replicas)) return undefined;
  return `its segments are on ${servers.length} servers where ${counted(replicas, 'replica')} should be`;
}

function splitGroup(groups: InstancePartitions, partition: number, servers: readonly string[]): string | undefined {
  const byGroup = new Map<string, Set<string>>();
  for (const [key, members] of groups.servers) {
    const group = key.slice(key.indexOf('_') + 1);
    const known = byGroup.get(group) ?? new Set<string>();
    for (const member of members) known.add(member);
    byGroup.set(group, known);
  }
  for (const [group, members] of byGroup) {
    const holding = servers.filter((server) => members.has(server));
    if (holding.length > 1) return `replica group ${group} has its segments on ${holding.length} servers`;
  }
  const strangers = servers.filter((server) => [...byGroup.values()].every((members) => !members.has(server)));
  return strangers.length === 0
    ? undefined
    : `\`${strangers[0]}\` holds segments of partition ${partition} and is in no replica group of the table`;
}

/** Calls `visit` for each keyed table whose primary keys could be read; true where one of the counts is an estimate. */
function visitKeys(
  snapshot: ClusterSnapshot,
  findings: Findings,
  visit: (table: TableSnapshot, keys: PrimaryKeys) => void,
): boolean {
  let estimated = false;
  for (const table of keyedTables(snapshot, findings)) {
    const keys = findings.value(table.primaryKeys, 'table', table.name, 'its primary-key counts');
    if (keys === undefined) continue;
    estimated ||= keys.estimated;
    visit(table, keys);
  }
  return estimated;
}

const note = (estimated: boolean) =>
  estimated ? ' (estimated by a query, since this version of the engine does not tell primary-key counts)' : '';

export function highKeysPerPartition({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const limit = thresholds.maxPrimaryKeys ?? 0;
  const estimated = visitKeys(snapshot, findings, (table, keys) => {
    findings.examined();
    for (const [partition, servers] of keys.partitions) {
      for (const [server, count] of servers) {
        if (count <= limit) continue;
        const message = `partition ${partition} of \`${table.name}\` has ${counted(count, 'primary key')} on the server`;
        findings.add(entityFinding('server', server, message, String(count), `at most ${limit}`));
      }
    }
  });
  return findings.outcome({
    pass: `no partition on a server has more than ${limit} primary keys${note(estimated)}`,
    fail: (count) => have(count, 'partition', `more than ${limit} primary keys on a server${note(estimated)}`),
    notApplicable: NO_UPSERT,
  });
}

export function highKeys({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const limit = thresholds.maxPrimaryKeys ?? 0;
  const totals = new Map<string, number>();
  const estimated = visitKeys(snapshot, findings, (_table, keys) => {
    findings.examined();
    addTotals(totals, keys);
  });
  for (const [server, count] of totals) {
    if (count <= limit) continue;
    const message = `all tables together have ${counted(count, 'primary key')} on the server`;
    findings.add(entityFinding('server', server, message, String(count), `at most ${limit}`));
  }
  return findings.outcome({
    pass: `no server has more than ${limit} primary keys${note(estimated)}`,
    fail: (count) => have(count, 'server', `more than ${limit} primary keys${note(estimated)}`),
    notApplicable: NO_UPSERT,
  });
}

function addTotals(totals: Map<string, number>, keys: PrimaryKeys): void {
  for (const servers of keys.partitions.values()) {
    for (const [server, count] of servers) increase(totals, server, count);
  }
}

export function keySkewAcrossServers({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const tables = keyedTables(snapshot, findings);
  if (tables.length === 0) return findings.outcome({ pass: NO_UPSERT, fail: () => NO_UPSERT });
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  const totals = new Map<string, number>();
  for (const table of tables) for (const server of candidates(table, instances)) totals.set(server, 0);
  const estimated = visitKeys(snapshot, findings, (_table, keys) => addTotals(totals, keys));
  const what = `the count of primary keys${note(estimated)}`;
  return skewOutcome(totals, thresholds, findings, { what, noun: 'server', entityType: 'server' });
}

export function keySkewAcrossPartitions({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const { minSkew = 0, maxSkew = 0 } = thresholds;
  const estimated = visitKeys(snapshot, findings, (table, keys) => {
    findings.examined();
    const sizes = [...keys.partitions].map(
      ([partition, servers]) => [partition, Math.max(0, ...servers.values())] as const,
    );
    const skew = skewness(sizes.map(([, size]) => size));
    if (skew === undefined || (skew >= minSkew && skew <= maxSkew)) return;
    const mean = sizes.reduce((sum, [, size]) => sum + size, 0) / sizes.length;
    const [partition, size] = sizes.toSorted((a, b) => Math.abs(b[1] - mean) - Math.abs(a[1] - mean))[0] ?? [0, 0];
    const message = `the skew of primary keys over its ${sizes.length} partitions is ${rounded(skew)}: partition ${partition} has ${size} where the average is ${rounded(mean)}`;
    findings.add(tableFinding(table, message, rounded(skew), `[${minSkew}, ${maxSkew}]`));
  });
  return findings.outcome({
    pass: `the skew of primary keys over the partitions of every table is within [${minSkew}, ${maxSkew}]${note(estimated)}`,
    fail: (count) =>
      have(count, 'table', `a skew of primary keys over partitions outside [${minSkew}, ${maxSkew}]${note(estimated)}`),
    notApplicable: NO_UPSERT,
  });
}

export function prebuiltSnapshot({ snapshot, prebuiltSnapshotProperty }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const tables = keyedTables(snapshot, findings);
  // Asked for only where it matters: a cluster without such tables passes even while its configuration cannot be read.
  const config =
    tables.length === 0
      ? undefined
      : findings.value(snapshot.clusterConfig, 'cluster', snapshot.clusterName, 'the cluster configuration');
  if (config !== undefined && config[prebuiltSnapshotProperty] !== 'true') {
    for (const table of tables) {
      findings.examined();
      const missing = missingSwitches(table, config);
      if (missing.length === 0) continue;
      const message = `${missing.join(' and ')} of the table ${missing.length === 1 ? 'is' : 'are'} off, and so is the cluster property \`${prebuiltSnapshotProperty}\``;
      findings.add(tableFinding(table, message, `${missing.join(', ')} off`, 'on'));
    }
  }
  return findings.outcome({
    pass: tables.length === 0 ? NO_UPSERT : 'every upsert and deduplication table is preloaded from snapshots',
    fail: (count) => `${counted(count, 'table')} cannot be preloaded from snapshots`,
  });
}

function missingSwitches(table: TableSnapshot, config: Readonly<Record<string, string>>): string[] {
  const { upsert, snapshot, preload } = table.config;
  const missing: string[] = [];
  // A deduplication table has no snapshot flag of its own in the engine: preload is all there is to be switched on.
  if (upsert && !isOn(snapshot, config[SERVER_DEFAULTS.upsert.snapshot])) missing.push('snapshot');
  const fallback = upsert ? SERVER_DEFAULTS.upsert.preload : SERVER_DEFAULTS.dedup.preload;
  if (!isOn(preload, config[fallback])) missing.push('preload');
  return missing;
}

function isOn(value: Switch, fallback: string | undefined): boolean {
  return value === 'default' ? fallback === 'true' : value === 'on';
}
