import { LruCache } from '../../platform/lru.ts';
import type { ResultRecord } from '../result-store.ts';
import { indexBytes, type RowIndex } from '../rows/row-index.ts';

/** What a page needs before its rows are read. Of a stored result only the expiration changes. */
export interface CachedResult {
  readonly record: ResultRecord;
  index: RowIndex | undefined;
  /** When the record was last changed, as the listing that it was read for reported; epoch milliseconds. */
  readonly modifiedMs?: number | undefined;
}

/** Records and indexes by request id; the weight is their size in bytes. */
export type RecordCache = LruCache<string, CachedResult>;

const MAX_BYTES = 16 * 1024 * 1024;
const RECORD_OVERHEAD_BYTES = 512;

export function createRecordCache(): RecordCache {
  return new LruCache({ maxWeight: MAX_BYTES, weightOf: bytesOf });
}

/** Size in memory, whether or not the index is loaded already. */
export function bytesOf({ record }: CachedResult): number {
  return RECORD_OVERHEAD_BYTES + textBytes(record) + indexBytes(record);
}

function textBytes(record: ResultRecord): number {
  const fields = [...record.fields, ...record.tableFields];
  return (
    2 *
    fields.reduce(
      (sum, field) => sum + field.name.length + field.value.length,
      record.dataSchema.length + (record.sql?.length ?? 0),
    )
  );
}
