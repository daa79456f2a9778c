import type { ExportFormat } from '../../results/export/format.ts';
import type { PaginatedQueries } from '../../results/submit/paginated-queries.ts';
import { isActive, type RunError, type RunStatus } from '../../results/runs/status.ts';
import type { PaginationSettings } from '../../results/settings.ts';
import type { QueryStatus } from './status-schemas.ts';

/** Parts that the status of a query needs. */
export interface StatusFields {
  readonly queries: Pick<PaginatedQueries, 'holder'>;
  readonly settings: () => PaginationSettings;
}

/** The status as responses have it. @param now epoch milliseconds */
export function queryStatus(status: RunStatus, { queries, settings }: StatusFields, now: number): QueryStatus {
  const { rowCount, tables, warnings, error, ...shared } = status;
  const { holder } = queries;
  const { pageSize, maxPageSize } = settings();
  const isReadable = status.state === 'done' && rowCount > 0;
  const first = `offset=0&numRows=${Math.min(pageSize, maxPageSize)}`;
  const until = isActive(status) ? now : status.endTimeMs;
  return {
    ...shared,
    ...(warnings !== undefined && { warnings: [...warnings] }),
    ...(error !== undefined && { error: writtenError(error) }),
    tables: tables.map(String),
    numRowsResultSet: rowCount,
    ...(until !== undefined && { elapsedMs: Math.max(0, until - status.submissionTimeMs) }),
    ...(isReadable && { nextOffsetParams: first, nextUrl: `/query/${status.requestId}/results?${first}` }),
    ...(status.state === 'done' && { downloads: downloadsOf(status.requestId) }),
    ...(holder !== undefined && { brokerHost: holder.host, brokerPort: holder.port }),
  };
}

function downloadsOf(requestId: string): NonNullable<QueryStatus['downloads']> {
  const url = (format: ExportFormat): string => `/query/${requestId}/results?format=${format}`;
  return { jsonl: url('jsonl'), csv: url('csv'), arrow: url('arrow'), parquet: url('parquet') };
}

function writtenError({ exceptions, ...error }: RunError): NonNullable<QueryStatus['error']> {
  return { ...error, ...(exceptions !== undefined && { exceptions: [...exceptions] }) };
}
