import { randomUUID } from 'node:crypto';
import { existsSync, renameSync, type Stats, statSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../../../platform/plain-error.ts';
import type { Clock } from '../../../platform/clock.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import { damaged, QueryError } from '../../errors.ts';
import { DamagedReader } from '../damaged-reader.ts';
import { RECORD_MISSING, recordFromJson, recordToJson, unreadableResult, wrongSize } from '../record-json.ts';
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
import { FileDownloads } from './file-downloads.ts';
import { FileNotes } from './file-notes.ts';
import { FileReader, type FileReaderDependencies, FileWriter } from './file-result.ts';
import { FileLeftovers, RECORD, ROWS } from './file-leftovers.ts';
import { OpenFiles } from './open-files.ts';
import type { StoredCoding } from '../../rows/frames.ts';
import { readAgain } from '../../rows/read-again.ts';
import { DOWNLOAD_NAMES, downloadName } from '../../stored-downloads.ts';
import { type CachedResult, createRecordCache } from '../result-cache.ts';

/** More than the threads of Node.js for files (4), so that these always have work. */
const READS_AT_ONCE = 16;
/** How long a record is assumed to be unchanged without a check. */
const RECHECK_MS = 100;

export interface FileStoreOptions {
  /** Holds complete results: `<requestId>.rows` (rows, then index) and `<requestId>.json` (everything else), and the files of downloads beside them. */
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
  readonly downloads: FileDownloads;
  readonly compression?: StoredCoding;
  readonly #options: FileStoreOptions;
  /** Recently read records and indexes; their files stay open. */
  readonly #cache = createRecordCache();
  readonly #files: OpenFiles;
  /** When the record in the folder was last seen to be the same, by the monotonic clock. */
  readonly #seen = new WeakMap<CachedResult, number>();
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
    this.downloads = new FileDownloads({
      dataDir: options.dataDir,
      pathOf: (name) => join(options.dataDir, name),
      partOf: (name) => join(this.#incoming, `${name}.${randomUUID()}${this.#leftovers.ending}`),
      exists: (requestId) => !this.#deleting.has(requestId) && existsSync(this.#path(requestId, RECORD)),
      begun: (requestId) => this.#leftovers.begun(requestId),
      ended: (requestId) => this.#leftovers.ended(requestId),
      reads: this.#parts.reads,
    });
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
    const known = await this.#current(requestId);
    const file = known && this.#files.acquire(requestId);
    if (file !== undefined) return new FileReader(file, this.#parts);
    const cached = known ?? (await this.#load(requestId));
    if (cached !== undefined) return this.#reader(cached);
    if (!this.#deleting.has(requestId) && (await this.#unpaired(requestId)) !== undefined)
      throw damaged(RECORD_MISSING);
    return undefined;
  }

  async *list(): AsyncIterable<StoredResultSummary> {
    const names = new Set(await this.#names());
    for (const name of names) {
      const [requestId = '', kind] = name.split('.', 2);
      if (!isRequestId(requestId)) continue;
      const isUnpaired = name === requestId + ROWS && !names.has(requestId + RECORD) && !this.#deleting.has(requestId);
      const summary =
        kind === RECORD.slice(1)
          ? await this.#summary(requestId)
          : isUnpaired
            ? await this.#unpairedSummary(requestId)
            : undefined;
      if (summary === undefined) continue;
      const files = DOWNLOAD_NAMES.map((file) => downloadName(requestId, file)).filter((file) => names.has(file));
      yield { ...summary, bytes: summary.bytes + (await this.#sizeOf(files)) };
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
      const { mtimeMs: modifiedMs } = statSync(part);
      renameSync(part, path);
      this.#cache.set(requestId, { record, index: this.#cache.peek(requestId)?.index, modifiedMs });
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
      if (!hasCode(error, 'ENOENT')) throw asStoreError(error);
      await this.#requireFolder();
      if ((await this.#unpaired(requestId)) === undefined) return false;
    }
    await rm(this.#path(requestId, ROWS), { force: true });
    for (const name of DOWNLOAD_NAMES) await this.downloads.delete(requestId, name);
    return true;
  }

  /** What is known of a result, if its record in the folder is still the same. A restored or damaged one is read again. */
  async #current(requestId: string): Promise<CachedResult | undefined> {
    const known = this.#files.peek(requestId) ?? this.#cache.get(requestId);
    if (known === undefined) return undefined;
    const now = this.#options.clock.monotonic();
    if (now - (this.#seen.get(known) ?? Number.NEGATIVE_INFINITY) < RECHECK_MS) return known;
    const found = await stat(this.#path(requestId, RECORD)).catch(() => undefined);
    if (found !== undefined && found.mtimeMs === known.modifiedMs) {
      this.#seen.set(known, now);
      return known;
    }
    // A renewal of this process may have replaced it meanwhile.
    if ((this.#files.peek(requestId) ?? this.#cache.peek(requestId)) === known) {
      this.#cache.delete(requestId);
      this.#files.forget(requestId);
    }
    return undefined;
  }

  /** The file of rows that nobody writes and whose record is missing; undefined where there is none. */
  async #unpaired(requestId: string): Promise<Stats | undefined> {
    const rows = await stat(this.#path(requestId, ROWS)).catch(() => undefined);
    if (rows === undefined) return undefined;
    if (!(await this.#leftovers.isAbandoned(this.#options.dataDir, requestId + ROWS, true))) return undefined;
    // The result may have become complete since.
    return existsSync(this.#path(requestId, RECORD)) ? undefined : rows;
  }

  async #unpairedSummary(requestId: string): Promise<StoredResultSummary | undefined> {
    const rows = await this.#unpaired(requestId);
    if (rows === undefined || this.#deleting.has(requestId)) return undefined;
    const { size: bytes, mtimeMs: modifiedMs } = rows;
    const reason = damaged(RECORD_MISSING).message;
    return unreadableResult({ requestId, modifiedMs, bytes, ...this.#addresses(requestId), reason });
  }

  #addresses(requestId: string): Pick<StoredResultSummary, 'dataFile' | 'metadataFile'> {
    return {
      dataFile: pathToFileURL(this.#path(requestId, ROWS)).href,
      metadataFile: pathToFileURL(this.#path(requestId, RECORD)).href,
    };
  }

  /** @throws {QueryError} store-unavailable */
  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#options.dataDir);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  /** Where the folder is missing, nothing is known of its results. @throws {QueryError} store-unavailable */
  async #requireFolder(): Promise<void> {
    try {
      await stat(this.#options.dataDir);
    } catch (error) {
      throw asStoreError(error);
    }
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
    const path = this.#path(requestId, RECORD);
    try {
      // Before the record: one that changes meanwhile is read again.
      const { mtimeMs: modifiedMs } = await stat(path);
      const record = await readAgain({}, async () => recordFromJson(await readFile(path, 'utf8')));
      if (record.requestId !== requestId) throw damaged('its record belongs to another result');
      return { record, index: undefined, modifiedMs };
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw asStoreError(error);
      await this.#requireFolder();
      return undefined;
    }
  }

  async #reader(cached: CachedResult): Promise<ResultReader | undefined> {
    const { record } = cached;
    const { requestId } = record;
    const path = this.#path(requestId, ROWS);
    try {
      const { size } = await stat(path);
      const damage = wrongSize(record, size);
      return damage === undefined ? await this.#opened(cached) : new DamagedReader(record, damage);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw asStoreError(error);
      this.#cache.delete(requestId);
      // A deletion removes the record first.
      const isThere = !this.#deleting.has(requestId) && (await this.#load(requestId)) !== undefined;
      return isThere ? new DamagedReader(record, damaged('its rows are missing')) : undefined;
    }
  }

  async #opened(cached: CachedResult): Promise<ResultReader> {
    const { requestId } = cached.record;
    const descriptor = await openFile(this.#path(requestId, ROWS), 'r');
    this.#cache.set(requestId, cached);
    this.#seen.set(cached, this.#options.clock.monotonic());
    return new FileReader(this.#files.add(descriptor, cached), this.#parts);
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
    const { mtimeMs: modifiedMs } = await stat(this.#path(requestId, RECORD));
    return this.#opened({ record, index: undefined, modifiedMs });
  }

  async #unpublish(requestId: string, recordPart: string): Promise<void> {
    await Promise.allSettled(
      [recordPart, this.#path(requestId, RECORD), this.#path(requestId, ROWS)].map((path) => rm(path, { force: true })),
    );
  }

  async #sizeOf(names: readonly string[]): Promise<number> {
    const found = await Promise.all(names.map((name) => stat(this.#path(name, '')).catch(() => undefined)));
    return found.reduce((sum, file) => sum + (file?.size ?? 0), 0);
  }

  /** @returns undefined if the result was deleted */
  async #summary(requestId: string): Promise<StoredResultSummary | undefined> {
    const files = this.#addresses(requestId);
    const [rows, recordFile] = await Promise.all(
      [ROWS, RECORD].map((suffix) => stat(this.#path(requestId, suffix)).catch(() => undefined)),
    );
    if (recordFile === undefined) return undefined;
    const bytes = (rows?.size ?? 0) + recordFile.size;
    try {
      const cached = await this.#load(requestId);
      if (cached === undefined) return undefined;
      const { record } = cached;
      const damage = rows === undefined ? damaged('its rows are missing') : wrongSize(record, rows.size);
      // A deletion removes the record first.
      if (rows === undefined && !existsSync(this.#path(requestId, RECORD))) return undefined;
      return { record, bytes, ...files, ...(damage !== undefined && { damaged: damage.message }) };
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
