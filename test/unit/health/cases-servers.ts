import { readFailed, readOk, type InstanceHealth } from '../../../src/health/snapshot.ts';
import { assignment, broker, controller, segmentSummary, server, snapshot, table } from '../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const A = 'Server_a_8098';
const url = 'http://10.0.0.1:8097/health';
const well: InstanceHealth = { healthy: true, unreachable: false, detail: 'OK', url };
const starting: InstanceHealth = { healthy: false, unreachable: false, detail: '503 Pinot server status is BAD', url };
const gone: InstanceHealth = { healthy: false, unreachable: true, detail: 'connect ECONNREFUSED', url };
const one = (health: InstanceHealth | undefined, more = {}) =>
  snapshot([], {
    instances: readOk([server(A, more), controller('Controller_a_9000')]),
    instanceHealth: new Map(health === undefined ? [] : [[A, health]]),
  });

cases('INSTANCE_HEALTH_API_CHECK', [
  { is: 'a server that says OK', snapshot: one(well) },
  { is: 'a server that is starting', snapshot: one(starting), finds: [A], tells: '503' },
  { is: 'a server that is gone', snapshot: one(gone, { live: false }), finds: [A], tells: 'not live' },
  {
    is: 'one that ZooKeeper has as live',
    snapshot: one(gone),
    finds: [A],
    tells: 'it hangs, or it cannot be reached from here',
  },
  {
    is: 'a disabled server that is gone',
    snapshot: one(gone, { live: false, enabled: false }),
    says: 'not applicable',
  },
  { is: 'a server without an admin port', snapshot: one(undefined), finds: [A], unread: true },
  {
    is: 'a broker that is gone',
    snapshot: snapshot([], {
      instances: readOk([broker('Broker_a_8099', { live: false })]),
      instanceHealth: new Map([['Broker_a_8099', gone]]),
    }),
    finds: ['Broker_a_8099'],
  },
  { is: 'an empty cluster', snapshot: snapshot([], { instances: readOk([]) }), says: 'not applicable' },
  {
    is: 'instances that could not be read',
    snapshot: snapshot([], { instances: readFailed('no') }),
    finds: ['pinot'],
    unread: true,
  },
]);

const holding = (segments: number, consuming = 0, enabled = true) =>
  snapshot([table('t_REALTIME', { enabled, assignment: readOk(assignment({ [A]: [segments, consuming] })) })]);

cases('HIGH_NUMBER_OF_SEGMENTS_CHECK', [
  { is: '9,999', snapshot: holding(9_999) },
  { is: '10,000', snapshot: holding(10_000) },
  { is: '10,001', snapshot: holding(10_001), finds: [A], tells: '10001 segments' },
  {
    is: '10,001 over two tables',
    snapshot: snapshot([
      table('a_OFFLINE', { assignment: readOk(assignment({ [A]: 5_000 })) }),
      table('b_OFFLINE', { assignment: readOk(assignment({ [A]: 5_001 })) }),
    ]),
    finds: [A],
  },
  { is: 'a disabled table', snapshot: holding(20_000, 0, false), says: 'not applicable' },
  {
    is: 'one table that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readFailed('no') })]),
    finds: ['t_OFFLINE'],
    unread: true,
  },
]);

cases('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', [
  { is: '49', snapshot: holding(100, 49) },
  { is: '50', snapshot: holding(100, 50) },
  { is: '51', snapshot: holding(100, 51), finds: [A], tells: '51 consuming segments' },
  { is: 'many completed ones', snapshot: holding(9_000, 0) },
]);

const documents = (count: number, consuming = 0) =>
  snapshot([
    table('t_REALTIME', {
      segments: readOk(segmentSummary({ documents: new Map([[A, count]]) })),
      consumingRows: readOk(new Map([[A, consuming]])),
    }),
  ]);

cases('HIGH_NUMBER_OF_DOCUMENTS_CHECK', [
  { is: 'a billion less one', snapshot: documents(999_999_999) },
  { is: 'a billion', snapshot: documents(1_000_000_000) },
  { is: 'a billion and one', snapshot: documents(1_000_000_001), finds: [A] },
  { is: 'the one in a consuming segment', snapshot: documents(1_000_000_000, 1), finds: [A], tells: '1000000001' },
  {
    is: 'consuming rows that could not be read',
    snapshot: snapshot([table('t_REALTIME', { consumingRows: readFailed('no') })]),
    finds: ['t_REALTIME'],
    unread: true,
  },
]);

const tables = (count: number, enabled = true) =>
  snapshot(
    Array.from({ length: count }, (_, i) =>
      table(`t${i}_OFFLINE`, { enabled, assignment: readOk(assignment({ [A]: 1 })) }),
    ),
  );

cases('HIGH_NUMBER_OF_TABLES_CHECK', [
  { is: '9', snapshot: tables(9) },
  { is: '10', snapshot: tables(10) },
  { is: '11', snapshot: tables(11), finds: [A], tells: '11 tables' },
  { is: '11 disabled ones', snapshot: tables(11, false) },
]);

const named = (
  id: string,
  host: string,
  port: string,
  type: 'server' | 'controller' | 'broker' | 'minion' | 'other' = 'server',
) => snapshot([], { instances: readOk([server(id, { type, host, port })]) });

cases('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK', [
  { is: 'a name that follows', snapshot: named('Server_10.0.0.1_8098', '10.0.0.1', '8098') },
  {
    is: 'another host',
    snapshot: named('Server_10.0.0.1_8098', '10.0.0.2', '8098'),
    finds: ['Server_10.0.0.1_8098'],
    tells: 'Server_10.0.0.2_8098',
  },
  { is: 'another port', snapshot: named('Server_10.0.0.1_8098', '10.0.0.1', '8099'), finds: ['Server_10.0.0.1_8098'] },
  {
    is: 'a host with its type before it',
    snapshot: named('Controller_c-0_9000', 'Controller_c-0', '9000', 'controller'),
  },
  {
    is: 'a controller by another name',
    snapshot: named('Controller_c-0_9000', 'c-1', '9000', 'controller'),
    finds: ['Controller_c-0_9000'],
  },
  {
    is: 'something that is none of the engine’s own',
    snapshot: named('tool', 'x', '1', 'other'),
    says: 'not applicable',
  },
]);
