import { readFailed, readOk, type TableConfig } from '../../../src/health/snapshot.ts';
import { assignment, server, snapshot, table } from '../../builders/snapshot.ts';
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
  { is: 'a partition on as many servers as replicas', snapshot: placed([A, B]) },
  {
    is: 'on one server more',
    snapshot: placed([A, B, C]),
    finds: ['t_REALTIME'],
    tells: 'on 3 servers where 2 replicas',
  },
  { is: 'on fewer', snapshot: placed([A]) },
  { is: 'one server of each stored group', snapshot: placed([A, B], groups) },
  {
    is: 'two servers of one stored group',
    snapshot: placed([A, C], groups),
    finds: ['t_REALTIME'],
    tells: 'replica group 0',
  },
  {
    is: 'a server that is in no group',
    snapshot: placed([A, 'Server_x_8098'], groups),
    finds: ['t_REALTIME'],
    tells: 'no replica group',
  },
  { is: 'no upsert table', snapshot: placed([A, B, C], {}, { upsert: false }), says: 'not applicable' },
  {
    is: 'a deduplication table is none',
    snapshot: placed([A, B, C], {}, { upsert: false, dedup: true }),
    says: 'not applicable',
  },
  {
    is: 'a segment whose partition cannot be told',
    snapshot: snapshot([
      table('t_REALTIME', { config: upsert, assignment: readOk(assignment({}, { segmentsWithoutPartition: 1 })) }),
    ]),
    finds: ['t_REALTIME'],
    unread: true,
  },
  {
    is: 'stored partitions that could not be read',
    snapshot: placed([A, B], { instancePartitions: readFailed('no') }),
    finds: ['t_REALTIME'],
    unread: true,
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
  { is: '499,999,999', snapshot: keys([499_999_999]) },
  { is: '500 million', snapshot: keys([500_000_000]) },
  { is: '500,000,001', snapshot: keys([500_000_001]), finds: [A], tells: 'partition 0 of `t_REALTIME`' },
  { is: 'two partitions that have them together', snapshot: keys([300_000_000, 300_000_000]) },
  { is: 'a deduplication table', snapshot: keys([500_000_001], { dedup: true }), finds: [A] },
  { is: 'an estimate says so', snapshot: keys([1], { upsert: true }, true), says: 'estimated by a query' },
  { is: 'no such table', snapshot: keys([500_000_001], {}), says: 'not applicable' },
  { is: 'counts that could not be read', snapshot: unread, finds: ['t_REALTIME'], unread: true },
]);

cases('HIGH_UPSERT_PRIMARY_KEYS_CHECK', [
  { is: '799,999,999', snapshot: keys([400_000_000, 399_999_999]) },
  { is: '800 million', snapshot: keys([400_000_000, 400_000_000]) },
  { is: '800,000,001', snapshot: keys([400_000_000, 400_000_001]), finds: [A], tells: '800000001' },
  {
    is: 'over two tables',
    snapshot: snapshot(
      ['a_REALTIME', 'b_REALTIME'].map((name) =>
        table(name, {
          config: { upsert: true },
          primaryKeys: readOk({ estimated: false, partitions: new Map([[0, new Map([[A, 400_000_001]])]]) }),
        }),
      ),
    ),
    finds: [A],
  },
  { is: 'no such table', snapshot: keys([900_000_000], {}), says: 'not applicable' },
  { is: 'counts that could not be read', snapshot: unread, finds: ['t_REALTIME'], unread: true },
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
  { is: 'a skew of exactly 2', snapshot: onServers([9, 0, 0, 0]) },
  { is: 'a skew of 2.24', snapshot: onServers([9, 0, 0, 0, 0]), finds: ['Server_s0_8098'] },
  { is: 'a skew of −2.24', snapshot: onServers([0, 9, 9, 9, 9]), finds: ['Server_s0_8098'] },
  { is: 'two servers', snapshot: onServers([9, 0]), says: 'not applicable' },
  { is: 'no such table', snapshot: snapshot(), says: 'no enabled upsert or deduplication table' },
  { is: 'counts that could not be read', snapshot: unread, finds: ['t_REALTIME'], unread: true },
]);

cases('UPSERT_PK_SKEW_PER_PARTITION_CHECK', [
  { is: 'a skew of exactly 2', snapshot: keys([9, 0, 0, 0]) },
  { is: 'a skew of 2.24', snapshot: keys([9, 0, 0, 0, 0]), finds: ['t_REALTIME'], tells: 'partition 0 has 9' },
  { is: 'a skew of −2.24', snapshot: keys([0, 9, 9, 9, 9]), finds: ['t_REALTIME'], tells: 'partition 0 has 0' },
  { is: 'all the same', snapshot: keys([7, 7, 7]) },
  { is: 'two partitions', snapshot: keys([9, 0]) },
  { is: 'no such table', snapshot: keys([9, 0, 0, 0, 0], {}), says: 'not applicable' },
  { is: 'counts that could not be read', snapshot: unread, finds: ['t_REALTIME'], unread: true },
]);

const preloaded = (config: Partial<TableConfig>, cluster: Readonly<Record<string, string>> = {}) =>
  snapshot([table('t_REALTIME', { config })], { clusterConfig: readOk(cluster) });

cases('PREBUILT_SNAPSHOT_CHECK', [
  { is: 'no such table', snapshot: preloaded({}), says: 'no enabled upsert' },
  { is: 'an upsert table with both', snapshot: preloaded({ upsert: true, snapshot: 'on', preload: 'on' }) },
  {
    is: 'without preload',
    snapshot: preloaded({ upsert: true, snapshot: 'on', preload: 'off' }),
    finds: ['t_REALTIME'],
    tells: 'preload of the table is off',
  },
  {
    is: 'without snapshot',
    snapshot: preloaded({ upsert: true, snapshot: 'off', preload: 'on' }),
    finds: ['t_REALTIME'],
    tells: 'snapshot of the table is off',
  },
  {
    is: 'with neither',
    snapshot: preloaded({ upsert: true }),
    finds: ['t_REALTIME'],
    tells: 'snapshot and preload of the table are off',
  },
  {
    is: 'with neither where the cluster has the feature',
    snapshot: preloaded({ upsert: true }, { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' }),
  },
  {
    is: 'with neither where the cluster has it by another name',
    snapshot: preloaded({ upsert: true }, { 'our.snapshots': 'true' }),
    prebuiltSnapshotProperty: 'our.snapshots',
  },
  {
    is: 'with neither where the feature goes by another name than it should',
    snapshot: preloaded({ upsert: true }, { 'pinot.upsert.prebuilt.snapshot.enabled': 'true' }),
    prebuiltSnapshotProperty: 'our.snapshots',
    finds: ['t_REALTIME'],
    tells: 'and so is the cluster property `our.snapshots`',
  },
  {
    is: 'by the defaults of the servers',
    snapshot: preloaded(
      { upsert: true },
      {
        'pinot.server.instance.upsert.default.enable.snapshot': 'true',
        'pinot.server.instance.upsert.default.enable.preload': 'true',
      },
    ),
  },
  {
    is: 'off in the table though on by default',
    snapshot: preloaded(
      { upsert: true, preload: 'off', snapshot: 'on' },
      { 'pinot.server.instance.upsert.default.enable.preload': 'true' },
    ),
    finds: ['t_REALTIME'],
  },
  { is: 'a deduplication table with preload', snapshot: preloaded({ dedup: true, preload: 'on' }) },
  { is: 'a deduplication table without', snapshot: preloaded({ dedup: true }), finds: ['t_REALTIME'] },
  {
    is: 'a configuration that could not be read',
    snapshot: snapshot([table('t_REALTIME', { config: { upsert: true } })], { clusterConfig: readFailed('no') }),
    finds: ['pinot'],
    unread: true,
  },
]);
