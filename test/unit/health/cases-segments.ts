import { readFailed, readOk } from '../../../src/health/snapshot.ts';
import { assignment, segmentSummary, sizes, snapshot, table } from '../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const difference = (count: number, viewMissing = false) =>
  readOk({ viewMissing, segments: { count, names: count === 0 ? [] : ['t_0'] } });

cases('IDEAL_STATE_EV_MISMATCH_CHECK', [
  { is: 'no difference', snapshot: snapshot([table('t_OFFLINE', { difference: difference(0) })]) },
  {
    is: 'one segment that differs',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(1) })]),
    finds: ['t_OFFLINE'],
    tells: '1 segment has another state',
  },
  {
    is: 'no external view and segments',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(4, true) })]),
    finds: ['t_OFFLINE'],
    tells: 'no external view',
  },
  {
    is: 'no external view and no segment either',
    snapshot: snapshot([table('t_OFFLINE', { difference: difference(0, true) })]),
  },
  {
    is: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false, difference: difference(9) })]),
    says: 'not applicable',
  },
  { is: 'an empty cluster', snapshot: snapshot(), says: 'not applicable' },
  {
    is: 'a view that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { difference: readFailed('timed out') })]),
    finds: ['t_OFFLINE'],
    unread: true,
    tells: 'timed out',
  },
  {
    is: 'tables that could not be read',
    snapshot: snapshot([], { tables: readFailed('the controller is away') }),
    finds: ['pinot'],
    unread: true,
    tells: 'the controller is away',
  },
]);

const reload = (count: number, silent: string[] = [], unit: 'server' | 'segment' = 'server') =>
  readOk({ needed: { count, names: ['Server_a_8098'].slice(0, count) }, unit, silent });

cases('TABLE_SEGMENTS_RELOAD_CHECK', [
  { is: 'nothing to reload', snapshot: snapshot([table('t_OFFLINE', { reload: reload(0) })]) },
  {
    is: 'one server to reload',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1) })]),
    finds: ['t_OFFLINE'],
    tells: 'reload on 1 server',
  },
  {
    is: 'segments, where the engine tells only these',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1, [], 'segment') })]),
    finds: ['t_OFFLINE'],
    tells: '1 segment needs a reload',
  },
  {
    is: 'a server that did not answer',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(0, ['Server_b_8098']) })]),
    finds: ['t_OFFLINE'],
    unread: true,
    tells: 'Server_b_8098',
  },
  {
    is: 'both: the fault comes first and the check is evaluated',
    snapshot: snapshot([table('t_OFFLINE', { reload: reload(1, ['Server_b_8098']) })]),
    finds: ['t_OFFLINE', 't_OFFLINE'],
  },
  { is: 'a disabled table', snapshot: snapshot([table('t_OFFLINE', { enabled: false, reload: reload(1) })]) },
]);

const withSegments = (count: number, enabled = true) =>
  snapshot([table('t_OFFLINE', { enabled, assignment: readOk(assignment({ Server_a_8098: count })) })]);

cases('SEGMENT_COUNT_CHECK', [
  { is: '49,999', snapshot: withSegments(49_999) },
  { is: '50,000', snapshot: withSegments(50_000) },
  { is: '50,001', snapshot: withSegments(50_001), finds: ['t_OFFLINE'], tells: '50001' },
  {
    is: '11 above a threshold of 10',
    snapshot: withSegments(11),
    thresholds: { maxSegments: 10 },
    finds: ['t_OFFLINE'],
  },
  { is: '10 at a threshold of 10', snapshot: withSegments(10), thresholds: { maxSegments: 10 } },
  { is: 'a disabled table', snapshot: withSegments(60_000, false) },
  {
    is: 'an ideal state that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { assignment: readFailed('no') })]),
    finds: ['t_OFFLINE'],
    unread: true,
  },
]);

const withSizes = (small: number, measured: number, incomplete?: string) =>
  snapshot([table('t_OFFLINE', { size: readOk(sizes(small, measured, { incomplete })) })]);

cases('SEGMENT_SIZE_CHECK', [
  { is: 'a quarter less one', snapshot: withSizes(24, 100) },
  { is: 'exactly a quarter', snapshot: withSizes(25, 100) },
  { is: 'one more than a quarter', snapshot: withSizes(26, 100), finds: ['t_OFFLINE'], tells: '26 of 100' },
  { is: 'one of four', snapshot: withSizes(1, 4) },
  { is: 'two of four', snapshot: withSizes(2, 4), finds: ['t_OFFLINE'] },
  { is: 'the only one', snapshot: withSizes(1, 1), finds: ['t_OFFLINE'] },
  { is: 'no completed segment', snapshot: withSizes(0, 0), says: 'not applicable' },
  { is: 'a larger share allowed', snapshot: withSizes(50, 100), thresholds: { maxSmallFraction: 0.5 } },
  {
    is: 'no segment whose size a server told',
    snapshot: withSizes(0, 0, 'no server that holds them told the size of 3 of 3 segments'),
    finds: ['t_OFFLINE'],
    unread: true,
  },
  {
    is: 'some sizes missing and too many small among the rest',
    snapshot: withSizes(2, 4, 'sizes are missing'),
    finds: ['t_OFFLINE'],
    tells: 'sizes are missing',
  },
]);

const outOfOrder = (count: number, config = {}) =>
  snapshot([
    table('t_OFFLINE', {
      config,
      segments: readOk(segmentSummary({ outOfOrder: { count, names: ['t_3'].slice(0, count) } })),
    }),
  ]);

cases('SEGMENTS_TIME_PARTITION_CHECK', [
  { is: 'all in order', snapshot: outOfOrder(0) },
  { is: 'one that ends before its predecessor', snapshot: outOfOrder(1), finds: ['t_OFFLINE'], tells: 't_3' },
  { is: 'a table without a time column', snapshot: outOfOrder(1, { timeColumn: undefined }), says: 'not applicable' },
  { is: 'a dimension table', snapshot: outOfOrder(1, { isDimension: true }) },
  {
    is: 'metadata that could not be read',
    snapshot: snapshot([table('t_OFFLINE', { segments: readFailed('no') })]),
    finds: ['t_OFFLINE'],
    unread: true,
  },
]);
