import { WHOLE_PAGE_BYTES } from './page.ts';
import { Spool } from './cursors/spool.ts';
import type { ResultReader, ResultRecord, ResultWriter, RowFile } from './result-store.ts';
import type { RowIndex } from './row-index.ts';

/** A reader that says when it is closed. */
export class TrackedReader implements ResultReader {
  readonly record: ResultRecord;
  /** Bytes of a page from the store that are in memory. */
  heldBytes = 0;
  readonly #inner: ResultReader;
  #spool: Spool | undefined;
  readonly #closed: (reader: TrackedReader) => void;
  #open = true;

  constructor(inner: ResultReader, closed: (reader: TrackedReader) => void) {
    this.record = inner.record;
    this.#inner = inner;
    this.#closed = closed;
  }

  /** Puts the rows of a page away with the reader, or when another page takes their place. */
  async keep(spool: Spool | undefined): Promise<void> {
    const before = this.#spool;
    this.#spool = spool;
    await before?.discard();
  }

  get knownIndex(): RowIndex | undefined {
    return this.#inner.knownIndex;
  }

  index(signal: AbortSignal): Promise<RowIndex> {
    return this.#inner.index(signal);
  }

  read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#inner.read(from, to, signal);
  }

  readNow(from: number, to: number): Uint8Array | undefined {
    return this.#inner.readNow?.(from, to);
  }

  get rowFile(): RowFile | undefined {
    return this.#inner.rowFile;
  }

  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#inner.stream(from, to, signal);
  }

  async close(reuse?: boolean): Promise<void> {
    if (this.#open) {
      this.#open = false;
      this.#closed(this);
    }
    await this.keep(undefined);
    await this.#inner.close(reuse);
  }
}

/**
 * Bytes of pages that may be held in memory while their callers read them. Beyond it pages are streamed in small pieces, so that callers who read
 * slowly cannot use up the memory, nor keep others waiting.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** Which results are being read, and how much of them is in memory for it. */
export class Readers {
  readonly #reading = new Map<string, number>();
  #heldBytes = 0;

  /** Bytes that one more page may hold in memory. */
  get room(): number {
    return Math.max(0, Math.min(WHOLE_PAGE_BYTES, MAX_HELD_BYTES - this.#heldBytes));
  }

  /** True while a page of the result is being sent by this gateway. */
  isBeingRead(requestId: string): boolean {
    return this.#reading.has(requestId);
  }

  /** Counts the reader in until it is closed. */
  tracked(reader: ResultReader): TrackedReader {
    const id = reader.record.requestId;
    this.#reading.set(id, (this.#reading.get(id) ?? 0) + 1);
    return new TrackedReader(reader, this.#untrack);
  }

  /** What the reader's page holds in memory, until another page or the end of the reader. */
  hold(reader: ResultReader, bytes: number): void {
    // Only readers from here are handed in; one of somebody else is not closed here either.
    if (!(reader instanceof TrackedReader)) return;
    this.#heldBytes += bytes - reader.heldBytes;
    reader.heldBytes = bytes;
  }

  /** A spool as large as there is room for. @param begin its part of the store */
  spool(begin: () => Promise<ResultWriter>): Spool {
    return new Spool(this.room, begin, (bytes) => {
      this.#heldBytes += bytes;
    });
  }

  readonly #untrack = (reader: TrackedReader): void => {
    this.hold(reader, 0);
    const id = reader.record.requestId;
    const left = (this.#reading.get(id) ?? 1) - 1;
    if (left === 0) this.#reading.delete(id);
    else this.#reading.set(id, left);
  };
}
