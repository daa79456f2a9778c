import { readFailed, readOk, type TableConfig } from '../../../../src/health/snapshot.ts';
import { assignment, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const A = 'Server_a_8098';
const B = 'Server_b_8098';
const C = 'Server_c_8098';
const upsert = { upsert: true, replication: '2' };

const placed = (servers: readonly string[], more = {}, config: Partial<TableConfig> = {}) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { ...upsert, ...config },
        assignment: readOk(assignment({}, { partitions: new Map([[0, servers]]) })),
      }),
    ],
    more,
  );
const groups = {
  instancePartitions: readOk([
    {
      name: 't_CONSUMING',
      servers: new Map([
        ['0_0', [A, C]],
        ['0_1', [B]],
      ]),
    },
  ]),
};

cases('UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK', [
  { name: 'a partition on as many servers as replicas', snapshot: placed([A, B]) },
  {
    name: 'on one server more',
    snapshot: placed([A, B, C]),
    entities: ['t_REALTIME'],
    finding: 'on 3 servers, but the table has 2 replicas',
  },
  { name: 'on fewer', snapshot: placed([A]) },
  { name: 'one server of each stored group', snapshot: placed([A, B], groups) },
  {
    name: 'two servers of one stored group',
    snapshot: placed([A, C], groups),
    entities: ['t_REALTIME'],
    finding: 'replica group 0',
  },
  {
    name: 'two servers of one group, whose servers are stored by partition',
    snapshot: placed([A, C], {
      instancePartitions: readOk([
        {
          name: 't_CONSUMING',
          servers: new Map([
            ['0_0', [A]],
            ['1_0', [C]],
            ['0_1', [B]],
          ]),
        },
      ]),
    }),
    entities: ['t_REALTIME'],
    finding: 'partition 0: the segments of replica group 0 are on 2 servers',
  },
  {
    name: 'a server that is in no group',
    snapshot: placed([A, 'Server_x_8098'], groups),
    entities: ['t_REALTIME'],
    finding: 'no replica group',
  },
  { name: 'no upsert table', snapshot: placed([A, B, C], {}, { upsert: false }), message: 'not applicable' },
  {
    name: 'a deduplication table is none',
    snapshot: placed([A, B, C], {}, { upsert: false, dedup: true }),
    message: 'not applicable',
  },
  {
    name: 'a segment whose partition cannot be determined',
    snapshot: snapshot([
      table('t_REALTIME', { config: upsert, assignment: readOk(assignment({}, { segmentsWithoutPartition: 1 })) }),
    ]),
    entities: ['t_REALTIME'],
    couldNotEvaluate: true,
  },
  {
    name: 'stored partitions that could not be read',
    snapshot: placed([A, B], { instancePartitions: readFailed('no') }),
    entities: ['t_REALTIME'],
    couldNotEvaluate: true,
  },
]);

/** Primary keys by partition, each on one server. */
const keys = (byPartition: readonly number[], config: Partial<TableConfig> = { upsert: true }, estimated = false) =>
  snapshot([
    table('t_REALTIME', {
      config,
      primaryKeys: readOk({
        estimated,
        partitions: new Map(byPartition.map((count, p) => [p, new Map([[A, count]])])),
      }),
    }),
  ]);
const unread = snapshot([table('t_REALTIME', { config: upsert, primaryKeys: readFailed('no') })]);

cases('HIGH_UPSERT_PK_PER_PARTITION_CHECK', [
  { name: '499,999,999', snapshot: keys([499_999_999]) },
  { name: '500 million', snapshot: keys([500_000_000]) },
  { name: '500,000,001', snapshot: keys([500_000_001]), entities: [A], finding: 'partition 0 of `t_REALTIME`' },
  { name: 'two partitions that have them together', snapshot: keys([300_000_000, 300_000_000]) },
  { name: 'a deduplication table', snapshot: keys([500_000_001], { dedup: true }), entities: [A] },
  { name: 'an estimate says so', snapshot: keys([1], { upsert: true }, true), message: 'estimated by a query' },
  { name: 'no such table', snapshot: keys([500_000_001], {}), message: 'not applicable' },
  { name: 'counts that could not be read', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true },
]);

cases('HIGH_UPSERT_PRIMARY_KEYS_CHECK', [
  { name: '799,999,999', snapshot: keys([400_000_000, 399_999_999]) },
  { name: '800 million', snapshot: keys([400_000_000, 400_000_000]) },
  { name: '800,000,001', snapshot: keys([400_000_000, 400_000_001]), entities: [A], finding: '800,000,001' },
  {
    name: 'over two tables',
    snapshot: snapshot(
      ['a_REALTIME', 'b_REALTIME'].map((name) =>
        table(name, {
          config: { upsert: true },
          primaryKeys: readOk({ estimated: false, partitions: new Map([[0, new Map([[A, 400_000_001]])]]) }),
        }),
      ),
    ),
    entities: [A],
  },
  { name: 'no such table', snapshot: keys([900_000_000], {}), message: 'not applicable' },
  { name: 'counts that could not be read', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true },
]);

const onServers = (counts: readonly number[]) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { upsert: true },
        primaryKeys: readOk({
          estimated: false,
          partitions: new Map(counts.map((count, i) => [i, new Map([[`Server_s${i}_8098`, count]])])),
        }),
      }),
    ],
    { instances: readOk(counts.map((_, i) => server(`Server_s${i}_8098`))) },
  );

cases('UPSERT_PRIMARY_KEY_SKEW_CHECK', [
  { name: 'a skew of exactly 2', snapshot: onServers([9, 0, 0, 0]) },
  { name: 'a skew of 2.24', snapshot: onServers([9, 0, 0, 0, 0]), entities: ['Server_s0_8098'] },
  { name: 'a skew of −2.24', snapshot: onServers([0, 9, 9, 9, 9]), entities: ['Server_s0_8098'] },
  { name: 'two servers', snapshot: onServers([9, 0]), message: 'not applicable' },
  {
    name: 'no such table',
    snapshot: snapshot(),
    message: 'not applicable: the cluster has no enabled upsert or deduplication table',
  },
  { name: 'counts that could not be read', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true },
]);

cases('UPSERT_PK_SKEW_PER_PARTITION_CHECK', [
  { name: 'a skew of exactly 2', snapshot: keys([9, 0, 0, 0]) },
  { name: 'a skew of 2.24', snapshot: keys([9, 0, 0, 0, 0]), entities: ['t_REALTIME'], finding: 'partition 0 has 9' },
  { name: 'a skew of −2.24', snapshot: keys([0, 9, 9, 9, 9]), entities: ['t_REALTIME'], finding: 'partition 0 has 0' },
  {
    name: 'one that differs most among several',
    snapshot: keys([5, 5, 5, 5, 90, 6]),
    entities: ['t_REALTIME'],
    finding: 'partition 4 has 90',
  },
  {
    name: 'the smallest, although others are above the average',
    snapshot: keys([10, 10, 10, 10, 0, 9]),
    entities: ['t_REALTIME'],
    finding: 'partition 4 has 0',
  },
  { name: 'all the same', snapshot: keys([7, 7, 7]) },
  { name: 'two partitions', snapshot: keys([9, 0]) },
  { name: 'no such table', snapshot: keys([9, 0, 0, 0, 0], {}), message: 'not applicable' },
  { name: 'counts that could not be read', snapshot: unread, entities: ['t_REALTIME'], couldNotEvaluate: true },
]);

const preloaded = (config: Partial<TableConfig>, cluster: Readonly<Record<string, string>> = {}) =>
  snapshot([table('t_REALTIME', { config })], { clusterConfig: readOk(cluster) });

cases(
  'PREBUILT_SNAPSHOT_CHECK',
  [
    { name: 'no such table', snapshot: preloaded({}), message: 'not applicable' },
    { name: 'an upsert table with both', snapshot: preloaded({ upsert: true, snapshot: 'on', preload: 'on' }) },
    {
      name: 'without preload',
      snapshot: preloaded({ upsert: true, snapshot: 'on', preload: 'off' }),
      entities: ['t_REALTIME'],
      finding: 'preload of the table is off',
    },
    {
      name: 'without snapshot',
      snapshot: preloaded({ upsert: true, snapshot: 'off', preload: 'on' }),
      entities: ['t_REALTIME'],
      finding: 'snapshot of the table is off',
    },
    {
      name: 'with neither',
      snapshot: preloaded({ upsert: true }),
      entities: ['t_REALTIME'],
      finding: 'snapshot and preload of the table are off',
    },
    {
      name: 'with neither where the cluster has the feature',
      snapshot: preloaded({ upsert: true }, { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' }),
    },
    {
      name: 'with neither where the cluster has it by another name',
      snapshot: preloaded({ upsert: true }, { 'our.snapshots': 'true' }),
      prebuiltSnapshotProperty: 'our.snapshots',
    },
    {
      name: 'with neither where the feature goes by another name than it should',
      snapshot: preloaded({ upsert: true }, { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' }),
      prebuiltSnapshotProperty: 'our.snapshots',
      entities: ['t_REALTIME'],
      finding: 'the cluster property `our.snapshots` is not `true`',
    },
    {
      name: 'by the defaults of the servers',
      snapshot: preloaded(
        { upsert: true },
        {
          'pinot.server.instance.upsert.default.enable.snapshot': 'true',
          'pinot.server.instance.upsert.default.enable.preload': 'true',
        },
      ),
    },
    {
      name: 'off in the table though on by default',
      snapshot: preloaded(
        { upsert: true, preload: 'off', snapshot: 'on' },
        { 'pinot.server.instance.upsert.default.enable.preload': 'true' },
      ),
      entities: ['t_REALTIME'],
    },
    { name: 'a deduplication table with preload', snapshot: preloaded({ dedup: true, preload: 'on' }) },
    { name: 'a deduplication table without', snapshot: preloaded({ dedup: true }), entities: ['t_REALTIME'] },
    {
      name: 'a configuration that could not be read',
      snapshot: snapshot([table('t_REALTIME', { config: { upsert: true } })], { clusterConfig: readFailed('no') }),
      entities: ['pinot'],
      couldNotEvaluate: true,
    },
  ],
  { streams: ['dd_REALTIME', 'up_REALTIME'] },
);
