import { readFailed, readOk, type InstanceAssignment, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { assignment, broker, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases, TABLES_OF_DATABASES } from './check-cases.ts';

const pooled = (count: number, pools: (i: number) => Readonly<Record<string, string>>) =>
  snapshot([], {
    instances: readOk(Array.from({ length: count }, (_, i) => server(`Server_s${i}_8098`, { pools: pools(i) }))),
  });

cases('INSTANCE_POOLS_CHECK', [
  {
    name: '8 servers without pools',
    snapshot: pooled(8, () => ({})),
    message: 'not applicable: the cluster has 8 servers; pools are required above 8',
  },
  {
    name: '9 servers, one in no pool',
    snapshot: pooled(9, (i) => (i === 4 ? {} : { DefaultTenant_OFFLINE: '0' })),
    entities: ['Server_s4_8098'],
    message: '1 server is in no instance pool',
    finding: 'in no instance pool',
  },
  {
    name: '9 servers in pools',
    snapshot: pooled(9, (i) => ({ DefaultTenant_OFFLINE: String(i % 2), DefaultTenant_REALTIME: String(i % 2) })),
  },
  {
    name: '9 servers, one in two pools',
    snapshot: pooled(9, (i) => ({ DefaultTenant_OFFLINE: '0', DefaultTenant_REALTIME: i === 0 ? '1' : '0' })),
    entities: ['Server_s0_8098'],
    finding: 'not disjoint',
  },
  {
    name: '9 servers, two in no pool',
    snapshot: pooled(9, (i) => (i < 2 ? {} : { DefaultTenant_OFFLINE: '0' })),
    entities: ['Server_s0_8098', 'Server_s1_8098'],
    message: '2 servers are in no instance pool',
  },
  {
    name: 'instances that could not be read',
    snapshot: snapshot([], { instances: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const assigned = (...assignments: Omit<InstanceAssignment, 'replicaGroups'>[]) => {
  const instanceAssignments = assignments.map((one) => ({ ...one, replicaGroups: undefined }));
  return snapshot([table('t_OFFLINE', { config: { instanceAssignments } })]);
};

cases(
  'INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK',
  [
    { name: 'both', snapshot: assigned({ name: 'OFFLINE', poolBased: true, replicaGroupBased: true }) },
    {
      name: 'no pools',
      snapshot: assigned({ name: 'OFFLINE', poolBased: false, replicaGroupBased: true }),
      entities: ['t_OFFLINE'],
      finding: 'not pool-based',
    },
    {
      name: 'no replica groups',
      snapshot: assigned({ name: 'OFFLINE', poolBased: true, replicaGroupBased: false }),
      entities: ['t_OFFLINE'],
    },
    {
      name: 'no assignment at all',
      snapshot: assigned(),
      entities: ['t_OFFLINE'],
      finding: 'no `instanceAssignmentConfigMap`',
    },
    {
      name: 'one of two assignments',
      snapshot: assigned(
        { name: 'CONSUMING', poolBased: true, replicaGroupBased: true },
        { name: 'COMPLETED', poolBased: false, replicaGroupBased: false },
      ),
      entities: ['t_OFFLINE'],
      finding: '`COMPLETED`',
    },
    {
      name: 'a dimension table',
      snapshot: snapshot([table('t_OFFLINE', { config: { isDimension: true, instanceAssignments: [] } })]),
      message: 'not applicable',
    },
  ],
  { streams: ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'], databases: TABLES_OF_DATABASES },
);

const balance = (needed: boolean, more = {}) =>
  snapshot([table('t_OFFLINE', { rebalance: readOk({ needed, detail: 'Dry-run mode' }), ...more })]);

cases('TABLE_SEGMENT_ASSIGNMENT_CHECK', [
  { name: 'balanced', snapshot: balance(false) },
  { name: 'not balanced', snapshot: balance(true), entities: ['t_OFFLINE'] },
  { name: 'a disabled table', snapshot: balance(true, { enabled: false }), message: 'not applicable' },
  {
    name: 'a dry run that failed',
    snapshot: snapshot([table('t_OFFLINE', { rebalance: readFailed('the dry run ended as `FAILED`') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
]);

const served = (brokers: readonly string[], more = {}) =>
  snapshot([table('t_OFFLINE')], { brokerResource: readOk(new Map([['t_OFFLINE', brokers]])), ...more });
const other = { instances: readOk([broker('Broker_a_8099', { tags: ['Other_BROKER'] }), broker('Broker_b_8099')]) };

cases('BROKER_RESOURCE_CHECK', [
  { name: 'a broker of the tenant', snapshot: served(['Broker_a_8099']) },
  { name: 'none', snapshot: served([]), entities: ['t_OFFLINE'], finding: 'is empty' },
  {
    name: 'a table that the resource does not know',
    snapshot: snapshot([table('t_OFFLINE')], { brokerResource: readOk(new Map()) }),
    entities: ['t_OFFLINE'],
  },
  {
    name: 'a broker of another tenant alone',
    snapshot: served(['Broker_a_8099'], other),
    entities: ['t_OFFLINE'],
    finding: 'expected a broker of the tenant',
  },
  { name: 'one of its own beside it', snapshot: served(['Broker_a_8099', 'Broker_b_8099'], other) },
  {
    name: 'a tenant without a broker',
    snapshot: served([], { instances: readOk([]) }),
    entities: ['t_OFFLINE'],
    finding: 'has no broker',
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false })], { brokerResource: readOk(new Map()) }),
    message: 'not applicable',
  },
  {
    name: 'a resource that could not be read',
    snapshot: snapshot([table('t_OFFLINE')], { brokerResource: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const answering = (ok: boolean, detail: string) =>
  snapshot([table('t_OFFLINE')], { queries: new Map([['t', readOk({ ok, detail })]]) });

cases('QUERY_HEALTH_CHECK', [
  { name: 'an answer', snapshot: answering(true, 'OK') },
  {
    name: 'a fault',
    snapshot: answering(false, 'error 427: 1 server not responded'),
    entities: ['t'],
    finding: 'error 427',
  },
  {
    name: 'both parts of a hybrid table are one',
    snapshot: snapshot([table('t_OFFLINE'), table('t_REALTIME')], {
      queries: new Map([['t', readOk({ ok: false, detail: 'no' })]]),
    }),
    entities: ['t'],
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false })], { queries: new Map() }),
    message: 'not applicable',
  },
  {
    name: 'a hybrid table of which one part is disabled',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false }), table('t_REALTIME')], {
      queries: new Map([['t', readOk({ ok: false, detail: 'no' })]]),
    }),
    entities: ['t'],
  },
  ...(['servers', 'result'] as const).flatMap((lacks) => {
    const unserved = (assigned: TableSnapshot['assignment']) =>
      snapshot([table('t_REALTIME', { assignment: assigned })], {
        queries: new Map([['t', readOk({ ok: true, detail: 'OK', lacks })]]),
      });
    return [
      {
        name: `a response without ${lacks} for a table with segments`,
        snapshot: unserved(readOk(assignment({ Server_a_8098: [3, 1] }))),
        entities: ['t'],
        finding: lacks === 'servers' ? 'no server was queried, but the ideal state has 3 segments' : 'no result table',
      },
      { name: `a response without ${lacks} for an empty table`, snapshot: unserved(readOk(assignment({}))) },
      {
        name: `a response without ${lacks} for a table with OFFLINE segments only`,
        snapshot: unserved(readOk(assignment({}, { segments: 4 }))),
      },
      {
        name: `a response without ${lacks} for a table whose segments are all consuming`,
        snapshot: unserved(readOk(assignment({ Server_a_8098: [2, 2] }))),
        ...(lacks === 'servers' ? { entities: ['t'] } : {}),
      },
      {
        name: `a response without ${lacks} and an ideal state that could not be read`,
        snapshot: unserved(readFailed('no')),
        entities: ['t_REALTIME'],
        couldNotEvaluate: true,
      },
    ];
  }),
  {
    name: 'a query that was not made',
    snapshot: snapshot([table('t_OFFLINE')], { queries: new Map([['t', readFailed('the deadline passed')]]) }),
    entities: ['t'],
    couldNotEvaluate: true,
  },
]);
