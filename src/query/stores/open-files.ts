import { fstatSync } from 'node:fs';
import { closeFile } from './file-io.ts';
import type { BufferPool } from './buffer-pool.ts';
import { ReadAhead } from './read-ahead.ts';
import type { CachedResult } from './result-cache.ts';

/** A file of rows that is open, and what is known of its result. */
export interface OpenFile {
  readonly descriptor: number;
  readonly cached: CachedResult;
  /** What was read around the last small page. */
  readonly ahead: ReadAhead;
}

interface Entry extends OpenFile {
  users: number;
  /** Epoch milliseconds when it was last seen to be there. */
  seenAt: number;
  /** Closed as soon as nobody uses it. */
  forgotten: boolean;
}

const MAX_IDLE = 64;
/** How long a file is taken to be there after it was seen to be. Only another process can delete it without a word here. */
const SEEN_MS = 100;

/** The files that were read last stay open: opening and closing one costs as much as reading a page of it. */
export class OpenFiles {
  readonly #entries = new Map<string, Entry>();
  readonly #pool: BufferPool;
  readonly #now: () => number;

  /** @param now epoch milliseconds */
  constructor(pool: BufferPool, now: () => number) {
    this.#pool = pool;
    this.#now = now;
  }

  /** A file that is open already, for one more user; undefined where it is not, or was deleted by another process. */
  acquire(requestId: string): OpenFile | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return undefined;
    const now = this.#now();
    if (Math.abs(now - entry.seenAt) > SEEN_MS) {
      if (fstatSync(entry.descriptor).nlink === 0) {
        this.forget(requestId);
        return undefined;
      }
      entry.seenAt = now;
      // The one that nobody has asked for longest is the first to be closed.
      this.#entries.delete(requestId);
      this.#entries.set(requestId, entry);
    }
    entry.users++;
    return entry;
  }

  /** Takes over a descriptor that was just opened, for one user. */
  add(descriptor: number, cached: CachedResult): OpenFile {
    const { requestId } = cached.record;
    this.forget(requestId);
    const entry: Entry = {
      descriptor,
      cached,
      ahead: new ReadAhead(this.#pool),
      users: 1,
      seenAt: this.#now(),
      forgotten: false,
    };
    this.#entries.set(requestId, entry);
    return entry;
  }

  async release(file: OpenFile): Promise<void> {
    const entry = file as Entry;
    entry.users--;
    if (entry.users === 0 && entry.forgotten) await closeFile(entry.descriptor);
    for (const [requestId, { users }] of this.#entries) {
      if (this.#entries.size <= MAX_IDLE) break;
      if (users === 0) this.forget(requestId);
    }
  }

  /** Closes the file when its last user is done. */
  forget(requestId: string): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return;
    this.#entries.delete(requestId);
    entry.forgotten = true;
    // Nothing was written through it, so that closing it has nothing to report.
    if (entry.users === 0) void closeFile(entry.descriptor).catch(() => undefined);
  }

  close(): void {
    for (const requestId of this.#entries.keys()) this.forget(requestId);
  }
}
