import type { TableConfig } from '../../../src/health/snapshot.ts';
import { readFailed, readOk } from '../../../src/health/snapshot.ts';
import { schema, snapshot, table } from '../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const withConfig = (config: Partial<TableConfig>, more = {}) => snapshot([table('t_OFFLINE', { config })], more);

cases('SEGMENT_RETENTION_CHECK', [
  { is: 'both set', snapshot: withConfig({}) },
  { is: 'one day', snapshot: withConfig({ retentionTimeValue: '1' }) },
  { is: 'zero days', snapshot: withConfig({ retentionTimeValue: '0' }), finds: ['t_OFFLINE'], tells: '`0`' },
  { is: 'a negative value', snapshot: withConfig({ retentionTimeValue: '-1' }), finds: ['t_OFFLINE'] },
  { is: 'no number', snapshot: withConfig({ retentionTimeValue: 'many' }), finds: ['t_OFFLINE'] },
  {
    is: 'no unit',
    snapshot: withConfig({ retentionTimeUnit: undefined }),
    finds: ['t_OFFLINE'],
    tells: 'retentionTimeUnit',
  },
  { is: 'no value', snapshot: withConfig({ retentionTimeValue: undefined }), finds: ['t_OFFLINE'] },
  {
    is: 'neither, and a disabled table as well',
    snapshot: snapshot([
      table('t_OFFLINE', { enabled: false, config: { retentionTimeUnit: undefined, retentionTimeValue: undefined } }),
    ]),
    finds: ['t_OFFLINE'],
  },
  {
    is: 'a REFRESH table',
    snapshot: withConfig({ retentionTimeValue: undefined, isRefresh: true }),
    says: 'not applicable',
  },
  {
    is: 'a dimension table',
    snapshot: withConfig({ retentionTimeValue: undefined, isDimension: true }),
    says: 'not applicable',
  },
]);

cases('REPLICATION_CHECK', [
  { is: 'four', snapshot: withConfig({ replication: '4' }) },
  { is: 'three', snapshot: withConfig({ replication: '3' }) },
  { is: 'two', snapshot: withConfig({ replication: '2' }), finds: ['t_OFFLINE'], tells: 'is 2' },
  { is: 'none given', snapshot: withConfig({ replication: undefined }), finds: ['t_OFFLINE'], tells: 'is not set' },
  { is: 'no number', snapshot: withConfig({ replication: 'x' }), finds: ['t_OFFLINE'] },
  {
    is: 'two where settings ask for two',
    snapshot: withConfig({ replication: '2' }),
    thresholds: { minReplication: 2 },
  },
  {
    is: 'two where the cluster asks for two',
    snapshot: withConfig({ replication: '2' }, { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) }),
  },
  {
    is: 'one where the cluster asks for two',
    snapshot: withConfig({ replication: '1' }, { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) }),
    finds: ['t_OFFLINE'],
  },
  {
    is: 'settings rank above the cluster',
    snapshot: withConfig({ replication: '2' }, { clusterConfig: readOk({ 'controller.replication.threshold': '2' }) }),
    thresholds: { minReplication: 3 },
    finds: ['t_OFFLINE'],
  },
  {
    is: 'a threshold of the cluster that is none is not followed',
    snapshot: withConfig({ replication: '2' }, { clusterConfig: readOk({ 'controller.replication.threshold': '' }) }),
    finds: ['t_OFFLINE'],
  },
  { is: 'a dimension table', snapshot: withConfig({ replication: '1', isDimension: true }), says: 'not applicable' },
]);

const withColumns = (columns: number) => snapshot([], { schemas: readOk(new Map([['t', schema(columns)]])) });

cases('TABLE_COLUMN_COUNT_CHECK', [
  { is: '499', snapshot: withColumns(499) },
  { is: '500', snapshot: withColumns(500) },
  { is: '501', snapshot: withColumns(501), finds: ['t'], tells: '501 columns' },
  { is: 'no schema', snapshot: snapshot(), says: 'not applicable' },
  {
    is: 'schemas that could not be read',
    snapshot: snapshot([], { schemas: readFailed('no') }),
    finds: ['pinot'],
    unread: true,
  },
]);

const granular = (granularity: string, config: Partial<TableConfig> = {}) =>
  withConfig(config, { schemas: readOk(new Map([['t', schema(2, { ts: granularity, other: '1:MILLISECONDS' })]])) });

cases('TIME_COLUMN_GRANULARITY_CHECK', [
  { is: 'seconds', snapshot: granular('1:SECONDS') },
  { is: 'milliseconds', snapshot: granular('1:MILLISECONDS'), finds: ['t_OFFLINE'], tells: '`1:MILLISECONDS`' },
  { is: 'many milliseconds', snapshot: granular('15:MILLISECONDS'), finds: ['t_OFFLINE'] },
  { is: 'microseconds', snapshot: granular('1:MICROSECONDS'), finds: ['t_OFFLINE'] },
  { is: 'nanoseconds, in the newer spelling', snapshot: granular('NANOSECONDS|1'), finds: ['t_OFFLINE'] },
  { is: 'days, in the newer spelling', snapshot: granular('DAYS|1') },
  { is: 'a bare unit', snapshot: granular('milliseconds'), finds: ['t_OFFLINE'] },
  { is: 'another column that is finer', snapshot: granular('1:DAYS') },
  { is: 'no time column', snapshot: granular('1:MILLISECONDS', { timeColumn: undefined }), says: 'not applicable' },
  {
    is: 'a schema by another name',
    snapshot: withConfig(
      { schemaName: 's' },
      { schemas: readOk(new Map([['s', schema(1, { ts: '1:MILLISECONDS' })]])) },
    ),
    finds: ['t_OFFLINE'],
  },
  { is: 'no schema at all', snapshot: withConfig({}), finds: ['t_OFFLINE'], unread: true, tells: 'no schema `t`' },
]);
