import { defineCheck } from '../check.ts';
import type { Assignment, Consumption, Instance, PartitionConsumption, TableSnapshot } from '../snapshot.ts';
import {
  counted,
  enabledTables,
  examples,
  Findings,
  have,
  instancesOf,
  lostReplica,
  tableFinding,
} from './shared/findings.ts';

const MINUTE_MS = 60_000;

/** What the judgement of a table needs. */
interface Ingestion {
  readonly table: TableSnapshot;
  readonly assignment: Assignment;
  readonly consumption: Consumption;
  /** Ids of the servers that have a session in ZooKeeper. */
  readonly live: ReadonlySet<string>;
}

export const ingestionStopped = defineCheck({
  name: 'INGESTION_STOPPED_CHECK',
  title: 'Ingestion has stopped',
  description:
    'A partition of a realtime table has no consuming segment, no server that consumes it, or a consumption that does not move although its stream has further rows; or Pinot itself paused the consumption of the table.',
  category: 'ingestion',
  severity: 'critical',
  otherSeverity: 'warning',
  defaultThresholds: { minStalledMinutes: 5 },
  remediation:
    'Read the exception of the partition in GET /debug/tables/{table} and in the log of its servers, remove the cause, then POST /tables/{table}/resumeConsumption.',
  madeFault: {
    where: 'live',
    fault: 'the consuming segment is deleted (recorded: no consumer, an offset that does not move)',
    found: 'the table',
  },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'consumption'],
  evaluate({ snapshot, thresholds: { minStalledMinutes } }) {
    const findings = new Findings();
    let stopped = 0;
    const instances = instancesOf(snapshot, findings) ?? [];
    const live = new Set(instances.filter((instance: Instance) => instance.live).map(({ id }) => id));
    for (const table of enabledTables(snapshot, findings)) {
      if (table.type !== 'REALTIME') continue;
      findings.examined();
      const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
      const consumption = findings.value(table.consumption, 'table', table.name, 'the state of its consumption');
      if (assignment === undefined || consumption === undefined) continue;
      if (consumption.paused && consumption.pausedBecause === undefined) continue;
      const before = findings.faultCount;
      examine({ table, assignment, consumption, live }, minStalledMinutes * MINUTE_MS, findings);
      if (findings.faultCount > before) stopped += 1;
    }
    return findings.outcome({
      pass: 'every partition of the realtime tables is consumed, except of paused tables',
      fail: () => have(stopped, 'table', 'partitions that are not ingested'),
      notApplicable: 'not applicable: the cluster has no enabled realtime table',
    });
  },
});

function examine(ingestion: Ingestion, minStalledMs: number, findings: Findings): void {
  const { table, assignment, consumption } = ingestion;
  if (consumption.pausedBecause !== undefined) {
    const message = `Pinot paused the consumption of the table, not an administrator: ${consumption.pausedBecause}`;
    findings.add(tableFinding(table, message, 'paused', 'not paused'));
    return;
  }
  const add = (partitions: readonly PartitionConsumption[], fault: string): void => {
    if (partitions.length === 0) return;
    const observed = counted(partitions.length, 'partition');
    const message = `${have(partitions.length, 'partition', fault)}${examples(sampleOf(partitions.map(numberOf)))}`;
    findings.add(tableFinding(table, message, observed, '0 partitions'));
  };
  // A shard of Kinesis that was split has ended: its rows are in other shards.
  const ended = table.config.partitionsEnd && assignment.consumingPartitions.size > 0;
  add(ended ? [] : assignment.idlePartitions.map(withoutReplicas), 'no consuming segment in the ideal state');
  add(
    consumption.missingPartitions.map(withoutReplicas),
    'no segment at all, although the stream has or had partitions with higher numbers',
  );
  if (assignment.consumingPartitions.size === 0 && assignment.idlePartitions.length === 0) {
    findings.add(
      tableFinding(table, 'the table has no consuming segment', 'no consuming segment', 'one per partition'),
    );
  }
  const stopped = consumption.partitions.filter(({ replicas }) => !replicas.some(({ consumes }) => consumes));
  add(
    stopped.filter(({ replicas }) => replicas.length > 0),
    'no server that consumes: all of its servers report NOT_CONSUMING',
  );
  addSilent(
    stopped.filter(({ replicas }) => replicas.length === 0),
    ingestion,
    { findings, add },
  );
  addSingleReplicas(ingestion, findings);
  addUnreported(ingestion, findings);
  const stalled = consumption.partitions.filter((partition) => stalledMs(partition) >= minStalledMs);
  const longest = Math.max(...stalled.map(stalledMs));
  add(
    stalled,
    `a consumption that has not moved for ${counted(Math.floor(longest / MINUTE_MS), 'minute')} while rows wait`,
  );
}

/** Live servers that did not report about a partition which another server consumes. */
function addUnreported({ table, consumption, live }: Ingestion, findings: Findings): void {
  const silent = consumption.partitions.flatMap(({ partition, servers, replicas }) => {
    const reported = new Set(replicas.map(({ server }) => server));
    if (reported.size === 0) return [];
    return servers.filter((id) => live.has(id) && !reported.has(id)).map((id) => `${partition} on ${id}`);
  });
  if (silent.length === 0) return;
  const what = `the consumption of ${counted(silent.length, 'replica')}${examples(sampleOf(silent))}`;
  findings.couldNotRead('table', table.name, what, 'the server did not report about the partition');
}

/** Replicas that do not consume a partition which another server consumes: the data is read, without a spare. */
function addSingleReplicas({ table, consumption }: Ingestion, findings: Findings): void {
  const consumed = consumption.partitions.filter(({ replicas }) => replicas.some(({ consumes }) => consumes));
  const failed = consumed.flatMap(({ partition, replicas }) =>
    replicas.filter(({ consumes }) => !consumes).map(({ server }) => `${partition} on ${server}`),
  );
  if (failed.length === 0) return;
  const observed = counted(failed.length, 'replica');
  const message = `${observed} of consuming segments ${failed.length === 1 ? 'reports' : 'report'} NOT_CONSUMING while another replica consumes${examples(sampleOf(failed))}`;
  findings.add(lostReplica(tableFinding(table, message, observed, '0 replicas')));
}

/** A partition about which no server reported: its servers are down, or they did not respond in time. */
function addSilent(
  partitions: readonly PartitionConsumption[],
  { table, live }: Ingestion,
  { findings, add }: { findings: Findings; add: (partitions: readonly PartitionConsumption[], fault: string) => void },
): void {
  const isDown = ({ servers }: PartitionConsumption): boolean => !servers.some((server) => live.has(server));
  add(partitions.filter(isDown), 'no live server');
  const unknown = partitions.filter((partition) => !isDown(partition));
  if (unknown.length === 0) return;
  const what = `the consumption of ${counted(unknown.length, 'partition')}${examples(sampleOf(unknown.map(numberOf)))}`;
  findings.couldNotRead('table', table.name, what, 'none of its servers reported');
}

/** The partition consumes as soon as one of its replicas does. */
function stalledMs({ replicas }: PartitionConsumption): number {
  const consuming = replicas.filter(({ consumes }) => consumes);
  return consuming.length === 0 ? 0 : Math.min(...consuming.map(({ stalledMs: ms }) => ms ?? 0));
}

function withoutReplicas(partition: number): PartitionConsumption {
  return { partition, servers: [], replicas: [] };
}

function numberOf({ partition }: PartitionConsumption): string {
  return String(partition);
}

function sampleOf(names: readonly string[]): { count: number; names: readonly string[] } {
  return { count: names.length, names };
}
