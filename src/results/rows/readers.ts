import { WHOLE_PAGE_BYTES } from './page.ts';
import type { ResultReader, ResultRecord } from '../result-store.ts';
import type { RowIndex } from './row-index.ts';

/** A reader that reports when it is closed. */
class TrackedReader implements ResultReader {
  readonly record: ResultRecord;
  readonly damage: ResultReader['damage'];
  readonly forget: ResultReader['forget'];
  /** Bytes of the current page that are in memory. */
  heldBytes = 0;
  readonly #inner: ResultReader;
  readonly #closed: (reader: TrackedReader) => void;
  #open = true;

  constructor(inner: ResultReader, closed: (reader: TrackedReader) => void) {
    this.record = inner.record;
    this.damage = inner.damage;
    this.forget = inner.forget;
    this.#inner = inner;
    this.#closed = closed;
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

  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#inner.stream(from, to, signal);
  }

  async close(reuse?: boolean): Promise<void> {
    if (this.#open) {
      this.#open = false;
      this.#closed(this);
    }
    await this.#inner.close(reuse);
  }
}

/**
 * Maximum bytes of pages in memory for all callers. Beyond it pages are streamed in small pieces, so that slow
 * clients can neither exhaust the memory nor block other clients.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** Tracks which results are being read and how much memory their pages use. */
export class Readers {
  readonly #reading = new Map<string, number>();
  #heldBytes = 0;

  /** Bytes that another page may use. */
  get room(): number {
    return Math.max(0, Math.min(WHOLE_PAGE_BYTES, MAX_HELD_BYTES - this.#heldBytes));
  }

  /** True while a page of the result is being sent by this gateway. */
  isBeingRead(requestId: string): boolean {
    return this.#reading.has(requestId);
  }

  /** Counts the reader until it is closed. */
  tracked(reader: ResultReader): TrackedReader {
    const id = reader.record.requestId;
    this.#reading.set(id, (this.#reading.get(id) ?? 0) + 1);
    return new TrackedReader(reader, this.#untrack);
  }

  /** Holds the memory of the reader's page before it is read. @returns false if there is no room for it */
  reserve(reader: ResultReader, bytes: number): boolean {
    if (bytes > this.room) return false;
    this.hold(reader, bytes);
    return true;
  }

  /** Sets the memory used by the reader's page, until the next page or the close. */
  hold(reader: ResultReader, bytes: number): void {
    // Other readers are not tracked, so their memory would never be released.
    if (!(reader instanceof TrackedReader)) return;
    this.#heldBytes += bytes - reader.heldBytes;
    reader.heldBytes = bytes;
  }

  readonly #untrack = (reader: TrackedReader): void => {
    this.hold(reader, 0);
    const id = reader.record.requestId;
    const left = (this.#reading.get(id) ?? 1) - 1;
    if (left === 0) this.#reading.delete(id);
    else this.#reading.set(id, left);
  };
}
