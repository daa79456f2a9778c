import { existsSync, renameSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../../../platform/plain-error.ts';
import type { Clock } from '../../../platform/clock.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import { damaged, QueryError } from '../../errors.ts';
import { recordFromJson, recordToJson, unreadableResult } from '../record-json.ts';
import { isRequestId } from '../../request-id.ts';
import type {
  ResultReader,
  ResultRecord,
  ResultStore,
  ResultWriter,
  StoredResultSummary,
  StoreSpace,
} from '../../result-store.ts';
import { BufferPool } from './buffer-pool.ts';
import { asStoreError, hasCode, openFile, syncFolder, unusableFolder, writeDurably } from './file-io.ts';
import { DiskSpace } from './disk-space.ts';
import { FileNotes } from './file-notes.ts';
import { FileReader, type FileReaderDependencies, FileWriter } from './file-result.ts';
import { FileLeftovers, RECORD, ROWS } from './file-leftovers.ts';
import { OpenFiles } from './open-files.ts';
import type { StoredCoding } from '../../rows/frames.ts';
import { indexBytes, storedRowBytes } from '../../rows/row-index.ts';
import { type CachedResult, createRecordCache } from '../result-cache.ts';

/** More than the threads of Node.js for files (4), so that these always have work. */
const READS_AT_ONCE = 16;

export interface FileStoreOptions {
  /** Holds complete results: `<requestId>.rows` (rows, then index) and `<requestId>.json` (everything else). */
  readonly dataDir: string;
  /** Holds files being written, if it is on the same device; otherwise a folder inside `dataDir` is used. */
  readonly tempDir: string;
  /** `holderTag` of this gateway: its own leftovers are removed at start. */
  readonly tag: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly compression?: StoredCoding | undefined;
  readonly onProblem: (message: string) => void;
}

/**
 * Results as files. The record is renamed into place last, so a result exists only when its record does. A process killed at
 * any time leaves only leftovers, which are not listed.
 */
export class FileStore implements ResultStore {
  readonly local = true;
  readonly notes: FileNotes;
  readonly compression?: StoredCoding;
  readonly #options: FileStoreOptions;
  /** Recently read records and indexes; their files stay open. */
  readonly #cache = createRecordCache();
  readonly #files: OpenFiles;
  readonly #parts: FileReaderDependencies;
  readonly #leftovers: FileLeftovers;
  readonly #space: DiskSpace;
  /** Results whose record is being replaced or removed. */
  readonly #renewing = new Set<string>();
  readonly #deleting = new Set<string>();
  #incoming: string;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    if (options.compression !== undefined) this.compression = options.compression;
    this.#incoming = options.tempDir;
    this.#leftovers = new FileLeftovers(options);
    this.#space = new DiskSpace(options.dataDir);
    this.notes = new FileNotes({
      dataDir: options.dataDir,
      partOf: (name) => join(this.#incoming, name + this.#leftovers.ending),
    });
    const pool = new BufferPool();
    this.#files = new OpenFiles(pool, options.clock);
    this.#parts = {
      pool,
      reads: FairQueue.ofJobs('file-reads', READS_AT_ONCE),
      release: (file) => this.#files.release(file),
    };
  }

  /** @throws {UnusableStoreError} with the folder that is wrong */
  async start(): Promise<void> {
    try {
      await this.#createFolders();
    } catch (error) {
      throw unusableFolder(error);
    }
    await this.#leftovers.remove(this.#folders());
  }

  async #createFolders(): Promise<void> {
    const { dataDir, tempDir } = this.#options;
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await mkdir(tempDir, { recursive: true, mode: 0o700 });
    if ((await stat(dataDir)).dev !== (await stat(tempDir)).dev) {
      // A rename cannot cross devices, and a copy would not be atomic.
      this.#incoming = join(dataDir, 'incoming');
      await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
    }
    for (const folder of [dataDir, this.#incoming])
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  }

  space(): StoreSpace | undefined {
    return this.#space.last;
  }

  async tidy(): Promise<void> {
    if (await this.#leftovers.removeHourly(this.#folders())) await this.#removeOldNotes();
  }

  async begin(requestId: string): Promise<ResultWriter> {
    const part = join(this.#incoming, requestId + ROWS + this.#leftovers.ending);
    try {
      const descriptor = await openFile(part, 'wx+', 0o600);
      this.#leftovers.begun(requestId);
      return new FileWriter(descriptor, part, {
        publish: (record) => this.#publish(part, record),
        onEnd: () => this.#leftovers.ended(requestId),
      });
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async open(requestId: string): Promise<ResultReader | undefined> {
    const file = this.#files.acquire(requestId);
    if (file !== undefined) return new FileReader(file, this.#parts);
    const cached = this.#cache.get(requestId) ?? (await this.#load(requestId));
    return cached === undefined ? undefined : this.#reader(cached);
  }

  async *list(): AsyncIterable<StoredResultSummary> {
    for (const name of await readdir(this.#options.dataDir)) {
      const requestId = name.slice(0, -RECORD.length);
      if (!name.endsWith(RECORD) || !isRequestId(requestId)) continue;
      const summary = await this.#summary(requestId);
      if (summary !== undefined) yield summary;
    }
  }

  async renew(record: ResultRecord): Promise<void> {
    const { requestId } = record;
    const path = this.#path(requestId, RECORD);
    // The renewals of a result follow each other: they use the same temporary file.
    if (this.#renewing.has(requestId)) return;
    this.#renewing.add(requestId);
    const part = join(this.#incoming, `${requestId}${RECORD}${this.#leftovers.ending}`);
    try {
      await rm(part, { force: true });
      await writeDurably(part, recordToJson(record));
      // The check and this are one step, so that a deletion of this process comes before or after both.
      if (this.#deleting.has(requestId) || !existsSync(path)) return;
      renameSync(part, path);
      this.#cache.set(requestId, { record, index: this.#cache.peek(requestId)?.index });
      this.#files.forget(requestId);
    } catch (error) {
      throw asStoreError(error);
    } finally {
      this.#renewing.delete(requestId);
      await rm(part, { force: true }).catch(() => undefined);
    }
  }

  async delete(requestId: string): Promise<boolean> {
    this.#deleting.add(requestId);
    try {
      return await this.#delete(requestId);
    } finally {
      this.#deleting.delete(requestId);
    }
  }

  async #delete(requestId: string): Promise<boolean> {
    this.#cache.delete(requestId);
    this.#files.forget(requestId);
    try {
      await unlink(this.#path(requestId, RECORD));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw asStoreError(error);
    }
    await rm(this.#path(requestId, ROWS), { force: true });
    return true;
  }

  async close(): Promise<void> {
    this.#cache.clear();
    this.#files.close();
  }

  async #removeOldNotes(): Promise<void> {
    const { clock, onProblem } = this.#options;
    await this.notes.removeOld(clock.now()).catch((error: unknown) => {
      onProblem(`failed to remove old states of queries (${errorCode(error)}); retrying`);
    });
  }

  #path(requestId: string, suffix: string): string {
    return join(this.#options.dataDir, requestId + suffix);
  }

  async #load(requestId: string): Promise<CachedResult | undefined> {
    try {
      const record = recordFromJson(await readFile(this.#path(requestId, RECORD), 'utf8'));
      if (record.requestId !== requestId) throw damaged('its record belongs to another result');
      return { record, index: undefined };
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw asStoreError(error);
    }
  }

  async #reader(cached: CachedResult): Promise<ResultReader | undefined> {
    const { requestId } = cached.record;
    try {
      const descriptor = await openFile(this.#path(requestId, ROWS), 'r');
      this.#cache.set(requestId, cached);
      return new FileReader(this.#files.add(descriptor, cached), this.#parts);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw asStoreError(error);
      this.#cache.delete(requestId);
      return undefined;
    }
  }

  async #publish(part: string, record: ResultRecord): Promise<ResultReader> {
    const { requestId } = record;
    const recordPart = join(this.#incoming, requestId + RECORD + this.#leftovers.ending);
    try {
      await writeDurably(recordPart, recordToJson(record));
      await rename(part, this.#path(requestId, ROWS));
      await rename(recordPart, this.#path(requestId, RECORD));
      await syncFolder(this.#options.dataDir);
    } catch (error) {
      await this.#unpublish(requestId, recordPart);
      throw error;
    }
    const reader = await this.#reader({ record, index: undefined });
    if (reader === undefined) throw new Error(`result ${requestId} was deleted immediately after it was stored`);
    return reader;
  }

  async #unpublish(requestId: string, recordPart: string): Promise<void> {
    await Promise.allSettled(
      [recordPart, this.#path(requestId, RECORD), this.#path(requestId, ROWS)].map((path) => rm(path, { force: true })),
    );
  }

  /** @returns undefined if the result was deleted */
  async #summary(requestId: string): Promise<StoredResultSummary | undefined> {
    const files = {
      dataFile: pathToFileURL(this.#path(requestId, ROWS)).href,
      metadataFile: pathToFileURL(this.#path(requestId, RECORD)).href,
    };
    const [rows, recordFile] = await Promise.all(
      [ROWS, RECORD].map((suffix) => stat(this.#path(requestId, suffix)).catch(() => undefined)),
    );
    if (recordFile === undefined) return undefined;
    const bytes = (rows?.size ?? 0) + recordFile.size;
    try {
      const cached = await this.#load(requestId);
      if (cached === undefined) return undefined;
      const { record } = cached;
      const wanted = storedRowBytes(record) + indexBytes(record);
      if (rows?.size === wanted) return { record, bytes, ...files };
      const reason =
        rows === undefined ? 'its rows are missing' : `its rows have ${rows.size} bytes instead of ${wanted}`;
      return { record, bytes, ...files, damaged: damaged(reason).message };
    } catch (error) {
      if (!(error instanceof QueryError) || error.code !== 'damaged') throw error;
      const { mtimeMs: modifiedMs } = recordFile;
      return unreadableResult({ requestId, modifiedMs, bytes, ...files, reason: error.message });
    }
  }

  #folders(): { readonly data: string; readonly incoming: readonly string[] } {
    const { dataDir, tempDir } = this.#options;
    return { data: dataDir, incoming: [...new Set([tempDir, this.#incoming])] };
  }
}
