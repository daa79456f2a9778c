import type { ResultRecord } from '../result-store.ts';
import type { RowIndex } from '../row-index.ts';

/** What a page needs to know of a result before it reads its rows. A stored result never changes, so this never goes stale. */
export interface CachedResult {
  readonly record: ResultRecord;
  index: RowIndex | undefined;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const BYTES_PER_CHECKPOINT = 8;
const RECORD_OVERHEAD_BYTES = 512;

/** Records and indexes of the results that were read last, up to a bound in bytes. */
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
    // A Map keeps insertion order: the front is what was used longest ago.
    this.#entries.delete(requestId);
    this.#entries.set(requestId, entry);
    return entry.cached;
  }

  /** The same without counting as a use. */
  peek(requestId: string): CachedResult | undefined {
    return this.#entries.get(requestId)?.cached;
  }

  /** Keeps it where that takes the room of nothing that was used. */
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
