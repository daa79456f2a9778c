// Which servers the skew checks compare, and what they say about several of them.
import { readOk, type Instance } from '../../../../src/health/snapshot.ts';
import { assignment, server, sizes, snapshot, table } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const names = (count: number) => Array.from({ length: count }, (_, i) => `Server_s${i}_8098`);
const entries = <T>(values: readonly T[]) => values.map((value, i) => [`Server_s${i}_8098`, value] as const);
const instances = (count: number, more: (i: number) => Partial<Instance> = () => ({})) => ({
  instances: readOk(names(count).map((name, i) => server(name, more(i)))),
});

/** A realtime table with these consuming segments, and servers of its tenant. */
const consuming = (counts: readonly number[], servers: ReturnType<typeof instances>) =>
  snapshot(
    [
      table('t_REALTIME', {
        assignment: readOk(assignment(Object.fromEntries(entries(counts.map((count) => [count, count] as const))))),
      }),
    ],
    servers,
  );

cases('CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK', [
  {
    name: 'idle servers of the same tenant count',
    snapshot: consuming([4, 4], instances(4)),
    entities: names(2),
    finding: 'the server hosts 4 consuming segments; the average over 4 servers is 2',
    threshold: 'at most 3 consuming segments',
  },
  {
    name: 'idle servers that are disabled do not',
    snapshot: consuming(
      [4, 4],
      instances(4, (i) => ({ enabled: i < 2 })),
    ),
    message: 'no server exceeds the average of 4 consuming segments by more than 50 %',
  },
  {
    name: 'idle instances that are no servers do not',
    snapshot: consuming(
      [4, 4],
      instances(4, (i) => (i < 2 ? {} : { type: 'minion' })),
    ),
    message: 'no server exceeds the average of 4 consuming segments by more than 50 %',
  },
]);

/** One server for consuming segments, two for completed ones. */
const separate = (counts: readonly [number, number, number]) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { consumingTag: 'Fresh_REALTIME', completedTag: 'Done_OFFLINE' },
        assignment: readOk(assignment(Object.fromEntries(entries(counts)))),
      }),
    ],
    instances(3, (i) => ({ tags: [i === 0 ? 'Fresh_REALTIME' : 'Done_OFFLINE'] })),
  );

cases('CLUSTER_LEVEL_SEGMENT_SKEW_CHECK', [
  {
    name: 'a group of one server has no average',
    snapshot: separate([9, 4, 6]),
    message: /^no server exceeds the average of 5 segments for completed segments by more than 50 %$/u,
  },
]);

const spread = (counts: readonly number[], tables = 1) =>
  snapshot(
    ['a_OFFLINE', 'b_OFFLINE']
      .slice(0, tables)
      .map((name) =>
        table(name, { assignment: readOk(assignment(Object.fromEntries(entries(counts)), { segments: 60 })) }),
      ),
    instances(counts.length),
  );

cases('SEGMENT_SKEW_HEALTH_CHECK', [
  {
    name: 'two servers above the limit',
    snapshot: spread([31, 32, 0, 0, 0]),
    entities: ['a_OFFLINE'],
    message: '1 table is unevenly distributed over servers',
    finding:
      /^`Server_s1_8098` hosts 32 segments of the table; the average over 5 servers is 12\.6 segments; 1 more server above the/u,
  },
  {
    name: 'two tables',
    snapshot: spread([60, 0, 0], 2),
    entities: ['a_OFFLINE', 'b_OFFLINE'],
    message: '2 tables are unevenly distributed over servers',
    finding: /is 20 segments$/u,
  },
]);

const bytesOn = (...counts: number[]) =>
  snapshot(
    [table('t_OFFLINE', { size: readOk(sizes(0, 1, { bytes: new Map(entries(counts)) })) })],
    instances(counts.length),
  );

cases('DATA_SIZE_SKEW_CHECK', [
  {
    name: 'three servers with the same',
    snapshot: bytesOn(5, 5, 5),
    message: 'not applicable: data size is the same on all 3 servers',
  },
  {
    name: 'the first of two that are equally far from the average',
    snapshot: bytesOn(...Array<number>(18).fill(0), 9, 9),
    entities: ['Server_s18_8098'],
  },
]);

/** Primary keys of one partition on the first server. */
const keysOf = (count: number, servers: number) =>
  snapshot(
    [
      table('t_REALTIME', {
        config: { upsert: true },
        primaryKeys: readOk({ estimated: false, partitions: new Map([[0, new Map([['Server_s0_8098', count]])]]) }),
      }),
    ],
    instances(servers),
  );

cases('UPSERT_PRIMARY_KEY_SKEW_CHECK', [
  { name: 'idle servers count', snapshot: keysOf(9, 5), entities: ['Server_s0_8098'], observed: '2.24' },
  { name: 'a skew of exactly 2 with idle servers', snapshot: keysOf(9, 4), message: 'within [-2, 2]' },
]);

const partitions = (...counts: number[]) =>
  snapshot([
    table('t_REALTIME', {
      config: { upsert: true },
      primaryKeys: readOk({
        estimated: false,
        partitions: new Map(counts.map((count, i) => [i, new Map([['Server_s0_8098', count]])])),
      }),
    }),
  ]);

cases('UPSERT_PK_SKEW_PER_PARTITION_CHECK', [{ name: 'a skew of exactly −2', snapshot: partitions(0, 9, 9, 9) }]);
