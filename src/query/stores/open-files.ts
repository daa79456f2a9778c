import { fstatSync } from 'node:fs';
import { closeFile } from './file-io.ts';
import type { CachedResult } from './result-cache.ts';

/** A file of rows that is open, and what is known of its result. */
export interface OpenFile {
  readonly descriptor: number;
  readonly cached: CachedResult;
  /** What was read around the last small page: the pages behind it are likely to be asked for next. Its bytes never change. */
  block: { readonly from: number; readonly bytes: Uint8Array } | undefined;
}

interface Entry extends OpenFile {
  users: number;
  /** Closed as soon as nobody uses it. */
  forgotten: boolean;
}

const MAX_IDLE = 64;

/** The files that were read last stay open: opening and closing one costs as much as reading a page of it. */
export class OpenFiles {
  readonly #entries = new Map<string, Entry>();

  /** A file that is open already, for one more user; undefined where it is not, or was deleted by another process. */
  acquire(requestId: string): OpenFile | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return undefined;
    if (fstatSync(entry.descriptor).nlink === 0) {
      this.forget(requestId);
      return undefined;
    }
    this.#entries.delete(requestId);
    this.#entries.set(requestId, entry);
    entry.users++;
    return entry;
  }

  /** Takes over a descriptor that was just opened, for one user. */
  add(descriptor: number, cached: CachedResult): OpenFile {
    const { requestId } = cached.record;
    this.forget(requestId);
    const entry: Entry = { descriptor, cached, block: undefined, users: 1, forgotten: false };
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
