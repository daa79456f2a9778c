import { readFailed, readOk, type InstanceHealth } from '../../../../src/health/snapshot.ts';
import { assignment, broker, controller, segmentSummary, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const A = 'Server_a_8098';
const url = 'http://10.0.0.1:8097/health';
const well: InstanceHealth = { healthy: true, unreachable: false, detail: 'OK', url };
const starting: InstanceHealth = { healthy: false, unreachable: false, detail: '503 Pinot server status is BAD', url };
const gone: InstanceHealth = { healthy: false, unreachable: true, detail: 'connect ECONNREFUSED', url };
const skipped: InstanceHealth = { ...gone, detail: 'not read, because 3 such calls got no response', skipped: true };
const one = (health: InstanceHealth | undefined, more = {}) =>
  snapshot([], {
    instances: readOk([server(A, more), controller('Controller_a_9000')]),
    instanceHealth: new Map(health === undefined ? [] : [[A, health]]),
  });

cases('INSTANCE_HEALTH_API_CHECK', [
  { name: 'a server that says OK', snapshot: one(well) },
  { name: 'a server that is starting', snapshot: one(starting), entities: [A], finding: '503' },
  { name: 'a server that is not live', snapshot: one(gone, { live: false }), entities: [A], finding: 'not live' },
  {
    name: 'one that ZooKeeper has as live',
    snapshot: one(gone),
    entities: [A],
    finding: 'it hangs, or the network blocks the request',
  },
  { name: 'one that was not called', snapshot: one(skipped), entities: [A], couldNotEvaluate: true },
  {
    name: 'one that was not called and is not live',
    snapshot: one(skipped, { live: false }),
    entities: [A],
    finding: 'no session in ZooKeeper',
  },
  {
    name: 'a disabled server that is not live',
    snapshot: one(gone, { live: false, enabled: false }),
    message: 'not applicable',
  },
  { name: 'a server without an admin port', snapshot: one(undefined), entities: [A], couldNotEvaluate: true },
  {
    name: 'a server without an admin port that is not live',
    snapshot: one(undefined, { live: false }),
    entities: [A],
    finding: 'not live',
  },
  {
    name: 'a broker that is not live',
    snapshot: snapshot([], {
      instances: readOk([broker('Broker_a_8099', { live: false })]),
      instanceHealth: new Map([['Broker_a_8099', gone]]),
    }),
    entities: ['Broker_a_8099'],
  },
  { name: 'an empty cluster', snapshot: snapshot([], { instances: readOk([]) }), message: 'not applicable' },
  {
    name: 'instances that could not be read',
    snapshot: snapshot([], { instances: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const holding = (segments: number, consuming = 0, enabled = true) =>
  snapshot([table('t_REALTIME', { enabled, assignment: readOk(assignment({ [A]: [segments, consuming] })) })]);

cases('HIGH_NUMBER_OF_SEGMENTS_CHECK', [
  { name: '9,999', snapshot: holding(9_999) },
  { name: '10,000', snapshot: holding(10_000) },
  { name: '10,001', snapshot: holding(10_001), entities: [A], finding: '10,001 segments' },
  {
    name: '10,001 over two tables',
    snapshot: snapshot([
      table('a_OFFLINE', { assignment: readOk(assignment({ [A]: 5_000 })) }),
      table('b_OFFLINE', { assignment: readOk(assignment({ [A]: 5_001 })) }),
    ]),
    entities: [A],
  },
  { name: 'a disabled table', snapshot: holding(20_000, 0, false), message: 'not applicable' },
  {
    name: 'one table that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readFailed('no') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
]);

cases('HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK', [
  { name: '49', snapshot: holding(100, 49) },
  { name: '50', snapshot: holding(100, 50) },
  { name: '51', snapshot: holding(100, 51), entities: [A], finding: '51 consuming segments' },
  { name: 'many completed ones', snapshot: holding(9_000, 0) },
]);

const documents = (count: number, consuming = 0) =>
  snapshot([
    table('t_REALTIME', {
      segments: readOk(segmentSummary({ documents: new Map([[A, count]]) })),
      consumingRows: readOk({ servers: new Map([[A, consuming]]), segments: new Map() }),
    }),
  ]);

cases('HIGH_NUMBER_OF_DOCUMENTS_CHECK', [
  { name: 'a billion less one', snapshot: documents(999_999_999) },
  { name: 'a billion', snapshot: documents(1_000_000_000) },
  { name: 'a billion and one', snapshot: documents(1_000_000_001), entities: [A] },
  {
    name: 'the one in a consuming segment',
    snapshot: documents(1_000_000_000, 1),
    entities: [A],
    finding: '1,000,000,001',
  },
  {
    name: 'consuming rows that could not be read',
    snapshot: snapshot([table('t_REALTIME', { consumingRows: readFailed('no') })]),
    entities: ['t_REALTIME'],
    couldNotEvaluate: true,
  },
]);

const tables = (count: number, enabled = true) =>
  snapshot(
    Array.from({ length: count }, (_, i) =>
      table(`t${i}_OFFLINE`, { enabled, assignment: readOk(assignment({ [A]: 1 })) }),
    ),
  );

cases('HIGH_NUMBER_OF_TABLES_CHECK', [
  { name: '9', snapshot: tables(9) },
  { name: '10', snapshot: tables(10) },
  { name: '11', snapshot: tables(11), entities: [A], finding: '11 tables' },
  { name: '11 disabled ones', snapshot: tables(11, false), message: 'not applicable' },
]);

const named = (
  id: string,
  host: string,
  port: string,
  type: 'server' | 'controller' | 'broker' | 'minion' | 'other' = 'server',
) => snapshot([], { instances: readOk([server(id, { type, host, port })]) });

cases('COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK', [
  { name: 'a name that follows', snapshot: named('Server_10.0.0.1_8098', '10.0.0.1', '8098') },
  {
    name: 'another host',
    snapshot: named('Server_10.0.0.1_8098', '10.0.0.2', '8098'),
    entities: ['Server_10.0.0.1_8098'],
    finding: 'Server_10.0.0.2_8098',
  },
  {
    name: 'another port',
    snapshot: named('Server_10.0.0.1_8098', '10.0.0.1', '8099'),
    entities: ['Server_10.0.0.1_8098'],
  },
  {
    name: 'a host with its type before it',
    snapshot: named('Controller_c-0_9000', 'Controller_c-0', '9000', 'controller'),
  },
  {
    name: 'a controller by another name',
    snapshot: named('Controller_c-0_9000', 'c-1', '9000', 'controller'),
    entities: ['Controller_c-0_9000'],
  },
  {
    name: 'something that is none of the engine’s own',
    snapshot: named('tool', 'x', '1', 'other'),
    message: 'not applicable',
  },
]);

const GB = 1024 ** 3;
const disk = (usedGB: number) =>
  snapshot([], { disks: new Map([[A, readOk({ path: '/data', totalBytes: 100 * GB, usedBytes: usedGB * GB })]]) });

cases('SERVER_DISK_USAGE_CHECK', [
  { name: '85 %', snapshot: disk(85) },
  {
    name: 'more',
    snapshot: disk(86),
    entities: [A],
    severities: ['warning'],
    finding: 'the disk of `/data` is 86 % full: 14 of 100 GB are free',
  },
  { name: '95 %', snapshot: disk(95), entities: [A], severities: ['warning'] },
  { name: 'more than 95 %', snapshot: disk(96), entities: [A], severities: ['critical'] },
  {
    name: 'other limits',
    snapshot: disk(52),
    thresholds: { maxUsedPercent: 50, criticalUsedPercent: 51 },
    entities: [A],
    severities: ['critical'],
  },
  { name: 'no server reports it', snapshot: snapshot(), message: 'not applicable' },
  {
    name: 'a server that was not read',
    snapshot: snapshot([], { disks: new Map([[A, readFailed('timed out')]]) }),
    entities: [A],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
]);

const tasks = (failedInARow: number, ended = 10) =>
  snapshot([], {
    minionTasks: readOk([
      {
        type: 'MergeRollupTask',
        open: [],
        ended,
        failedInARow,
        lastTask: 'Task_MergeRollupTask_1760000000000',
        lastFailedSubtasks: 2,
        lastSubtasks: 5,
      },
    ]),
  });

cases('MINION_TASK_FAILURES_CHECK', [
  { name: 'no failure', snapshot: tasks(0) },
  { name: 'two in a row', snapshot: tasks(2) },
  {
    name: 'three in a row',
    snapshot: tasks(3),
    entities: ['MergeRollupTask'],
    finding:
      'subtasks of 3 tasks in a row failed; in the last one, `Task_MergeRollupTask_1760000000000`, 2 of 5 subtasks failed',
  },
  { name: 'another limit', snapshot: tasks(1), thresholds: { minFailures: 1 }, entities: ['MergeRollupTask'] },
  { name: 'a limit of 0', snapshot: tasks(0), thresholds: { minFailures: 0 } },
  { name: 'no task', snapshot: tasks(0, 0), message: 'not applicable' },
  {
    name: 'unread',
    snapshot: snapshot([], { minionTasks: readFailed('timed out') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
]);
