import {
  readFailed,
  readOk,
  type PartitionConsumption,
  type ReplicaConsumption,
} from '../../../../src/health/snapshot.ts';
import { assignment, segmentSummary, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases, NOW } from './check-cases.ts';

const A = 'Server_a_8098';
const MINUTE_MS = 60_000;

const replica = (more: Partial<ReplicaConsumption> = {}): ReplicaConsumption => ({
  server: A,
  consumes: true,
  latestOffset: '100',
  recordsLag: 0,
  availabilityLagMs: 1_000,
  stalledMs: undefined,
  ...more,
});
const partition = (number: number, ...replicas: ReplicaConsumption[]): PartitionConsumption => ({
  partition: number,
  servers: [A],
  replicas,
});

interface Parts {
  readonly idle?: readonly number[];
  readonly paused?: boolean;
  readonly pausedBecause?: string;
  readonly missing?: readonly number[];
  readonly partitionsEnd?: boolean;
  readonly live?: boolean;
}

const consuming = (
  partitions: readonly PartitionConsumption[],
  { idle = [], paused = false, pausedBecause, missing = [], partitionsEnd = false, live = true }: Parts = {},
) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { partitionsEnd },
        assignment: readOk(
          assignment(
            { [A]: [9, partitions.length] },
            { consumingPartitions: new Map(partitions.map(({ partition: p }) => [p, [A]])), idlePartitions: idle },
          ),
        ),
        consumption: readOk({ paused, pausedBecause, missingPartitions: missing, partitions }),
      }),
    ],
    { instances: readOk([server(A, { live })]) },
  );
const unread = snapshot([table('t_REALTIME', { consumption: readFailed('timed out') })]);

cases('INGESTION_STOPPED_CHECK', [
  { name: 'all partitions are consumed', snapshot: consuming([partition(0, replica()), partition(1, replica())]) },
  {
    name: 'a partition without a consuming segment',
    snapshot: consuming([partition(0, replica())], { idle: [1, 7] }),
    entities: ['t_REALTIME'],
    finding: '2 partitions have no consuming segment in the ideal state (`1`, `7`)',
    message: '1 table has partitions that are not ingested',
  },
  { name: 'a paused table', snapshot: consuming([], { idle: [0, 1], paused: true }) },
  {
    name: 'a table without any segment',
    snapshot: consuming([]),
    entities: ['t_REALTIME'],
    finding: 'the table has no consuming segment',
  },
  {
    name: 'shards that have ended',
    snapshot: consuming([partition(2, replica())], { idle: [0, 1], partitionsEnd: true }),
  },
  {
    name: 'only shards that have ended',
    snapshot: consuming([], { idle: [0], partitionsEnd: true }),
    entities: ['t_REALTIME'],
  },
  {
    name: 'a partition that one of two servers consumes',
    snapshot: consuming([partition(0, replica({ consumes: false }), replica({ server: 'Server_b_8098' }))]),
    entities: ['t_REALTIME'],
    severities: ['warning'],
    finding:
      '1 replica of consuming segments reports NOT_CONSUMING while another replica consumes (`0 on Server_a_8098`)',
  },
  {
    name: 'a table that Pinot paused',
    snapshot: consuming([], { idle: [0, 1], paused: true, pausedBecause: 'STORAGE_QUOTA_EXCEEDED: quota of 10G' }),
    entities: ['t_REALTIME'],
    finding: 'Pinot paused the consumption of the table, not an administrator: STORAGE_QUOTA_EXCEEDED: quota of 10G',
    observed: 'paused',
  },
  {
    name: 'a partition without any segment',
    snapshot: consuming([partition(0, replica()), partition(2, replica())], { missing: [1] }),
    entities: ['t_REALTIME'],
    finding: '1 partition has no segment at all, although the stream has or had partitions with higher numbers (`1`)',
  },
  {
    name: 'a partition that no server consumes',
    snapshot: consuming([partition(0, replica({ consumes: false }))]),
    entities: ['t_REALTIME'],
    finding: 'NOT_CONSUMING',
  },
  {
    name: 'a partition whose servers are down',
    snapshot: consuming([partition(3)], { live: false }),
    entities: ['t_REALTIME'],
    finding: '1 partition has no live server (`3`)',
  },
  {
    name: 'a partition whose live servers did not report',
    snapshot: consuming([partition(3)]),
    entities: ['t_REALTIME'],
    couldNotEvaluate: true,
    finding: 'none of its servers reported',
  },
  {
    name: 'a consumption that has not moved for less than the limit',
    snapshot: consuming([partition(0, replica({ stalledMs: 5 * MINUTE_MS - 1 }))]),
  },
  {
    name: 'a consumption that has not moved for exactly the limit',
    snapshot: consuming([partition(0, replica({ stalledMs: 5 * MINUTE_MS }))]),
    entities: ['t_REALTIME'],
    finding: 'has not moved for 5 minutes while rows wait',
  },
  {
    name: 'a consumption that has not moved',
    snapshot: consuming([partition(0, replica({ stalledMs: 21 * MINUTE_MS }))]),
    entities: ['t_REALTIME'],
    finding: 'has not moved for 21 minutes while rows wait',
  },
  {
    name: 'a consumption that has not moved for a minute',
    snapshot: consuming([partition(0, replica({ stalledMs: MINUTE_MS }))]),
    thresholds: { minStalledMinutes: 1 },
    entities: ['t_REALTIME'],
    finding: 'has not moved for 1 minute while rows wait',
  },
  {
    name: 'a consumption that moves on another replica',
    snapshot: consuming([partition(0, replica({ stalledMs: 21 * MINUTE_MS }), replica())]),
  },
  {
    name: 'a consumption that has not moved for less than a limit of 30 minutes',
    snapshot: consuming([partition(0, replica({ stalledMs: 21 * MINUTE_MS }))]),
    thresholds: { minStalledMinutes: 30 },
  },
  {
    name: 'one of two tables',
    snapshot: {
      ...consuming([]),
      tables: readOk([
        table('s_REALTIME'),
        table('t_REALTIME', {
          assignment: readOk(assignment({ [A]: [1, 1] }, { consumingPartitions: new Map([[0, [A]]]) })),
        }),
      ]),
    },
    entities: ['s_REALTIME'],
    message: '1 table has partitions that are not ingested',
  },
  { name: 'an offline table', snapshot: snapshot([table('t_OFFLINE')]), message: 'not applicable' },
  { name: 'unread', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true, finding: 'timed out' },
]);

const lagging = (recordsLag: number | undefined, availabilityLagMs?: number) =>
  consuming([partition(0, replica()), partition(4, replica({ recordsLag, availabilityLagMs }))]);

cases('CONSUMER_LAG_CHECK', [
  { name: '1,000,000 rows', snapshot: lagging(1_000_000) },
  {
    name: 'one row more',
    snapshot: lagging(1_000_001, 2 * MINUTE_MS),
    entities: ['t_REALTIME'],
    finding: '1 partition has a large consumer lag: partition 4 on `Server_a_8098` by 1,000,001 rows, 2 minutes',
  },
  { name: '30 minutes', snapshot: lagging(1, 30 * MINUTE_MS) },
  { name: 'more than 30 minutes', snapshot: lagging(1, 31 * MINUTE_MS), entities: ['t_REALTIME'] },
  {
    name: 'one minute',
    snapshot: lagging(2, MINUTE_MS + 1),
    thresholds: { maxRecords: 1, maxMinutes: 1 },
    entities: ['t_REALTIME'],
    observed: '2 rows, 1 minute',
    threshold: 'at most 1 row and 1 minute',
  },
  { name: 'a stream without new rows for hours', snapshot: lagging(0, 600 * MINUTE_MS) },
  {
    name: 'other limits',
    snapshot: lagging(11, 31 * MINUTE_MS),
    thresholds: { maxRecords: 10, maxMinutes: 60 },
    entities: ['t_REALTIME'],
  },
  {
    name: 'the worse of two replicas',
    snapshot: consuming([partition(0, replica(), replica({ server: 'Server_b_8098', recordsLag: 2_000_000 }))]),
    entities: ['t_REALTIME'],
    finding: 'Server_b_8098',
  },
  {
    name: 'the worst replica of each partition, the largest lag first',
    snapshot: consuming([
      partition(0, replica({ recordsLag: 2_000_000 }), replica({ server: 'Server_b_8098', recordsLag: 3_000_000 })),
      partition(1, replica({ recordsLag: 5_000_000 }), replica({ server: 'Server_b_8098', recordsLag: 4_000_000 })),
    ]),
    entities: ['t_REALTIME'],
    finding: /: partition 1 on `Server_a_8098` by 5,000,000 rows, 0 minutes; partition 0 on `Server_b_8098` by 3,0/u,
    observed: '5,000,000 rows, 0 minutes',
  },
  {
    name: 'no lag reported',
    snapshot: consuming([partition(0, replica({ recordsLag: undefined }))]),
    message:
      'not applicable: no realtime table is enabled, or the stream or this version of Pinot (before 1.0) does not',
  },
  { name: 'unread', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true, finding: 'timed out' },
]);

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A table that received segments over `days`, at most `gapHours` apart, until `silentHours` ago. */
const receiving = (days: number, gapHours: number, silentHours: number, config = {}) => {
  const last = NOW - silentHours * HOUR_MS;
  const arrivals = { last, first: last - days * DAY_MS, longestGapMs: gapHours * HOUR_MS };
  return snapshot([table('t_OFFLINE', { config, segments: readOk(segmentSummary({ arrivals })) })]);
};

cases('DATA_FRESHNESS_CHECK', [
  { name: 'three times the usual gap', snapshot: receiving(30, 24, 72) },
  {
    name: 'longer',
    snapshot: receiving(30, 24, 73),
    entities: ['t_OFFLINE'],
    finding: 'no segment has arrived for 3 days; in the 30 days before, the longest time without one was 24 hours',
  },
  {
    name: 'two days, where the limit is a day and a half',
    snapshot: receiving(30, 12, 48),
    entities: ['t_OFFLINE'],
    observed: '2 days',
    threshold: 'at most 36 hours',
  },
  {
    name: 'a usual gap of two hours',
    snapshot: receiving(30, 2, 7),
    entities: ['t_OFFLINE'],
    finding: /^no segment has arrived for 7 hours; in the 30 days before, the longest time without one was 2 hours$/u,
  },
  {
    name: 'a usual gap of an hour and a half',
    snapshot: receiving(30, 1.5, 7),
    entities: ['t_OFFLINE'],
    finding: /the longest time without one was 90 minutes$/u,
  },
  { name: 'silent for exactly as long as it was filled', snapshot: receiving(3, 1, 72), entities: ['t_OFFLINE'] },
  { name: 'all segments at one time, now', snapshot: receiving(0, 0, 0), message: 'not applicable' },
  { name: 'a table that is filled on working days, on the second Monday', snapshot: receiving(30, 72, 9 * 24) },
  { name: 'segments each minute, 5 hours ago', snapshot: receiving(30, 1 / 60, 5) },
  { name: 'segments each minute, 7 hours ago', snapshot: receiving(30, 1 / 60, 7), entities: ['t_OFFLINE'] },
  {
    name: 'other limits',
    snapshot: receiving(30, 1, 5),
    thresholds: { maxGaps: 2, minSilentHours: 1 },
    entities: ['t_OFFLINE'],
  },
  { name: 'a table that was filled within an hour', snapshot: receiving(1 / 24, 0.1, 48), message: 'not applicable' },
  {
    name: 'a table with three segments at equal times',
    snapshot: receiving(2, 24, 36),
    message: 'every table that receives segments regularly',
  },
  { name: 'a table with two segments', snapshot: receiving(1, 24, 24), message: 'not applicable' },
  { name: 'silent for longer than it was filled', snapshot: receiving(10, 24, 11 * 24), entities: ['t_OFFLINE'] },
  { name: 'a daily push, silent for 33 days', snapshot: receiving(30, 24, 33 * 24), entities: ['t_OFFLINE'] },
  { name: 'a REFRESH table', snapshot: receiving(30, 1, 100, { isRefresh: true }), message: 'not applicable' },
  { name: 'a dimension table', snapshot: receiving(30, 1, 100, { isDimension: true }), message: 'not applicable' },
  { name: 'a clock that is behind', snapshot: receiving(30, 1, -5) },
  { name: 'no segment', snapshot: snapshot([table('t_OFFLINE')]), message: 'not applicable' },
  {
    name: 'unread',
    snapshot: snapshot([table('t_OFFLINE', { segments: readFailed('timed out') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
]);
