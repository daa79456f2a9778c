import type { ResultRecord } from '../result-store.ts';
import type { RowIndex } from '../row-index.ts';

/** What a page needs before its rows are read. Stored results never change, so an entry is never stale. */
export interface CachedResult {
  readonly record: ResultRecord;
  index: RowIndex | undefined;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const BYTES_PER_CHECKPOINT = 8;
const RECORD_OVERHEAD_BYTES = 512;

/** LRU cache of records and indexes, bounded in bytes. */
export class ResultCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { readonly cached: CachedResult; readonly bytes: number }>();
  #bytes = 0;

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get(requestId: string): CachedResult | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return undefined;
    // A Map keeps insertion order: the first entry is the least recently used.
    this.#entries.delete(requestId);
    this.#entries.set(requestId, entry);
    return entry.cached;
  }

  /** Like `get`, but does not count as a use. */
  peek(requestId: string): CachedResult | undefined {
    return this.#entries.get(requestId)?.cached;
  }

  /** Adds an entry only if no entry that was used must be evicted for it. */
  offer(cached: CachedResult): void {
    if (this.#bytes + bytesOf(cached) <= this.#maxBytes) this.set(cached);
  }

  set(cached: CachedResult): void {
    const { record } = cached;
    this.delete(record.requestId);
    const bytes = bytesOf(cached);
    this.#entries.set(record.requestId, { cached, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(requestId: string): void {
    this.#bytes -= this.#entries.get(requestId)?.bytes ?? 0;
    this.#entries.delete(requestId);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}

function bytesOf({ record }: CachedResult): number {
  return RECORD_OVERHEAD_BYTES + textBytes(record) + record.checkpoints * BYTES_PER_CHECKPOINT;
}

function textBytes(record: ResultRecord): number {
  const fields = [...record.fields, ...record.tableFields];
  return 2 * fields.reduce((sum, field) => sum + field.name.length + field.value.length, record.dataSchema.length);
}
