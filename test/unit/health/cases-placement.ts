import { readFailed, readOk, type InstanceAssignment } from '../../../src/health/snapshot.ts';
import { broker, server, snapshot, table } from '../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const pooled = (count: number, pools: (i: number) => Readonly<Record<string, string>>) =>
  snapshot([], {
    instances: readOk(Array.from({ length: count }, (_, i) => server(`Server_s${i}_8098`, { pools: pools(i) }))),
  });

cases('INSTANCE_POOLS_CHECK', [
  { is: '8 servers without pools', snapshot: pooled(8, () => ({})), says: '8 servers; pools matter above 8' },
  {
    is: '9 servers, one in no pool',
    snapshot: pooled(9, (i) => (i === 4 ? {} : { DefaultTenant_OFFLINE: '0' })),
    finds: ['Server_s4_8098'],
    tells: 'in no instance pool',
  },
  {
    is: '9 servers in pools',
    snapshot: pooled(9, (i) => ({ DefaultTenant_OFFLINE: String(i % 2), DefaultTenant_REALTIME: String(i % 2) })),
  },
  {
    is: '9 servers, one in two pools',
    snapshot: pooled(9, (i) => ({ DefaultTenant_OFFLINE: '0', DefaultTenant_REALTIME: i === 0 ? '1' : '0' })),
    finds: ['Server_s0_8098'],
    tells: 'not disjoint',
  },
  {
    is: 'instances that could not be read',
    snapshot: snapshot([], { instances: readFailed('no') }),
    finds: ['pinot'],
    unread: true,
  },
]);

const assigned = (...instanceAssignments: InstanceAssignment[]) =>
  snapshot([table('t_OFFLINE', { config: { instanceAssignments } })]);

cases('INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK', [
  { is: 'both', snapshot: assigned({ name: 'OFFLINE', poolBased: true, replicaGroupBased: true }) },
  {
    is: 'no pools',
    snapshot: assigned({ name: 'OFFLINE', poolBased: false, replicaGroupBased: true }),
    finds: ['t_OFFLINE'],
    tells: 'not pool-based',
  },
  {
    is: 'no replica groups',
    snapshot: assigned({ name: 'OFFLINE', poolBased: true, replicaGroupBased: false }),
    finds: ['t_OFFLINE'],
  },
  { is: 'no assignment at all', snapshot: assigned(), finds: ['t_OFFLINE'], tells: 'no `instanceAssignmentConfigMap`' },
  {
    is: 'one of two assignments',
    snapshot: assigned(
      { name: 'CONSUMING', poolBased: true, replicaGroupBased: true },
      { name: 'COMPLETED', poolBased: false, replicaGroupBased: false },
    ),
    finds: ['t_OFFLINE'],
    tells: '`COMPLETED`',
  },
  {
    is: 'a dimension table',
    snapshot: snapshot([table('t_OFFLINE', { config: { isDimension: true, instanceAssignments: [] } })]),
    says: 'not applicable',
  },
]);

const balance = (needed: boolean, more = {}) =>
  snapshot([table('t_OFFLINE', { rebalance: readOk({ needed, detail: 'Dry-run mode' }), ...more })]);

cases('TABLE_SEGMENT_ASSIGNMENT_CHECK', [
  { is: 'balanced', snapshot: balance(false) },
  { is: 'not balanced', snapshot: balance(true), finds: ['t_OFFLINE'] },
  { is: 'a disabled table', snapshot: balance(true, { enabled: false }), says: 'not applicable' },
  {
    is: 'a dry run that failed',
    snapshot: snapshot([table('t_OFFLINE', { rebalance: readFailed('the dry run ended as `FAILED`') })]),
    finds: ['t_OFFLINE'],
    unread: true,
  },
]);

const served = (brokers: readonly string[], more = {}) =>
  snapshot([table('t_OFFLINE')], { brokerResource: readOk(new Map([['t_OFFLINE', brokers]])), ...more });
const other = { instances: readOk([broker('Broker_a_8099', { tags: ['Other_BROKER'] }), broker('Broker_b_8099')]) };

cases('BROKER_RESOURCE_CHECK', [
  { is: 'a broker of the tenant', snapshot: served(['Broker_a_8099']) },
  { is: 'none', snapshot: served([]), finds: ['t_OFFLINE'], tells: 'is empty' },
  {
    is: 'a table that the resource does not know',
    snapshot: snapshot([table('t_OFFLINE')], { brokerResource: readOk(new Map()) }),
    finds: ['t_OFFLINE'],
  },
  {
    is: 'a broker of another tenant alone',
    snapshot: served(['Broker_a_8099'], other),
    finds: ['t_OFFLINE'],
    tells: 'no broker of the tenant',
  },
  { is: 'one of its own beside it', snapshot: served(['Broker_a_8099', 'Broker_b_8099'], other) },
  {
    is: 'a tenant without a broker',
    snapshot: served([], { instances: readOk([]) }),
    finds: ['t_OFFLINE'],
    tells: 'has no broker',
  },
  {
    is: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false })], { brokerResource: readOk(new Map()) }),
    says: 'not applicable',
  },
  {
    is: 'a resource that could not be read',
    snapshot: snapshot([table('t_OFFLINE')], { brokerResource: readFailed('no') }),
    finds: ['pinot'],
    unread: true,
  },
]);

const answering = (ok: boolean, detail: string) =>
  snapshot([table('t_OFFLINE')], { queries: new Map([['t', readOk({ ok, detail })]]) });

cases('QUERY_HEALTH_CHECK', [
  { is: 'an answer', snapshot: answering(true, 'OK') },
  { is: 'a fault', snapshot: answering(false, 'error 427: 1 server not responded'), finds: ['t'], tells: 'error 427' },
  {
    is: 'both parts of a hybrid table are one',
    snapshot: snapshot([table('t_OFFLINE'), table('t_REALTIME')], {
      queries: new Map([['t', readOk({ ok: false, detail: 'no' })]]),
    }),
    finds: ['t'],
  },
  {
    is: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false })], { queries: new Map() }),
    says: 'not applicable',
  },
  {
    is: 'a hybrid table of which one part is disabled',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false }), table('t_REALTIME')], {
      queries: new Map([['t', readOk({ ok: false, detail: 'no' })]]),
    }),
    finds: ['t'],
  },
  {
    is: 'a query that was not made',
    snapshot: snapshot([table('t_OFFLINE')], { queries: new Map([['t', readFailed('the deadline passed')]]) }),
    finds: ['t'],
    unread: true,
  },
]);
