import type { FastifyRequest } from 'fastify';
import type { TableName } from '../../pinot/table-name.ts';
import { HttpError } from '../server/errors.ts';
import { isReadInPart } from '../server/reading.ts';

/** Actions whose calls show neither values nor statistics of rows. Names of segments have times of rows, and sizes and offsets are statistics. */
const WITHOUT_ROWS: ReadonlySet<string> = new Set([
  'CancelRebalance',
  'CreateInstancePartitions',
  'CreateSchema',
  'CreateTable',
  'DeleteIngestionMetrics',
  'DeleteInstancePartitions',
  'DeleteSchema',
  'DeleteTable',
  'DeleteTimeBoundary',
  'DisableTable',
  'EnableTable',
  'GetBroker',
  'GetInstance',
  'GetInstancePartitions',
  'GetSchedulerJobDetails',
  'GetSchema',
  'GetSchemasInfo',
  'GetState',
  'GetTable',
  'GetTableConfig',
  'GetTableConfigs',
  'GetTableLeader',
  'IngestFile',
  'RebuildBrokerResource',
  'ReloadSegment',
  'UpdateInstancePartitions',
  'UpdateSchema',
  'UpdateTableConfig',
  'UpdateTableConfigs',
  'UploadSegment',
  'ValidateSchema',
  'ValidateTableConfigs',
]);

/** Refuses a call that shows values or statistics of all rows of a table, of which the caller may read a part only. @throws {HttpError} 403 */
export function requireNoRows(request: FastifyRequest, actions: readonly string[], table: TableName): void {
  const action = actions.find((one) => !WITHOUT_ROWS.has(one));
  if (action === undefined || !isReadInPart(request, table)) return;
  throw new HttpError(
    403,
    `\`${table}\` may be read in part only, and calls with \`${action}\` show values or statistics of all its rows: use a query, or ask for \`Query\` on \`${table}\` without conditions`,
  );
}
