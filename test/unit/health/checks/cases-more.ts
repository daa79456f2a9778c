// Tasks of minions that do not end, nodes near the limit of ZooKeeper, old consuming segments, and files that the deep store lacks.
import {
  readFailed,
  readOk,
  type ConsumingSegment,
  type FileSample,
  type MinionTasks,
  type NodeSize,
  type SegmentFiles,
} from '../../../../src/health/snapshot.ts';
import { segmentSummary, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases, NOW } from './check-cases.ts';

const HOUR_MS = 3_600_000;
const TYPE = 'MergeRollupTask';

const tasks = (...ages: readonly [hours: number, running: number, waiting: number][]): MinionTasks => ({
  type: TYPE,
  ended: 0,
  failedInARow: 0,
  lastTask: undefined,
  lastFailedSubtasks: 0,
  lastSubtasks: 0,
  open: ages.map(([hours, running, waiting], i) => ({
    name: `Task_${i}`,
    createdAt: NOW - hours * HOUR_MS,
    running,
    waiting,
  })),
});
const minion = (more: Parameters<typeof server>[1] = {}) =>
  server('Minion_a_9514', { type: 'minion', tags: ['minion_untagged'], ...more });
const merged = table('t_OFFLINE', { config: { minionTags: new Map([[TYPE, 'minion_untagged']]) } });

cases('MINION_TASKS_STUCK_CHECK', [
  { name: 'no task', snapshot: snapshot([table('t_OFFLINE')]), message: 'not applicable' },
  {
    name: 'a task that is open for as long as is allowed',
    snapshot: snapshot([], { minionTasks: readOk([tasks([6, 1, 0])]) }),
    message: 'no minion task is open for more than 6 hours, and each has a minion with its tag',
  },
  {
    name: 'a task whose subtasks wait',
    snapshot: snapshot([], { minionTasks: readOk([tasks([7.5, 0, 2])]) }),
    entities: [TYPE],
    message: '1 reason why minion tasks do not end',
    finding: /^`Task_0` was created 7\.5 hours ago and has not ended: no subtask runs, and 2 subtasks wait$/u,
    observed: '7.5 hours',
    threshold: 'at most 6 hours',
  },
  {
    name: 'several tasks, of which one runs',
    snapshot: snapshot([], { minionTasks: readOk([tasks([72, 1, 1], [48, 0, 0], [1, 0, 0])]) }),
    entities: [TYPE],
    finding: /has not ended: 1 subtask runs, and 1 waits; with it, 2 tasks of this type are open for too long$/u,
    observed: '3 days',
  },
  {
    name: 'a task that has not begun',
    snapshot: snapshot([], { minionTasks: readOk([tasks([2, 0, 0])]) }),
    thresholds: { maxHours: 1 },
    entities: [TYPE],
    finding: 'it has not begun',
    threshold: 'at most 60 minutes',
  },
  {
    name: 'a minion with the tag',
    snapshot: snapshot([merged], { instances: readOk([minion()]) }),
  },
  {
    name: 'no minion with the tag',
    snapshot: snapshot([merged], { instances: readOk([minion({ tags: ['other'] })]) }),
    entities: ['minion_untagged'],
    finding: /^no minion has the tag: tasks of `MergeRollupTask` for 1 table \(`t_OFFLINE`\) do not run$/u,
    observed: 'no live, enabled minion',
  },
  {
    name: 'a minion that is down and one that is disabled',
    snapshot: snapshot([merged], { instances: readOk([minion({ live: false }), minion({ enabled: false })]) }),
    entities: ['minion_untagged'],
    finding: '2 minions have the tag, but none is live and enabled',
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([{ ...merged, enabled: false }], { instances: readOk([]) }),
    message: 'not applicable',
  },
  {
    name: 'tasks that could not be read',
    snapshot: snapshot([], { minionTasks: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const KIB = 1024;
const nodes = (...sizes: readonly NodeSize[]) => snapshot([], { nodeSizes: readOk(sizes) });
const idealState = (bytes: number, name = 't_OFFLINE'): NodeSize => ({ name, kind: 'ideal state', bytes });

cases('ZOOKEEPER_NODE_SIZE_CHECK', [
  {
    name: 'nodes of the size that is allowed',
    snapshot: nodes(idealState(0.7 * 1024 * KIB)),
    message: 'no ideal state or external view takes more than 70 % of 1,024 KiB',
  },
  {
    name: 'an ideal state above it, and an external view near the limit',
    snapshot: nodes(idealState(800 * KIB), { name: 'u_REALTIME', kind: 'external view', bytes: 1000 * KIB }),
    entities: ['u_REALTIME', 't_OFFLINE'],
    severities: ['critical', 'warning'],
    message: '2 nodes have a size near the limit of ZooKeeper',
    finding: /^its external view takes 1,000 KiB in ZooKeeper, 97\.66 % of the 1,024 KiB that a node may have$/u,
    observed: '1,000 KiB',
    threshold: 'at most 70 %',
  },
  {
    name: 'a resource of Pinot in a ZooKeeper with a higher limit',
    snapshot: nodes(idealState(3500 * KIB, 'brokerResource')),
    thresholds: { maxBufferKiB: 4096 },
    entities: ['brokerResource'],
    severities: ['warning'],
  },
  {
    name: 'sizes that could not be read',
    snapshot: snapshot([], { nodeSizes: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const consuming = (...segments: readonly Partial<ConsumingSegment>[]) =>
  snapshot([
    table('t_REALTIME', {
      consumingRows: readOk({
        servers: new Map(),
        segments: new Map(
          segments.map((segment, i) => [
            `t__${i}__7__x`,
            { createdAt: NOW - 13 * HOUR_MS, rows: 1, withRowsMs: HOUR_MS, ...segment },
          ]),
        ),
      }),
    }),
  ]);

cases('CONSUMING_SEGMENT_AGE_CHECK', [
  { name: 'an offline table', snapshot: snapshot([table('t_OFFLINE')]), message: 'not applicable' },
  { name: 'no rows', snapshot: consuming(), message: 'not applicable' },
  {
    name: 'a segment of the age that is allowed',
    snapshot: consuming({ createdAt: NOW - 12 * HOUR_MS }),
    message: 'no consuming segment with rows is older than 2 times the flush time of its table',
  },
  { name: 'rows that were first seen later', snapshot: consuming({ withRowsMs: HOUR_MS - 1 }) },
  { name: 'a segment without a time', snapshot: consuming({ createdAt: Number.NaN }) },
  {
    name: 'an old segment',
    snapshot: consuming({ rows: 1_200 }),
    entities: ['t_REALTIME'],
    message: '1 table has consuming segments that are not committed in time',
    finding:
      /^1 consuming segment has rows and is not committed \(`t__0__7__x`\): it was created 13 hours ago and has 1,200 rows; the flush time of the table is 6 hours$/u,
    observed: '13 hours',
    threshold: 'at most 12 hours',
  },
  {
    name: 'several, the oldest first',
    snapshot: consuming({}, { createdAt: NOW - 60 * HOUR_MS }),
    entities: ['t_REALTIME'],
    finding:
      /^2 consuming segments have rows and are not committed \(`t__1__7__x`, `t__0__7__x`\): the oldest was created 2\.5 days ago and has 1 row;/u,
  },
  {
    name: 'rows that could not be read',
    snapshot: snapshot([table('t_REALTIME', { consumingRows: readFailed('no') })]),
    entities: ['t_REALTIME'],
    couldNotEvaluate: true,
  },
]);

const none = { count: 0, names: [] };
const stored = (files: Partial<SegmentFiles>, sample: Partial<FileSample> = {}) =>
  snapshot([
    table('t_OFFLINE', {
      segments: readOk(segmentSummary({ files: { withoutUrl: none, served: [], elsewhere: 0, ...files } })),
      files: readOk({ asked: 0, missing: none, ...sample }),
    }),
  ]);

cases('DEEP_STORE_CHECK', [
  {
    name: 'files in an object store',
    snapshot: stored({ elsewhere: 9 }),
    message:
      'not applicable: the controller serves no file of a segment; 1 table has files that only their store can tell of',
  },
  {
    name: 'files that the controller has',
    snapshot: stored({ served: ['a', 'b'] }, { asked: 2 }),
    message: 'the controller has the files of the segments that were tried',
  },
  {
    name: 'a file that the controller does not have',
    snapshot: stored({ served: ['a', 'b'] }, { asked: 2, missing: { count: 1, names: ['a'] } }),
    entities: ['t_OFFLINE'],
    message: '1 table lacks files in the deep store',
    finding:
      /^the controller does not have the file of 1 segment of 2 tried \(`a`\): a server that has lost it, or a new one, cannot load it$/u,
    observed: '1 segment of 2 tried',
  },
  {
    name: 'segments without a URL',
    snapshot: stored({ withoutUrl: { count: 2, names: ['a', 'b'] } }),
    entities: ['t_OFFLINE'],
    finding: /^2 completed segments have no URL in the deep store \(`a`, `b`\): only the servers have them$/u,
    observed: '2 segments',
    threshold: 'at most 0 segments',
  },
  {
    name: 'as many as are allowed',
    snapshot: stored({ withoutUrl: { count: 1, names: ['a'] } }),
    thresholds: { maxSegmentsWithoutUrl: 1 },
  },
  {
    name: 'files that could not be requested',
    snapshot: snapshot([table('t_OFFLINE', { files: readFailed('no') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
]);
