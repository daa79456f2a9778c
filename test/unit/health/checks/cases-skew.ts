import { readFailed, readOk } from '../../../../src/health/snapshot.ts';
import { assignment, controller, server, sizes, snapshot, table } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const names = (count: number) => Array.from({ length: count }, (_, i) => `Server_s${i}_8098`);
const servers = (count: number, more = {}) => ({ instances: readOk(names(count).map((name) => server(name, more))) });
const byServer = (counts: readonly number[]) =>
  Object.fromEntries(counts.map((count, i) => [`Server_s${i}_8098`, count]));
const consuming = (counts: readonly number[]) =>
  Object.fromEntries(counts.map((count, i) => [`Server_s${i}_8098`, [count, count] as const]));

/** A table with these segments on each server; `total` is its number of segments without replicas. */
const spread = (counts: readonly number[], total: number, more = {}) =>
  snapshot(
    [table('t_OFFLINE', { assignment: readOk(assignment(byServer(counts), { segments: total })), ...more })],
    servers(counts.length),
  );

cases('SEGMENT_SKEW_HEALTH_CHECK', [
  // The mean of 30, 20 and 10 is 20: 30 is exactly 50 % above it.
  { name: 'exactly 50 % above the average', snapshot: spread([30, 20, 10], 60) },
  {
    name: 'one more',
    snapshot: spread([31, 20, 9], 60),
    entities: ['t_OFFLINE'],
    finding: /^`Server_s0_8098` hosts 31 segments of the table; the average over 3 servers is 20 segments$/u,
  },
  { name: '50 segments are too few to be judged', snapshot: spread([50, 0, 0], 50), message: 'not applicable' },
  { name: '51 are enough', snapshot: spread([51, 0, 0], 51), entities: ['t_OFFLINE'] },
  { name: 'one server', snapshot: spread([100], 100) },
  {
    name: 'a dimension table',
    snapshot: spread([100, 1, 1], 102, { config: { isDimension: true } }),
    message: 'not applicable',
  },
  { name: 'a disabled table', snapshot: spread([100, 1, 1], 102, { enabled: false }), message: 'not applicable' },
  {
    name: 'an idle server of another tenant does not count',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readOk(assignment(byServer([60, 60]), { segments: 60 })) })], {
      instances: readOk([
        ...names(2).map((name) => server(name)),
        server('Server_s8_8098', { tags: ['Other_OFFLINE'] }),
        server('Server_s9_8098', { tags: ['Other_OFFLINE'] }),
      ]),
    }),
  },
  {
    name: 'an idle server of the same tenant does',
    snapshot: snapshot(
      [table('t_OFFLINE', { assignment: readOk(assignment(byServer([60, 60]), { segments: 60 })) })],
      servers(4),
    ),
    entities: ['t_OFFLINE'],
  },
  {
    name: 'a disabled server of the same tenant does not',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readOk(assignment(byServer([60, 60]), { segments: 60 })) })], {
      instances: readOk(names(4).map((name, i) => server(name, { enabled: i < 2 }))),
    }),
  },
  {
    name: 'stored instance partitions say which servers are meant',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readOk(assignment(byServer([60, 60]), { segments: 60 })) })], {
      ...servers(8),
      instancePartitions: readOk([
        {
          name: 't_OFFLINE',
          servers: new Map([
            ['0_0', ['Server_s0_8098']],
            ['0_1', ['Server_s1_8098']],
          ]),
        },
      ]),
    }),
  },
  {
    name: 'stored instance partitions that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readOk(assignment(byServer([60, 60]), { segments: 60 })) })], {
      ...servers(8),
      instancePartitions: readFailed('no'),
    }),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
  {
    name: 'instances that could not be read',
    snapshot: snapshot([table('t_OFFLINE')], { instances: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const consumingTable = (counts: readonly number[], total: number) =>
  snapshot(
    [table('t_REALTIME', { assignment: readOk(assignment(consuming(counts), { consumingSegments: total })) })],
    servers(counts.length),
  );

cases('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', [
  { name: 'exactly 50 % above the average', snapshot: consumingTable([6, 4, 2], 12) },
  {
    name: 'one more',
    snapshot: consumingTable([7, 4, 1], 12),
    entities: ['t_REALTIME'],
    finding: '7 consuming segments of the table; the average',
  },
  {
    name: '10 consuming segments are too few to be judged',
    snapshot: consumingTable([10, 0, 0], 10),
    message: 'not applicable',
  },
  { name: '11 are enough', snapshot: consumingTable([11, 0, 0], 11), entities: ['t_REALTIME'] },
]);

/** Five servers for consuming segments, three for completed ones and two for a tier, with loads that are even in each group. */
const SEPARATE = { consumingTag: 'Fresh_REALTIME', completedTag: 'Done_OFFLINE', tierTags: ['Cold_OFFLINE'] };
const TAGS = [...Array(5).fill('Fresh_REALTIME'), ...Array(3).fill('Done_OFFLINE'), ...Array(2).fill('Cold_OFFLINE')];
const separated = (change: Readonly<Record<string, readonly [number, number]>> = {}) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { ...SEPARATE, serverTags: Object.values(SEPARATE).flat() },
        assignment: readOk(
          assignment({
            ...Object.fromEntries(
              names(10).map((name, i) => [name, i < 5 ? ([5, 4] as const) : i < 8 ? [100, 0] : [900, 0]]),
            ),
            ...change,
          }),
        ),
        size: readOk(
          sizes(0, 1, {
            bytes: new Map(names(10).map((name, i) => [name, i < 5 ? 9 + i : i < 8 ? 500 + i : 9_000 + i])),
          }),
        ),
      }),
    ],
    { instances: readOk(names(10).map((name, i) => server(name, { tags: [TAGS[i]] }))) },
  );

/** The name of a server of `separated` and what it hosts. */
const changed = (server_: number, segments: number, consuming_: number) =>
  separated({ [`Server_s${server_}_8098`]: [segments, consuming_] });

cases('SEGMENT_SKEW_HEALTH_CHECK', [
  { name: 'servers of different groups', snapshot: separated() },
  {
    name: 'a server of the group for completed segments',
    snapshot: changed(6, 300, 0),
    entities: ['t_REALTIME'],
    finding: '`Server_s6_8098` hosts 300 segments of the table; the average over 3 servers for completed segments',
  },
  {
    name: 'a server of a tier',
    snapshot: changed(9, 5_000, 0),
    entities: ['t_REALTIME'],
    finding: 'the average over 2 servers for the tier tag `Cold_OFFLINE`',
  },
  {
    name: 'a disabled server that still hosts segments of its group',
    snapshot: {
      ...separated(),
      instances: readOk(names(10).map((name, i) => server(name, { tags: [TAGS[i]], enabled: i !== 0 && i !== 9 }))),
    },
  },
]);

cases('CONSUMING_PARTITION_SKEW_HEALTH_CHECK', [
  { name: 'servers for completed segments only, which consume nothing', snapshot: separated() },
  { name: 'one consuming server with more', snapshot: changed(0, 20, 20), entities: ['t_REALTIME'] },
  {
    name: 'a table with few more on one server than the average',
    snapshot: consumingTable([2, 1, 1, 1, 1, 1, 1, 1, 1, 1], 11),
  },
  {
    name: 'the same without the floor',
    snapshot: consumingTable([2, 1, 1, 1, 1, 1, 1, 1, 1, 1], 11),
    thresholds: { minExcess: 0 },
    entities: ['t_REALTIME'],
  },
]);

cases('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK', [
  { name: 'servers for completed segments only', snapshot: separated() },
  { name: 'one consuming server with more', snapshot: changed(0, 20, 20), entities: ['Server_s0_8098'] },
]);

cases('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', [
  { name: 'servers of different groups', snapshot: separated() },
  {
    name: 'a server of one group',
    snapshot: changed(5, 400, 0),
    entities: ['Server_s5_8098'],
    finding: 'the average over 3 servers for completed segments is 200 segments',
  },
]);

cases('DATA_SIZE_SKEW_CHECK', [{ name: 'servers of different groups', snapshot: separated() }]);

const tablesOn = (counts: readonly number[], more = {}) =>
  snapshot(
    counts.flatMap((count, on) =>
      Array.from({ length: count }, (_, i) =>
        table(`t${on}x${i}_OFFLINE`, { assignment: readOk(assignment({ [`Server_s${on}_8098`]: 1 })) }),
      ),
    ),
    { ...servers(counts.length), ...more },
  );

cases('TABLE_SKEW_CHECK', [
  { name: 'exactly 50 % above the average', snapshot: tablesOn([3, 2, 1]) },
  { name: 'one more', snapshot: tablesOn([4, 2, 1]), entities: ['Server_s0_8098'], finding: '4 tables' },
  { name: 'one server', snapshot: tablesOn([5]), message: 'not applicable' },
  { name: 'two servers, one with three times as many', snapshot: tablesOn([3, 1]) },
  { name: 'two servers, one with four times as many', snapshot: tablesOn([4, 1]), entities: ['Server_s0_8098'] },
  { name: 'an empty cluster', snapshot: snapshot(), message: 'not applicable' },
  {
    name: 'an idle server that no table could use',
    snapshot: tablesOn([1, 1], {
      instances: readOk([
        ...names(2).map((name) => server(name)),
        ...['x', 'y', 'z'].map((x) => server(`Server_${x}_8098`, { tags: ['server_untagged'] })),
      ]),
    }),
  },
]);

cases('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', [
  { name: 'exactly 50 % above the average', snapshot: spread([30, 20, 10], 60) },
  { name: 'one more', snapshot: spread([31, 20, 9], 60), entities: ['Server_s0_8098'] },
  { name: 'few segments are judged as well', snapshot: spread([3, 0, 0], 3), entities: ['Server_s0_8098'] },
  {
    name: 'two tables that even each other out',
    snapshot: snapshot(
      [
        table('a_OFFLINE', { assignment: readOk(assignment(byServer([30, 0]))) }),
        table('b_OFFLINE', { assignment: readOk(assignment(byServer([0, 30]))) }),
      ],
      servers(2),
    ),
  },
  { name: 'all empty', snapshot: spread([0, 0, 0], 0) },
]);

cases('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK', [
  { name: 'exactly 50 % above the average', snapshot: consumingTable([6, 4, 2], 12) },
  { name: 'one more', snapshot: consumingTable([7, 4, 1], 12), entities: ['Server_s0_8098'] },
  {
    name: 'servers of offline tables do not count',
    snapshot: snapshot(
      [table('t_REALTIME', { assignment: readOk(assignment(consuming([4, 4]))) }), table('o_OFFLINE')],
      {
        instances: readOk([
          ...names(2).map((name) => server(name)),
          ...['x', 'y'].map((x) => server(`Server_${x}_8098`, { tags: ['DefaultTenant_OFFLINE'] })),
        ]),
      },
    ),
  },
  { name: 'a cluster without realtime tables', snapshot: snapshot([table('t_OFFLINE')]), message: 'not applicable' },
]);

const bytesOn = (counts: readonly number[], more = {}) =>
  snapshot(
    [
      table('t_OFFLINE', {
        size: readOk(sizes(0, 1, { bytes: new Map(counts.map((count, i) => [`Server_s${i}_8098`, count])), ...more })),
      }),
    ],
    servers(counts.length),
  );

// For n − 1 zeros and one other value the coefficient is √n, independent of the value.
cases('DATA_SIZE_SKEW_CHECK', [
  { name: 'a skew of 1.73', snapshot: bytesOn([9, 0, 0]) },
  { name: 'a skew of exactly 2', snapshot: bytesOn([9, 0, 0, 0]) },
  { name: 'a skew of 2.24', snapshot: bytesOn([9, 0, 0, 0, 0]), entities: ['Server_s0_8098'], finding: '2.24' },
  { name: 'a skew of −2.24', snapshot: bytesOn([0, 9, 9, 9, 9]), entities: ['Server_s0_8098'], finding: '-2.24' },
  { name: 'a skew of exactly −2', snapshot: bytesOn([0, 9, 9, 9]) },
  { name: 'all the same', snapshot: bytesOn([5, 5, 5, 5]), message: 'not applicable: data size is the same on all 4' },
  { name: 'two servers', snapshot: bytesOn([5, 1]), message: 'not applicable: skew needs at least 3 servers' },
  {
    name: 'sizes that no server reported',
    snapshot: bytesOn([5, 5, 5], { incomplete: 'no server reported a size' }),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
]);

const leaders = (counts: readonly number[], idle = 0) =>
  snapshot([], {
    instances: readOk(Array.from({ length: counts.length + idle }, (_, i) => controller(`Controller_c${i}_9000`))),
    leaders: readOk(new Map(counts.map((count, i) => [`Controller_c${i}_9000`, count]))),
  });

cases('CONTROLLER_TABLES_SKEW_CHECK', [
  {
    name: 'one controller',
    snapshot: leaders([30]),
    message: 'not applicable: skew needs at least 3 lead controllers, the cluster has 1',
  },
  { name: 'a skew of exactly 2', snapshot: leaders([9, 0, 0, 0]) },
  { name: 'a skew of 2.24', snapshot: leaders([9, 0, 0, 0, 0]), entities: ['Controller_c0_9000'] },
  { name: 'controllers without a table count as none', snapshot: leaders([9], 4), entities: ['Controller_c0_9000'] },
  {
    name: 'controllers that are not live do not',
    snapshot: snapshot([], {
      instances: readOk([
        controller('Controller_c0_9000'),
        ...[1, 2, 3, 4].map((i) => controller(`Controller_c${i}_9000`, { live: false })),
      ]),
      leaders: readOk(new Map([['Controller_c0_9000', 9]])),
    }),
    message: 'not applicable',
  },
  {
    name: 'leaders that could not be read',
    snapshot: snapshot([], { leaders: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);
