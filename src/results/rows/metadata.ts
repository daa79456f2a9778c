import type { HolderAddress } from './page.ts';
import type { ResultRecord, StoredResultSummary } from '../result-store.ts';

/** Types of metadata fields in the specification, as the JSON default for absent fields and fields of another type. */
const STRING = '""';
const ARRAY = '[]';
const OBJECT = '{}';
const BOOLEAN = 'false';
const INTEGER = '0';

/** Fields of a query metadata item, in the specification's order. */
export const METADATA_FIELDS: readonly (readonly [name: string, empty: string])[] = [
  ['requestId', STRING],
  ['brokerId', STRING],
  ['exceptions', ARRAY],
  ['segmentStatistics', ARRAY],
  ['traceInfo', OBJECT],
  ['numGroupsLimitReached', BOOLEAN],
  ['maxRowsInJoinReached', BOOLEAN],
  ['partialResult', BOOLEAN],
  ...[
    'numServersQueried',
    'numServersResponded',
    'numSegmentsQueried',
    'numSegmentsProcessed',
    'numSegmentsMatched',
    'numConsumingSegmentsQueried',
    'numConsumingSegmentsProcessed',
    'numConsumingSegmentsMatched',
    'numDocsScanned',
    'numEntriesScannedInFilter',
    'numEntriesScannedPostFilter',
    'totalDocs',
    'timeUsedMs',
    'offlineThreadCpuTimeNs',
    'realtimeThreadCpuTimeNs',
    'offlineSystemActivitiesCpuTimeNs',
    'realtimeSystemActivitiesCpuTimeNs',
    'offlineResponseSerializationCpuTimeNs',
    'realtimeResponseSerializationCpuTimeNs',
    'offlineTotalCpuTimeNs',
    'realtimeTotalCpuTimeNs',
    'brokerReduceTimeMs',
    'numRowsResultSet',
    'minConsumingFreshnessTimeMs',
    'explainPlanNumEmptyFilterSegments',
    'explainPlanNumMatchAllFilterSegments',
    'numSegmentsPrunedByServer',
    'numSegmentsPrunedInvalid',
    'numSegmentsPrunedByLimit',
    'numSegmentsPrunedByValue',
    'numSegmentsPrunedByBroker',
  ].map((name) => [name, INTEGER] as const),
];

/** Response of the metadata endpoint: a JSON array with one item; values keep the engine's spelling. */
export function metadataJson(record: ResultRecord): string {
  const known = new Map(record.fields.map((field) => [field.name, field.value]));
  known.set('requestId', JSON.stringify(record.requestId));
  known.set('brokerId', JSON.stringify(record.brokerId));
  known.set('numRowsResultSet', String(record.rowCount));
  const fields = METADATA_FIELDS.map(([name, empty]) => {
    const value = known.get(name);
    return `${JSON.stringify(name)}:${value !== undefined && typeOf(value) === typeOf(empty) ? value : empty}`;
  });
  return `[{${fields.join(',')}}]`;
}

/** Fields that the gateway sets itself, because those of the engine describe another store or one page. */
const CURSOR_FIELDS: ReadonlySet<string> = new Set([
  'requestId',
  'brokerId',
  'numRowsResultSet',
  'offset',
  'numRows',
  'submissionTimeMs',
  'expirationTimeMs',
  'bytesWritten',
  'brokerHost',
  'brokerPort',
  'exceptions',
  'tablesQueried',
]);

/** The metadata of a result as Pinot writes that of a cursor: one JSON object with the engine's statistics. */
export function cursorMetadataJson(record: ResultRecord, holder: HolderAddress | undefined): string {
  const own = {
    numRowsResultSet: record.rowCount,
    exceptions: [],
    requestId: record.requestId,
    brokerId: record.brokerId,
    offset: 0,
    numRows: record.rowCount,
    submissionTimeMs: record.submissionTimeMs,
    expirationTimeMs: record.expirationTimeMs,
    bytesWritten: record.rowBytes,
    tablesQueried: record.tables,
    ...(holder !== undefined && { brokerHost: holder.host, brokerPort: holder.port }),
  };
  const others = record.fields
    .filter(({ name }) => !CURSOR_FIELDS.has(name))
    .map(({ name, value }) => `,${JSON.stringify(name)}:${value}`);
  return `${JSON.stringify(own).slice(0, -1)}${others.join('')}}`;
}

/** `{`, `[`, `"`, `b` for booleans, `n` for numbers, `-` for null. */
function typeOf(json: string): string {
  const first = json.charAt(0);
  if (first === 't' || first === 'f') return 'b';
  if (first === 'n') return '-';
  return first === '-' || (first >= '0' && first <= '9') ? 'n' : first;
}

/** An entry of the listing as in the specification; `owner` and `bytes` are additions. */
export interface ListingItem {
  readonly requestId: string;
  readonly brokerId: string;
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly responseMetadata: readonly {
    readonly type: string;
    readonly numRows: number;
    readonly dataFile: string;
    readonly metadataFile: string;
  }[];
  /** SRN of the principal that submitted the query. */
  readonly owner: string;
  /** Size of the result in the store. */
  readonly bytes: number;
  /** Why the result cannot be read. */
  readonly damaged?: string;
}

export function listingItem({ record, bytes, dataFile, metadataFile, damaged }: StoredResultSummary): ListingItem {
  const { requestId, brokerId, submissionTimeMs, expirationTimeMs, rowCount, owner } = record;
  return {
    requestId,
    brokerId,
    submissionTimeMs,
    expirationTimeMs,
    responseMetadata: [{ type: 'resultTable', numRows: rowCount, dataFile, metadataFile }],
    owner,
    bytes,
    ...(damaged !== undefined && { damaged }),
  };
}
