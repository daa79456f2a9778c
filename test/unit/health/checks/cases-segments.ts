import { readFailed, readOk } from '../../../../src/health/snapshot.ts';
import { assignment, segmentSummary, sizes, snapshot, table, viewDifference } from '../../../builders/snapshot.ts';
import { cases, TABLES_OF_DATABASES } from './check-cases.ts';

const difference = (count: number, viewMissing = false) => readOk(viewDifference(count, { viewMissing }));
const sample = (count: number, name: string) => ({ count, names: [name] });

cases('IDEAL_STATE_EV_MISMATCH_CHECK', [
  { name: 'no difference', snapshot: snapshot([table('t_OFFLINE', { difference: difference(0) })]) },
  {
    name: 'one segment that differs',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(1) })]),
    entities: ['t_OFFLINE'],
    finding: '1 segment on `Server_a_8098` is in the state ERROR (`t_0`)',
  },
  {
    name: 'segments without an online replica first, of all tables, then by server and state',
    snapshot: snapshot([
      table('a_OFFLINE', { difference: difference(1) }),
      table('b_OFFLINE', {
        difference: readOk(
          viewDifference(1_300, {
            unserved: sample(1_200, 's'),
            replicas: [
              { server: 'Server_a_8098', state: 'missing', segments: sample(1_300, 's') },
              { server: 'Server_b_8098', state: 'OFFLINE', segments: sample(2, 'q') },
              { server: 'Server_c_8098', state: 'unexpected', segments: sample(1, 'r') },
            ],
            moreReplicaGroups: 4,
          }),
        ),
      }),
    ]),
    entities: ['b_OFFLINE', 'a_OFFLINE', 'b_OFFLINE', 'b_OFFLINE', 'b_OFFLINE', 'b_OFFLINE'],
    severities: [undefined, 'warning', 'warning', 'warning', 'warning', 'warning'],
    finding: '1,200 segments have no online replica',
    message:
      '2 tables have segments whose external view differs from the ideal state; 1,200 segments have no online replica',
  },
  {
    name: 'no external view and segments',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(4, true) })]),
    entities: ['t_OFFLINE'],
    finding: 'no external view',
  },
  {
    name: 'no external view and no segment either',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(0, true) })]),
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false, difference: difference(9) })]),
    message: 'not applicable',
  },
  { name: 'an empty cluster', snapshot: snapshot(), message: 'not applicable' },
  {
    name: 'a view that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { difference: readFailed('timed out') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
  {
    name: 'tables that could not be read',
    snapshot: snapshot([], { tables: readFailed('the controller is away') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
    finding: 'the controller is away',
  },
]);

const unserved = (count: number) =>
  snapshot([table('t_OFFLINE', { difference: readOk(viewDifference(9, { unserved: sample(count, 't_0') })) })]);

cases('SEGMENTS_WITHOUT_ONLINE_REPLICA_CHECK', [
  { name: 'other differences', snapshot: unserved(0) },
  { name: 'one', snapshot: unserved(1), entities: ['t_OFFLINE'], finding: '1 segment has no online replica (`t_0`)' },
  { name: 'as many as allowed', snapshot: unserved(2), thresholds: { maxSegments: 2 } },
  { name: 'one more than allowed', snapshot: unserved(3), thresholds: { maxSegments: 2 }, entities: ['t_OFFLINE'] },
  {
    name: 'no external view',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(4, true) })]),
    entities: ['t_OFFLINE'],
    finding: 'no external view',
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false, difference: difference(4, true) })]),
    message: 'not applicable',
  },
  {
    name: 'a view that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { difference: readFailed('timed out') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
]);

const reload = (count: number, silent: string[] = [], unit: 'server' | 'segment' = 'server', oneReplica = false) =>
  readOk({ needed: { count, names: ['Server_a_8098'].slice(0, count) }, unit, silent, oneReplica });

cases('TABLE_SEGMENTS_RELOAD_CHECK', [
  { name: 'nothing to reload', snapshot: snapshot([table('t_OFFLINE', { reload: reload(0) })]) },
  {
    name: 'one server to reload',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1) })]),
    entities: ['t_OFFLINE'],
    finding: 'reload on 1 server',
  },
  {
    name: 'segments, if the engine reports only these',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1, [], 'segment') })]),
    entities: ['t_OFFLINE'],
    finding: '1 segment needs a reload',
  },
  {
    name: 'no segment of the replicas that an old engine version reports',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(0, [], 'segment', true) })]),
    message: 'this engine version reports one replica of each segment, another one in each run',
  },
  {
    name: 'a server that did not respond',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(0, ['Server_b_8098']) })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'Server_b_8098',
  },
  {
    name: 'both: the fault comes first and the check is evaluated',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1, ['Server_b_8098']) })]),
    entities: ['t_OFFLINE', 't_OFFLINE'],
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false, reload: reload(1) })]),
    message: 'not applicable',
  },
]);

const withSegments = (count: number, enabled = true) =>
  snapshot([table('t_OFFLINE', { enabled, assignment: readOk(assignment({ Server_a_8098: count })) })]);

cases('SEGMENT_COUNT_CHECK', [
  { name: '49,999', snapshot: withSegments(49_999) },
  { name: '50,000', snapshot: withSegments(50_000) },
  { name: '50,001', snapshot: withSegments(50_001), entities: ['t_OFFLINE'], finding: '50,001' },
  {
    name: '11 above a threshold of 10',
    snapshot: withSegments(11),
    thresholds: { maxSegments: 10 },
    entities: ['t_OFFLINE'],
  },
  { name: '10 at a threshold of 10', snapshot: withSegments(10), thresholds: { maxSegments: 10 } },
  { name: 'a disabled table', snapshot: withSegments(60_000, false), message: 'not applicable' },
  {
    name: 'an ideal state that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readFailed('no') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
  },
]);

const withSizes = (small: number, measured: number, incomplete?: string, completed = measured) =>
  snapshot([
    table('t_OFFLINE', {
      segments: readOk(segmentSummary({ completed })),
      size: readOk(sizes(small, measured, { incomplete })),
    }),
  ]);

cases(
  'SEGMENT_SIZE_CHECK',
  [
    { name: 'a quarter less one', snapshot: withSizes(24, 100) },
    { name: 'exactly a quarter', snapshot: withSizes(25, 100) },
    {
      name: 'one more than a quarter',
      snapshot: withSizes(26, 100),
      entities: ['t_OFFLINE'],
      finding: '26 of 100',
      threshold: 'at most 25 % below 5 MB',
    },
    { name: 'one of four', snapshot: withSizes(1, 4) },
    { name: 'two of four', snapshot: withSizes(2, 4), entities: ['t_OFFLINE'] },
    { name: 'the only one', snapshot: withSizes(1, 1), entities: ['t_OFFLINE'] },
    { name: 'no completed segment', snapshot: withSizes(0, 0), message: 'not applicable' },
    { name: 'a larger share allowed', snapshot: withSizes(50, 100), thresholds: { maxSmallFraction: 0.5 } },
    {
      name: 'no segment whose size a server reported',
      snapshot: withSizes(0, 0, 'no server reported the size of 3 of 3 segments'),
      entities: ['t_OFFLINE'],
      couldNotEvaluate: true,
    },
    { name: 'a few sizes missing that cannot make too many small', snapshot: withSizes(20, 95, 'are missing', 100) },
    {
      name: 'so many sizes missing that too many segments may be small',
      snapshot: withSizes(20, 94, 'are missing', 100),
      entities: ['t_OFFLINE'],
      couldNotEvaluate: true,
    },
    {
      name: 'some sizes missing and too many small among the rest',
      snapshot: withSizes(2, 4, 'sizes are missing'),
      entities: ['t_OFFLINE'],
      finding: 'sizes are missing',
    },
  ],
  {
    streams: ['ev_REALTIME', 'up_REALTIME'],
    databases: TABLES_OF_DATABASES.filter((name) => name !== 'orders_OFFLINE'),
  },
);

const outOfOrder = (count: number, config = {}) =>
  snapshot([
    table('t_OFFLINE', {
      config,
      segments: readOk(segmentSummary({ outOfOrder: { count, names: ['t_3'].slice(0, count) } })),
    }),
  ]);

cases(
  'SEGMENTS_TIME_PARTITION_CHECK',
  [
    { name: 'all in order', snapshot: outOfOrder(0) },
    { name: 'one that ends before its predecessor', snapshot: outOfOrder(1), entities: ['t_OFFLINE'], finding: 't_3' },
    {
      name: 'a table without a time column',
      snapshot: outOfOrder(1, { timeColumn: undefined }),
      message: 'not applicable',
    },
    { name: 'a dimension table', snapshot: outOfOrder(1, { isDimension: true }), message: 'not applicable' },
    {
      name: 'metadata that could not be read',
      snapshot: snapshot([table('t_OFFLINE', { segments: readFailed('no') })]),
      entities: ['t_OFFLINE'],
      couldNotEvaluate: true,
    },
  ],
  { streams: ['ev_REALTIME', 'up_REALTIME'] },
);

const orphaned = (unassigned: number, withoutMetadata: number) =>
  snapshot([
    table('t_OFFLINE', {
      segments: readOk(
        segmentSummary({
          orphans: readOk({ unassigned: sample(unassigned, 'a'), withoutMetadata: sample(withoutMetadata, 'b') }),
        }),
      ),
    }),
  ]);

cases('SEGMENT_METADATA_MISMATCH_CHECK', [
  { name: 'none', snapshot: orphaned(0, 0) },
  {
    name: 'metadata without ideal state',
    snapshot: orphaned(1, 0),
    entities: ['t_OFFLINE'],
    finding: '1 segment has metadata, although the ideal state does not have it (`a`)',
  },
  {
    name: 'both',
    snapshot: orphaned(2, 1_001),
    entities: ['t_OFFLINE', 't_OFFLINE'],
    finding: '1,001 segments have no metadata, although the ideal state has them (such as `b`)',
    message: '1 table has segments in only one of the ideal state and the metadata',
  },
  { name: 'as many as allowed', snapshot: orphaned(2, 2), thresholds: { maxSegments: 2 } },
  {
    name: 'a second read that failed',
    snapshot: snapshot([table('t_OFFLINE', { segments: readOk(segmentSummary({ orphans: readFailed('500') })) })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'again: 500',
  },
  {
    name: 'unread',
    snapshot: snapshot([table('t_OFFLINE', { segments: readFailed('timed out') })]),
    entities: ['t_OFFLINE'],
    couldNotEvaluate: true,
    finding: 'timed out',
  },
]);
