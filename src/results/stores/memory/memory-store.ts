import { QueryError } from '../../errors.ts';
import type {
  ResultReader,
  ResultRecord,
  ResultStore,
  ResultWriter,
  StoredResultSummary,
  StoreSpace,
} from '../../result-store.ts';
import type { RowIndex } from '../../rows/row-index.ts';
import type { DownloadName, DownloadReader, DownloadWriter, StoredDownloads } from '../../stored-downloads.ts';
import { MemoryNotes } from './memory-notes.ts';

/** Small chunks are copied into blocks of this size, so that a result does not consist of thousands of views. */
const BLOCK_BYTES = 256 * 1024;
/** Estimated size of a record in addition to its JSON fields. */
const RECORD_OVERHEAD_BYTES = 4096;

interface Stored {
  readonly record: ResultRecord;
  readonly rows: MemoryBlocks;
  readonly index: RowIndex;
  /** Without those of the downloads. */
  readonly bytes: number;
  readonly downloads: Map<DownloadName, StoredFile>;
}

interface StoredFile {
  readonly content: MemoryBlocks;
  readonly bytes: number;
}

/** Results in process memory, up to a limit. For evaluation: a restart loses them. */
export class MemoryStore implements ResultStore {
  readonly local = true;
  readonly notes = new MemoryNotes();
  readonly downloads: StoredDownloads = {
    begin: async (requestId, name) => this.#beginDownload(requestId, name),
    open: async (requestId, name) => this.#openDownload(requestId, name),
    delete: async (requestId, name) => void this.#putDownload(requestId, name, undefined),
  };
  readonly capacityBytes: number;
  readonly #results = new Map<string, Stored>();
  #usedBytes = 0;

  constructor(options: { maxBytes: number }) {
    this.capacityBytes = options.maxBytes;
  }

  /** Bytes of stored results and of results being written. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  space(): StoreSpace {
    return { capacityBytes: this.capacityBytes, freeBytes: this.capacityBytes - this.#usedBytes };
  }

  async start(): Promise<void> {}

  async begin(): Promise<ResultWriter> {
    return new MemoryWriter(
      (bytes) => this.#take(bytes),
      (bytes) => {
        this.#usedBytes -= bytes;
      },
      (stored) => {
        this.#results.set(stored.record.requestId, stored);
      },
    );
  }

  async open(requestId: string): Promise<ResultReader | undefined> {
    const stored = this.#results.get(requestId);
    return stored === undefined ? undefined : new MemoryReader(stored);
  }

  async renew(record: ResultRecord): Promise<void> {
    const stored = this.#results.get(record.requestId);
    if (stored !== undefined) this.#results.set(record.requestId, { ...stored, record });
  }

  async *list(): AsyncIterable<StoredResultSummary> {
    for (const stored of this.#results.values()) {
      const { record } = stored;
      const bytes = bytesOf(stored);
      const at = `memory://${record.brokerId}/${record.requestId}`;
      yield { record, bytes, dataFile: `${at}/resultTable`, metadataFile: `${at}/response` };
    }
  }

  async delete(requestId: string): Promise<boolean> {
    const stored = this.#results.get(requestId);
    if (stored === undefined) return false;
    this.#results.delete(requestId);
    this.#usedBytes -= bytesOf(stored);
    return true;
  }

  async close(): Promise<void> {
    this.#results.clear();
    this.#usedBytes = 0;
  }

  #beginDownload(requestId: string, name: DownloadName): DownloadWriter {
    const content = new MemoryBlocks();
    let bytes = 0;
    return {
      write: async (piece) => {
        this.#take(piece.length);
        bytes += piece.length;
        content.append(piece);
      },
      commit: async () => {
        content.finish();
        if (!this.#putDownload(requestId, name, { content, bytes })) this.#usedBytes -= bytes;
      },
      discard: async () => {
        this.#usedBytes -= bytes;
        bytes = 0;
      },
    };
  }

  /** @returns false if there is no such result */
  #putDownload(requestId: string, name: DownloadName, file: StoredFile | undefined): boolean {
    const downloads = this.#results.get(requestId)?.downloads;
    this.#usedBytes -= downloads?.get(name)?.bytes ?? 0;
    if (file === undefined) downloads?.delete(name);
    else downloads?.set(name, file);
    return downloads !== undefined;
  }

  #openDownload(requestId: string, name: DownloadName): DownloadReader | undefined {
    const file = this.#results.get(requestId)?.downloads.get(name);
    if (file === undefined) return undefined;
    return {
      bytes: file.bytes,
      async *stream(from, to) {
        yield* file.content.slice(from, to);
      },
      close: async () => undefined,
    };
  }

  #take(bytes: number): void {
    if (this.#usedBytes + bytes > this.capacityBytes) {
      throw new QueryError(
        'store-full',
        `no space for the result: the memory store uses ${this.#usedBytes} of ${this.capacityBytes} bytes. ` +
          'Delete unused results, request fewer rows or columns, or set `olap.broker.pagination.protocol` to another store',
      );
    }
    this.#usedBytes += bytes;
  }
}

function bytesOf({ bytes, downloads }: Stored): number {
  return [...downloads.values()].reduce((sum, file) => sum + file.bytes, bytes);
}

class MemoryWriter implements ResultWriter {
  readonly #take: (bytes: number) => void;
  readonly #give: (bytes: number) => void;
  readonly #publish: (stored: Stored) => void;
  readonly #rows = new MemoryBlocks();
  #index: RowIndex | undefined;
  #taken = 0;

  constructor(take: (bytes: number) => void, give: (bytes: number) => void, publish: (stored: Stored) => void) {
    this.#take = take;
    this.#give = give;
    this.#publish = publish;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#reserve(bytes.length);
    this.#rows.append(bytes);
  }

  async seal(index: RowIndex): Promise<void> {
    this.#reserve(index.checkpoints.byteLength);
    this.#rows.finish();
    // Bytes in memory need no checksums.
    const { stride, checkpoints } = index;
    this.#index = { stride, checkpoints };
  }

  async *read(from: number, to: number): AsyncIterable<Uint8Array> {
    yield* this.#rows.slice(from, to);
  }

  async commit(record: ResultRecord): Promise<ResultReader> {
    if (this.#index === undefined) throw new Error('the result must be sealed before it is committed');
    this.#reserve(RECORD_OVERHEAD_BYTES + 2 * JSON.stringify(record).length);
    const stored = { record, rows: this.#rows, index: this.#index, bytes: this.#taken, downloads: new Map() };
    this.#taken = 0;
    this.#publish(stored);
    return new MemoryReader(stored);
  }

  async discard(): Promise<void> {
    this.#give(this.#taken);
    this.#taken = 0;
  }

  #reserve(bytes: number): void {
    this.#take(bytes);
    this.#taken += bytes;
  }
}

class MemoryReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #stored: Stored;

  constructor(stored: Stored) {
    this.record = stored.record;
    this.#stored = stored;
  }

  get knownIndex(): RowIndex {
    return this.#stored.index;
  }

  async index(): Promise<RowIndex> {
    return this.#stored.index;
  }

  async read(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.#stored.rows.slice(from, to);
  }

  async *stream(from: number, to: number): AsyncIterable<Uint8Array> {
    yield* this.#stored.rows.slice(from, to);
  }

  async close(): Promise<void> {}
}

/** Bytes in blocks of equal size, except the last. */
class MemoryBlocks {
  readonly #blocks: Uint8Array[] = [];
  #last = new Uint8Array(0);
  #lastLength = 0;

  append(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      if (this.#lastLength === this.#last.length) {
        this.#last = new Uint8Array(BLOCK_BYTES);
        this.#lastLength = 0;
        this.#blocks.push(this.#last);
      }
      const take = Math.min(bytes.length - from, this.#last.length - this.#lastLength);
      this.#last.set(bytes.subarray(from, from + take), this.#lastLength);
      this.#lastLength += take;
      from += take;
    }
  }

  /** Frees the unused part of the last block. */
  finish(): void {
    if (this.#blocks.length > 0) this.#blocks[this.#blocks.length - 1] = this.#last.slice(0, this.#lastLength);
  }

  slice(from: number, to: number): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    for (let at = from; at < to;) {
      const block = Math.floor(at / BLOCK_BYTES);
      const start = at - block * BLOCK_BYTES;
      const end = Math.min(BLOCK_BYTES, start + to - at);
      pieces.push((this.#blocks[block] as Uint8Array).subarray(start, end));
      at += end - start;
    }
    return pieces;
  }
}
