import type { TableConfig } from '../../../../src/health/snapshot.ts';
import { readFailed, readOk } from '../../../../src/health/snapshot.ts';
import { schema, snapshot, table } from '../../../builders/snapshot.ts';
import { cases, TABLES_OF_DATABASES } from './check-cases.ts';

const withConfig = (config: Partial<TableConfig>, more = {}) => snapshot([table('t_OFFLINE', { config })], more);

cases(
  'SEGMENT_RETENTION_CHECK',
  [
    { name: 'both set', snapshot: withConfig({}) },
    { name: 'one day', snapshot: withConfig({ retentionTimeValue: '1' }) },
    { name: 'zero days', snapshot: withConfig({ retentionTimeValue: '0' }), entities: ['t_OFFLINE'], finding: '`0`' },
    {
      name: 'a negative value',
      snapshot: withConfig({ retentionTimeValue: '-1', retentionTimeUnit: 'DAYS' }),
      entities: ['t_OFFLINE'],
      observed: '-1 DAYS',
    },
    {
      name: 'a number that Pinot does not parse',
      snapshot: withConfig({ retentionTimeValue: '1e3' }),
      entities: ['t_OFFLINE'],
      finding: 'Pinot ignores the `retentionTimeValue` `1e3`',
    },
    {
      name: 'a unit that Pinot does not know',
      snapshot: withConfig({ retentionTimeUnit: 'FORTNIGHTS' }),
      entities: ['t_OFFLINE'],
      finding: '`FORTNIGHTS`, which is no unit of time',
    },
    { name: 'a unit in lower case', snapshot: withConfig({ retentionTimeUnit: 'days' }) },
    { name: 'no number', snapshot: withConfig({ retentionTimeValue: 'many' }), entities: ['t_OFFLINE'] },
    {
      name: 'no unit',
      snapshot: withConfig({ retentionTimeUnit: undefined }),
      entities: ['t_OFFLINE'],
      finding: 'retentionTimeUnit',
    },
    { name: 'no value', snapshot: withConfig({ retentionTimeValue: undefined }), entities: ['t_OFFLINE'] },
    {
      name: 'neither, and a disabled table as well',
      snapshot: snapshot([
        table('t_OFFLINE', { enabled: false, config: { retentionTimeUnit: undefined, retentionTimeValue: undefined } }),
      ]),
      entities: ['t_OFFLINE'],
      observed: 'no value no unit',
    },
    {
      name: 'a REFRESH table',
      snapshot: withConfig({ retentionTimeValue: undefined, isRefresh: true }),
      message: 'not applicable',
    },
    {
      name: 'a dimension table',
      snapshot: withConfig({ retentionTimeValue: undefined, isDimension: true }),
      message: 'not applicable',
    },
  ],
  {
    streams: ['dd_REALTIME', 'ev_REALTIME', 'up_REALTIME'],
    databases: TABLES_OF_DATABASES.filter((name) => /^(?:log|sales)/u.test(name)),
  },
);

cases(
  'REPLICATION_CHECK',
  [
    { name: 'four', snapshot: withConfig({ replication: '4' }) },
    { name: 'three', snapshot: withConfig({ replication: '3' }) },
    {
      name: 'two replica groups, which override the configured three',
      snapshot: withConfig({
        replication: '3',
        instanceAssignments: [{ name: 'OFFLINE', poolBased: false, replicaGroupBased: true, replicaGroups: 2 }],
      }),
      entities: ['t_OFFLINE'],
      finding: 'the replication is 2: the instance assignment `OFFLINE` has as many replica groups',
      observed: '2',
    },
    {
      name: 'two replica groups of a storage tier',
      snapshot: withConfig({
        replication: '3',
        instanceAssignments: [{ name: 'cold', poolBased: false, replicaGroupBased: true, replicaGroups: 2 }],
      }),
    },
    { name: 'two', snapshot: withConfig({ replication: '2' }), entities: ['t_OFFLINE'], finding: 'is 2' },
    {
      name: 'none given',
      snapshot: withConfig({ replication: undefined }),
      entities: ['t_OFFLINE'],
      finding: 'is not set',
    },
    { name: 'no number', snapshot: withConfig({ replication: 'x' }), entities: ['t_OFFLINE'] },
    {
      name: 'two if the settings require two',
      snapshot: withConfig({ replication: '2' }),
      thresholds: { minReplication: 2 },
    },
    {
      name: 'two if the cluster requires two',
      snapshot: withConfig(
        { replication: '2' },
        { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) },
      ),
    },
    {
      name: 'one if the cluster requires two',
      snapshot: withConfig(
        { replication: '1' },
        { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) },
      ),
      entities: ['t_OFFLINE'],
    },
    {
      name: 'settings rank above the cluster',
      snapshot: withConfig(
        { replication: '2' },
        { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) },
      ),
      thresholds: { minReplication: 3 },
      entities: ['t_OFFLINE'],
    },
    {
      name: 'two below the settings, although the threshold of the cluster could not be read',
      snapshot: withConfig({ replication: '2' }, { clusterConfig: readFailed('no') }),
      thresholds: { minReplication: 3 },
      entities: ['t_OFFLINE'],
      finding: 'is 2',
    },
    {
      name: 'two as the settings require, although the threshold of the cluster could not be read',
      snapshot: withConfig({ replication: '2' }, { clusterConfig: readFailed('no') }),
      thresholds: { minReplication: 2 },
    },
    {
      name: 'a threshold of the cluster that could not be read',
      snapshot: withConfig({ replication: '2' }, { clusterConfig: readFailed('no') }),
      entities: ['pinot'],
      couldNotEvaluate: true,
    },
    {
      name: 'a threshold of the cluster that is none is not followed',
      snapshot: withConfig({ replication: '2' }, { clusterConfig: readOk({ 'controller.replication.threshold': '' }) }),
      entities: ['t_OFFLINE'],
    },
    {
      name: 'a dimension table',
      snapshot: withConfig({ replication: '1', isDimension: true }),
      message: 'not applicable',
    },
  ],
  { streams: ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'], databases: TABLES_OF_DATABASES },
);

const withColumns = (columns: number) => snapshot([], { schemas: readOk(new Map([['t', schema(columns)]])) });

cases('TABLE_COLUMN_COUNT_CHECK', [
  { name: '499', snapshot: withColumns(499) },
  { name: '500', snapshot: withColumns(500) },
  { name: '501', snapshot: withColumns(501), entities: ['t'], finding: '501 columns' },
  { name: 'no schema', snapshot: snapshot(), message: 'not applicable' },
  {
    name: 'schemas that could not be read',
    snapshot: snapshot([], { schemas: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const granular = (granularity: string, config: Partial<TableConfig> = {}) =>
  withConfig(config, { schemas: readOk(new Map([['t', schema(2, { ts: granularity, other: '1:MILLISECONDS' })]])) });

cases(
  'TIME_COLUMN_GRANULARITY_CHECK',
  [
    { name: 'seconds', snapshot: granular('1:SECONDS') },
    {
      name: 'milliseconds',
      snapshot: granular('1:MILLISECONDS'),
      entities: ['t_OFFLINE'],
      finding: '`1:MILLISECONDS`',
    },
    { name: 'many milliseconds', snapshot: granular('15:MILLISECONDS'), entities: ['t_OFFLINE'] },
    { name: 'microseconds', snapshot: granular('1:MICROSECONDS'), entities: ['t_OFFLINE'] },
    { name: 'nanoseconds, in the newer spelling', snapshot: granular('NANOSECONDS|1'), entities: ['t_OFFLINE'] },
    { name: 'days, in the newer spelling', snapshot: granular('DAYS|1') },
    { name: 'a bare unit', snapshot: granular('milliseconds'), entities: ['t_OFFLINE'] },
    { name: 'another column that is finer', snapshot: granular('1:DAYS') },
    {
      name: 'no time column',
      snapshot: granular('1:MILLISECONDS', { timeColumn: undefined }),
      message: 'not applicable',
    },
    {
      name: 'a schema by another name',
      snapshot: withConfig(
        { schemaName: 's' },
        { schemas: readOk(new Map([['s', schema(1, { ts: '1:MILLISECONDS' })]])) },
      ),
      entities: ['t_OFFLINE'],
    },
    {
      name: 'no schema at all',
      snapshot: withConfig({}, { schemas: readOk(new Map()) }),
      message: 'nothing to judge otherwise; not judged: `t_OFFLINE` (see TABLE_CONSISTENCY_CHECK)',
    },
  ],
  { streams: ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'] },
);
