import { fstatSync, type Stats } from 'node:fs';
import type { MonotonicClock } from '../../../platform/clock.ts';
import { LruCache } from '../../../platform/lru.ts';
import { closeFile } from './file-io.ts';
import type { BufferPool } from './buffer-pool.ts';
import { ReadAhead } from './read-ahead.ts';
import type { CachedResult } from '../result-cache.ts';

/** An open file of rows with the cached record and index of its result. */
export interface OpenFile {
  readonly descriptor: number;
  readonly cached: CachedResult;
  /** Read-ahead block of the last small page. */
  readonly ahead: ReadAhead;
}

interface OpenEntry extends OpenFile {
  users: number;
  /** When the file was last seen to be the same, by the monotonic clock. */
  seenAt: number;
  /** When the file was opened. */
  readonly state: Stats;
  /** Closed when its last user releases it. */
  forgotten: boolean;
}

const MAX_IDLE = 64;
/** How long a file is assumed to be the same without a check. Another process may delete or change it without notifying this one. */
const RECHECK_MS = 100;

/** Keeps recently read files open: opening and closing a file costs as much as reading a page. */
export class OpenFiles {
  readonly #entries = new Map<string, OpenEntry>();
  /** The entries without a user. */
  readonly #idle = new LruCache<string, OpenEntry>({
    maxWeight: MAX_IDLE,
    onEvict: (entry) => this.forget(entry.cached.record.requestId),
  });
  readonly #pool: BufferPool;
  readonly #clock: MonotonicClock;

  constructor(pool: BufferPool, clock: MonotonicClock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Acquires a file that is already open; undefined if it is not, or if another process deleted or changed it. */
  acquire(requestId: string): OpenFile | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return undefined;
    const now = this.#clock.monotonic();
    if (now - entry.seenAt > RECHECK_MS) {
      const { nlink, size, mtimeMs } = fstatSync(entry.descriptor);
      if (nlink === 0 || size !== entry.state.size || mtimeMs !== entry.state.mtimeMs) {
        this.forget(requestId);
        return undefined;
      }
      entry.seenAt = now;
    }
    if (entry.users++ === 0) this.#idle.delete(requestId);
    return entry;
  }

  /** What is known of the result of a file that is open. */
  peek(requestId: string): CachedResult | undefined {
    return this.#entries.get(requestId)?.cached;
  }

  /** Registers a newly opened descriptor and acquires it for one user. */
  add(descriptor: number, cached: CachedResult): OpenFile {
    const { requestId } = cached.record;
    this.forget(requestId);
    const entry: OpenEntry = {
      descriptor,
      cached,
      ahead: new ReadAhead(this.#pool),
      users: 1,
      state: fstatSync(descriptor),
      seenAt: this.#clock.monotonic(),
      forgotten: false,
    };
    this.#entries.set(requestId, entry);
    return entry;
  }

  async release(file: OpenFile): Promise<void> {
    const entry = file as OpenEntry;
    if (--entry.users > 0) return;
    if (entry.forgotten) await closeFile(entry.descriptor);
    else this.#idle.set(entry.cached.record.requestId, entry);
  }

  /** Closes the file when its last user releases it. */
  forget(requestId: string): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return;
    this.#entries.delete(requestId);
    this.#idle.delete(requestId);
    entry.forgotten = true;
    // The file was only read, so an error of close() does not matter.
    if (entry.users === 0) void closeFile(entry.descriptor).catch(() => undefined);
  }

  close(): void {
    for (const requestId of this.#entries.keys()) this.forget(requestId);
  }
}
