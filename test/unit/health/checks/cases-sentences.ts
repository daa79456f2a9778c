// The sentences of the checks in full, for one entity and for several, and the observed values in them.
import { readOk, type SizeSummary, type TableConfig, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { assignment, broker, server, sizes, snapshot, table, viewDifference } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const A = 'Server_a_8098';
const B = 'Server_b_8098';
const two = ['a_OFFLINE', 'b_OFFLINE'];
const tables = (count: number, more: Parameters<typeof table>[1]): TableSnapshot[] =>
  two.slice(0, count).map((name) => table(name, more));

const replica = (state: string, count: number) =>
  snapshot([
    table('t_OFFLINE', {
      difference: readOk(
        viewDifference(count, {
          replicas: [{ server: A, state, segments: { count, names: ['s', 'q'].slice(0, count) } }],
        }),
      ),
    }),
    table('u_OFFLINE'),
  ]);

cases('IDEAL_STATE_EV_MISMATCH_CHECK', [
  {
    name: 'one segment that the ideal state does not have, beside a table without a difference',
    snapshot: replica('unexpected', 1),
    entities: ['t_OFFLINE'],
    severities: ['warning'],
    message: '1 table has segments whose external view differs from the ideal state',
    finding: /^1 segment is on `Server_a_8098`, which the ideal state does not have for it \(`s`\)$/u,
    observed: '1 segment not in the ideal state',
  },
  {
    name: 'two of them',
    snapshot: replica('unexpected', 2),
    entities: ['t_OFFLINE'],
    finding: /^2 segments are on `Server_a_8098`, which the ideal state does not have for them \(`s`, `q`\)$/u,
    observed: '2 segments not in the ideal state',
  },
  {
    name: 'two that are missing',
    snapshot: replica('missing', 2),
    entities: ['t_OFFLINE'],
    finding: /^2 segments on `Server_a_8098` are missing from the external view \(`s`, `q`\)$/u,
    observed: '2 segments missing',
  },
]);

const unserved = (count: number) =>
  snapshot([
    table('t_OFFLINE', {
      difference: readOk(viewDifference(9, { unserved: { count, names: ['s', 'q'].slice(0, count) } })),
    }),
  ]);

cases('SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK', [
  {
    name: 'the rows of one segment',
    snapshot: unserved(1),
    entities: ['t_OFFLINE'],
    finding: /^1 segment has no online replica \(`s`\): queries do not return its rows$/u,
  },
  {
    name: 'the rows of two',
    snapshot: unserved(2),
    entities: ['t_OFFLINE'],
    finding: /^2 segments have no online replica \(`s`, `q`\): queries do not return their rows$/u,
  },
]);

cases('TABLE_SEGMENTS_RELOAD_CHECK', [
  {
    name: 'a fault and a server that did not respond',
    snapshot: snapshot([
      table('t_OFFLINE', {
        reload: readOk({ needed: { count: 1, names: [A] }, unit: 'server', silent: [B], oneReplica: false }),
      }),
    ]),
    entities: ['t_OFFLINE', 't_OFFLINE'],
    message: '1 table has segments that need a reload; 1 part of the cluster could not be read',
  },
]);

const small = { small: { count: 26, names: ['s'] }, measured: 104, bytes: new Map(), incomplete: undefined } as const;
const sized = (size: SizeSummary) => snapshot([table('t_OFFLINE', { size: readOk(size) })]);

cases('SEGMENT_SIZE_CHECK', [
  {
    name: 'what is allowed',
    snapshot: sized(sizes(1, 8)),
    thresholds: { maxSmallFraction: 0.2, minSizeMB: 6 },
    message: 'no table has more than 20 % of its segments below 6 MB',
  },
  {
    name: 'what was measured',
    snapshot: sized(small),
    thresholds: { maxSmallFraction: 0.2 },
    entities: ['t_OFFLINE'],
    observed: '26 of 104 (25 %)',
    finding: /^26 of 104 \(25 %\) completed segments are smaller than 5 MB \(such as `s`\)$/u,
    threshold: 'at most 20 % below 5 MB',
  },
]);

const retaining = (retentionTimeUnit: string | undefined, retentionTimeValue: string | undefined) =>
  snapshot([table('t_OFFLINE', { config: { retentionTimeUnit, retentionTimeValue } })]);

cases('SEGMENT_RETENTION_CHECK', [
  {
    name: 'only the unit is missing',
    snapshot: retaining(undefined, '30'),
    entities: ['t_OFFLINE'],
    finding: /^the table has no segment retention: `retentionTimeUnit` is not set$/u,
  },
  {
    name: 'only the value is missing',
    snapshot: retaining('DAYS', undefined),
    entities: ['t_OFFLINE'],
    finding: /^the table has no segment retention: `retentionTimeValue` is not set$/u,
  },
  {
    name: 'both are missing',
    snapshot: retaining(undefined, undefined),
    entities: ['t_OFFLINE'],
    finding: /^the table has no segment retention: `retentionTimeUnit` and `retentionTimeValue` are not set$/u,
  },
]);

const replicated = (replication: string | undefined) => snapshot([table('t_OFFLINE', { config: { replication } })]);

cases('REPLICATION_CHECK', [
  { name: 'no number', snapshot: replicated('x'), entities: ['t_OFFLINE'], finding: 'is `x`', observed: 'x' },
  { name: 'none', snapshot: replicated(undefined), entities: ['t_OFFLINE'], observed: 'not set' },
  { name: 'an empty text', snapshot: replicated(''), entities: ['t_OFFLINE'], finding: 'is ``', observed: '' },
]);

const health = { healthy: false, unreachable: false, detail: '503', url: 'http://10.0.0.1:8097/health' };
const ill = (count: number) =>
  snapshot([], {
    instances: readOk([A, B].slice(0, count).map((id) => server(id))),
    instanceHealth: new Map([A, B].map((id) => [id, health])),
  });

cases('INSTANCE_HEALTH_API_CHECK', [
  { name: 'one of them', snapshot: ill(1), entities: [A], message: '1 instance is not live' },
  { name: 'two of them', snapshot: ill(2), entities: [A, B], message: '2 instances are not live' },
]);

const ungrouped: Partial<TableConfig> = { instanceAssignments: [] };

cases('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK', [
  {
    name: 'one of them',
    snapshot: snapshot(tables(1, { config: ungrouped })),
    entities: two.slice(0, 1),
    message: '1 table does not use instance pools and replica groups',
  },
  {
    name: 'two of them',
    snapshot: snapshot(tables(2, { config: ungrouped })),
    entities: two,
    message: '2 tables do not use instance pools and replica groups',
  },
]);

const rebalance = readOk({ needed: true, detail: 'Dry-run mode' });

cases('TABLE_SEGMENT_ASSIGNMENT_CHECK', [
  {
    name: 'one of them',
    snapshot: snapshot(tables(1, { rebalance })),
    entities: two.slice(0, 1),
    message: '1 table needs a rebalance',
    observed: 'Dry-run mode',
  },
  {
    name: 'two of them',
    snapshot: snapshot(tables(2, { rebalance })),
    entities: two,
    message: '2 tables need a rebalance',
  },
]);

const brokers = readOk([broker('Broker_a_8099', { tags: ['Other_BROKER'] }), broker('Broker_b_8099')]);
const served = (online: readonly string[]) =>
  snapshot([table('t_OFFLINE')], { instances: brokers, brokerResource: readOk(new Map([['t_OFFLINE', online]])) });

cases('BROKER_RESOURCE_CHECK', [
  { name: 'no broker', snapshot: served([]), entities: ['t_OFFLINE'], observed: 'no broker' },
  {
    name: 'other brokers',
    snapshot: served(['Broker_a_8099', 'Broker_x_8099']),
    entities: ['t_OFFLINE'],
    observed: 'Broker_a_8099, Broker_x_8099',
    finding: /^its broker resource contains only `Broker_a_8099`, `Broker_x_8099`; expected a broker of the tenant `D/u,
  },
]);

const lacking = (lacks: 'servers' | 'result') =>
  snapshot([table('t_OFFLINE', { assignment: readOk(assignment({ [A]: 1 })) })], {
    queries: new Map([['t', readOk({ ok: true, detail: 'OK', lacks })]]),
  });

cases('QUERY_HEALTH_CHECK', [
  { name: 'no server', snapshot: lacking('servers'), entities: ['t'], observed: 'no server was queried' },
  { name: 'no result', snapshot: lacking('result'), entities: ['t'], observed: 'the response has no result table' },
]);

const holding = (...counts: number[]) =>
  snapshot([table('t_OFFLINE', { assignment: readOk(assignment({ [A]: counts[0] ?? 0, [B]: counts[1] ?? 0 })) })]);

cases('HIGH_NUMBER_OF_SEGMENTS_CHECK', [
  { name: 'one server', snapshot: holding(10_001), entities: [A], message: '1 server hosts more than 10,000 segments' },
  {
    name: 'two servers',
    snapshot: holding(10_001, 10_002),
    entities: [A, B],
    message: '2 servers host more than 10,000 segments',
  },
]);
