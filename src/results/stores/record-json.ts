import { crc32 } from 'node:zlib';
import { damaged, type QueryError } from '../errors.ts';
import { indexBytes, MAX_CHECKPOINTS, storedRowBytes } from '../rows/row-index.ts';
import type { ResultRecord, StoredResultSummary } from '../result-store.ts';

const NUMBERS = ['submissionTimeMs', 'expirationTimeMs', 'rowCount', 'rowBytes', 'stride', 'checkpoints'] as const;
const STRINGS = ['requestId', 'brokerId', 'owner', 'dataSchema'] as const;
const ARRAYS = ['tables', 'fields', 'tableFields'] as const;

/** A block is read and decompressed whole; all releases write blocks of 64 KB. */
const MAX_BLOCK_BYTES = 1024 * 1024;
/** Bounds the index, which is read whole: 8 bytes for each block. */
const MAX_ROW_BYTES = 1024 ** 4;

const NATIVE = '`olap.broker.pagination.native`';

/** The last field, the checksum of the text before it. Records of releases without checksums have none. */
const CHECKSUM = /,"checksum":"([\da-f]{8})"\}$/;

/** The record as JSON, with a checksum as the last field. */
export function recordToJson(record: ResultRecord): string {
  const text = JSON.stringify(record).slice(0, -1);
  return `${text},"checksum":"${checksumOf(text)}"}`;
}

/** @throws {QueryError} damaged if this version cannot have written it */
export function recordFromJson(json: string): ResultRecord {
  const checksum = CHECKSUM.exec(json);
  const text = checksum === null ? json : `${json.slice(0, checksum.index)}}`;
  if (checksum !== null && checksum[1] !== checksumOf(text.slice(0, -1)))
    throw damaged('its record does not match its checksum');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged('its record is not valid JSON');
  }
  if (!isRecord(value)) throw damaged('its record is not valid');
  if ('cursor' in value) throw damaged(`its rows were left in Pinot, by a property that no longer exists (${NATIVE})`);
  return value;
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** The damage of a result whose stored rows and index have another length than its record says. @param bytes of both */
export function wrongSize(record: ResultRecord, bytes: number): QueryError | undefined {
  const wanted = storedRowBytes(record) + indexBytes(record);
  return bytes === wanted ? undefined : damaged(`its rows have ${bytes} bytes instead of ${wanted}`);
}

/** The damage of rows without a record. */
export const RECORD_MISSING = 'its record is missing';

/** How long a result without a readable record is kept: a newer release may have written it. */
const UNREADABLE_KEPT_MS = 24 * 3_600_000;

/** A listing entry for a result whose record cannot be read. @param modifiedMs time of the last change of its record, epoch milliseconds */
export function unreadableResult(
  found: Omit<StoredResultSummary, 'record' | 'damaged'> & {
    readonly requestId: string;
    readonly modifiedMs: number;
    readonly reason: string;
  },
): StoredResultSummary {
  const { requestId, modifiedMs, reason, bytes, dataFile, metadataFile } = found;
  const record: ResultRecord = {
    version: 1,
    requestId,
    brokerId: '',
    owner: '',
    tables: [],
    submissionTimeMs: modifiedMs,
    expirationTimeMs: modifiedMs + UNREADABLE_KEPT_MS,
    rowCount: 0,
    rowBytes: 0,
    stride: 1,
    checkpoints: 0,
    dataSchema: '{}',
    tableFields: [],
    fields: [],
  };
  return { record, bytes, dataFile, metadataFile, damaged: reason };
}

function isRecord(value: unknown): value is ResultRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    record['version'] === 1 &&
    NUMBERS.every((name) => isCount(record[name])) &&
    record['stride'] !== 0 &&
    (record['checkpoints'] as number) <= MAX_CHECKPOINTS &&
    (record['rowBytes'] as number) <= MAX_ROW_BYTES &&
    STRINGS.every((name) => typeof record[name] === 'string') &&
    ARRAYS.every((name) => Array.isArray(record[name])) &&
    areTexts(record['tables']) &&
    isJson(record['dataSchema'] as string) &&
    [record['fields'], record['tableFields']].every(areFields) &&
    areAdditions(record)
  );
}

/** Fields that records of earlier releases do not have. */
function areAdditions(record: Record<string, unknown>): boolean {
  const { sql, storedTimeMs, warnings, checksums, compression, conditions, logicalTables } = record;
  return (
    (checksums === undefined || areChecksums(checksums, record['rowBytes'] as number)) &&
    (compression === undefined || isCompression(record)) &&
    (conditions === undefined || areConditions(conditions)) &&
    (logicalTables === undefined || areLogicalTables(logicalTables)) &&
    (sql === undefined || typeof sql === 'string') &&
    (storedTimeMs === undefined || Number.isSafeInteger(storedTimeMs)) &&
    (warnings === undefined || areTexts(warnings))
  );
}

function areConditions(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((one) => {
    const { table, id } = (one ?? {}) as Record<string, unknown>;
    return typeof table === 'string' && typeof id === 'string';
  });
}

function areLogicalTables(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((one) => {
    const { table, tables } = (one ?? {}) as Record<string, unknown>;
    return typeof table === 'string' && (tables === undefined || areTexts(tables));
  });
}

/** Sizes and times; others would become ranges that no bucket has. */
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function areFields(value: unknown): boolean {
  return (value as readonly unknown[]).every((field) => {
    const { name, value: json } = (field ?? {}) as Record<string, unknown>;
    return typeof name === 'string' && typeof json === 'string';
  });
}

/** Responses contain the text as it is. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @param rowBytes size of the rows */
function areChecksums(value: unknown, rowBytes: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { blockBytes, blocks, index } = value as Record<string, unknown>;
  return (
    isCount(blockBytes) &&
    isCount(index) &&
    (blockBytes as number) > 0 &&
    (blockBytes as number) <= MAX_BLOCK_BYTES &&
    blocks === Math.ceil(rowBytes / (blockBytes as number))
  );
}

/** Rows are compressed in the blocks of their checksums. */
function isCompression({ compression, checksums }: Record<string, unknown>): boolean {
  if (typeof compression !== 'object' || compression === null || checksums === undefined) return false;
  const { coding, bytes } = compression as Record<string, unknown>;
  return coding === 'zstd' && isCount(bytes);
}
