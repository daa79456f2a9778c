import { ENGINE_ID } from './request-id.ts';
import type { ResultRecord } from './result-store.ts';

const NUMBERS = ['submissionTimeMs', 'expirationTimeMs', 'rowCount', 'rowBytes', 'stride', 'checkpoints'] as const;
const STRINGS = ['requestId', 'brokerId', 'owner', 'dataSchema'] as const;
const ARRAYS = ['tables', 'fields', 'tableFields'] as const;

export function recordToJson(record: ResultRecord): string {
  return JSON.stringify(record);
}

/** @returns undefined if this version cannot have written it */
export function recordFromJson(json: string): ResultRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is ResultRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    record['version'] === 1 &&
    NUMBERS.every((name) => Number.isSafeInteger(record[name])) &&
    STRINGS.every((name) => typeof record[name] === 'string') &&
    ARRAYS.every((name) => Array.isArray(record[name])) &&
    (record['cursor'] === undefined || isCursor(record['cursor']))
  );
}

function isCursor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { url, requestId, submissionTimeMs, bytes } = value as Record<string, unknown>;
  return (
    typeof url === 'string' &&
    typeof requestId === 'string' &&
    ENGINE_ID.test(requestId) &&
    Number.isSafeInteger(submissionTimeMs) &&
    Number.isSafeInteger(bytes)
  );
}
