import { METADATA_FIELDS } from '../../results/rows/metadata.ts';
import type { Link } from '../server/operation.ts';

export const REQUEST_ID = '0a1b2c3d-00112233445566778899aabbccddee';
export const METADATA = Object.fromEntries(
  METADATA_FIELDS.map(([name, empty]) => [name, JSON.parse(empty) as unknown]),
);

export const PAGE = {
  resultTable: {
    dataSchema: { columnNames: ['city', 'orders'], columnDataTypes: ['STRING', 'LONG'] },
    rows: [['Oslo', 42]],
  },
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  numRowsResultSet: 2,
  offset: 0,
  numRows: 1,
  nextOffsetParams: 'offset=1&numRows=1',
  nextUrl: `/query/${REQUEST_ID}/results?offset=1&numRows=1`,
  exceptions: [],
  submissionTimeMs: 1_769_846_400_000,
  expirationTimeMs: 1_769_850_000_000,
  bytesWritten: 24,
  cursorResultWriteTimeMs: 12,
  cursorFetchTimeMs: 0,
};

export const CURSOR = {
  numRowsResultSet: 2,
  exceptions: [],
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  offset: 0,
  numRows: 2,
  submissionTimeMs: 1_769_846_400_000,
  expirationTimeMs: 1_769_850_000_000,
  bytesWritten: 24,
  tablesQueried: ['orders'],
};

export const ofResult = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: {
    requestId: '$response.body#/requestId',
    ...(operationId === 'getQueryResults' ? { offset: '$response.body#/offset' } : {}),
  },
});
export const RESULT_LINKS = {
  getQueryResults: ofResult('getQueryResults', 'Reads a page of the result.'),
  getQueryMetadata: ofResult('getQueryMetadata', 'Reads the metadata of the result.'),
  deleteStoredResult: ofResult('deleteStoredResult', 'Deletes the result.'),
};
export const STATUS = {
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  owner: 'srn2:user#ada@example.com',
  state: 'done',
  sql: 'SELECT "city", COUNT (*) AS "orders" FROM "orders" GROUP BY "city" LIMIT 10',
  tables: ['orders'],
  submissionTimeMs: 1_769_846_400_000,
  endTimeMs: 1_769_846_403_000,
  elapsedMs: 3000,
  numRowsResultSet: 2,
  bytes: 24,
  expirationTimeMs: 1_769_850_003_000,
  nextOffsetParams: 'offset=0&numRows=10000',
  nextUrl: `/query/${REQUEST_ID}/results?offset=0&numRows=10000`,
  downloads: Object.fromEntries(
    ['jsonl', 'csv', 'arrow', 'parquet'].map((format) => [format, `/query/${REQUEST_ID}/results?format=${format}`]),
  ),
};
export const RUNNING = {
  requestId: REQUEST_ID,
  brokerId: STATUS.brokerId,
  owner: STATUS.owner,
  state: 'running',
  sql: STATUS.sql,
  tables: STATUS.tables,
  submissionTimeMs: STATUS.submissionTimeMs,
  startTimeMs: STATUS.submissionTimeMs,
  elapsedMs: 0,
  numRowsResultSet: 0,
  bytes: 0,
};
export const SUBMIT = {
  accepted: { ok: 'With `async=true`: the query is accepted, and its state.', response: RUNNING },
  ok: 'With pagination the first page of the stored result; otherwise the response of the engine, unchanged.',
  response: PAGE,
  links: RESULT_LINKS,
};
