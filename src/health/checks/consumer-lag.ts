import { defineCheck } from '../check.ts';
import type { PartitionConsumption, ReplicaConsumption } from '../snapshot.ts';
import { counted, enabledTables, Findings, have, tableFinding } from './shared/findings.ts';

const MINUTE_MS = 60_000;
/** Partitions that a message names. */
const MAX_NAMED = 3;

interface LagLimits extends Readonly<Record<string, number>> {
  readonly maxRecords: number;
  readonly maxMinutes: number;
}

const DEFAULTS: LagLimits = { maxRecords: 1_000_000, maxMinutes: 30 };

interface Lag extends ReplicaConsumption {
  readonly partition: number;
  readonly records: number;
}

export const consumerLag = defineCheck({
  name: 'CONSUMER_LAG_CHECK',
  title: 'Consumer lag',
  description:
    'A partition of a realtime table lags behind its stream by more than 1,000,000 rows, or by more than 30 minutes.',
  category: 'ingestion',
  severity: 'warning',
  defaultThresholds: DEFAULTS,
  remediation:
    'Check the load of the named servers. Add servers or partitions if rows come faster than the table consumes them.',
  madeFault: {
    where: 'recorded',
    fault: 'a lag of 9,900,000 rows in the response of 1.5 (0.11 reports no lag)',
    found: 'the table, the partition and the server',
  },
  needs: ['tables', 'enabled', 'assignment', 'consumption'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      if (table.type !== 'REALTIME') continue;
      const consumption = findings.value(table.consumption, 'table', table.name, 'the lag of its consumption');
      const lags = (consumption?.partitions ?? []).flatMap(lagsOf);
      if (lags.length > 0) findings.examined();
      const behind = worstByPartition(lags.filter((lag) => isBehind(lag, thresholds)));
      if (behind.length === 0) continue;
      const named = behind.slice(0, MAX_NAMED).map(describe).join('; ');
      const message = `${have(behind.length, 'partition', 'a large consumer lag')}: ${named}`;
      findings.add(tableFinding(table, message, observedOf(behind[0]), expectedOf(thresholds)));
    }
    return findings.outcome({
      pass: `no partition lags by more than ${counted(thresholds.maxRecords, 'row')} or ${counted(thresholds.maxMinutes, 'minute')}`,
      fail: (count) => have(count, 'table', 'partitions that lag behind their stream'),
      notApplicable:
        'not applicable: no realtime table is enabled, or the stream or this version of Pinot (before 1.0) does not report lags',
    });
  },
});

function lagsOf({ partition, replicas }: PartitionConsumption): Lag[] {
  return replicas.flatMap((replica) =>
    replica.recordsLag === undefined ? [] : [{ ...replica, partition, records: replica.recordsLag }],
  );
}

/** The age of the last consumed row is a lag only while further rows wait: it grows also when a stream has no new rows. */
function isBehind({ records, availabilityLagMs = 0 }: Lag, { maxRecords, maxMinutes }: LagLimits): boolean {
  return records > maxRecords || (records > 0 && availabilityLagMs > maxMinutes * MINUTE_MS);
}

/** The replica with the largest lag of each partition; largest first. */
function worstByPartition(lags: readonly Lag[]): Lag[] {
  const worst = new Map<number, Lag>();
  for (const lag of lags.toSorted((a, b) => b.records - a.records)) {
    if (!worst.has(lag.partition)) worst.set(lag.partition, lag);
  }
  return [...worst.values()];
}

function describe(lag: Lag): string {
  return `partition ${lag.partition} on \`${lag.server}\` by ${observedOf(lag)}`;
}

function observedOf(lag: Lag | undefined): string {
  const { records = 0, availabilityLagMs } = lag ?? {};
  const age =
    availabilityLagMs === undefined ? '' : `, ${counted(Math.round(availabilityLagMs / MINUTE_MS), 'minute')}`;
  return `${counted(records, 'row')}${age}`;
}

function expectedOf({ maxRecords, maxMinutes }: LagLimits): string {
  return `at most ${counted(maxRecords, 'row')} and ${counted(maxMinutes, 'minute')}`;
}
