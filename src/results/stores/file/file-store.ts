import { mkdir, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../../platform/clock.ts';
import { recordFromJson, recordToJson } from '../../record-json.ts';
import { holderOf, isRequestId } from '../../request-id.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter, StoredResultSummary } from '../../result-store.ts';
import { BufferPool } from './buffer-pool.ts';
import { asStoreError, closeFile, hasCode, openFile, syncFile, syncFolder, writeAll } from './file-io.ts';
import { FileReader, type FileReaderParts, FileWriter } from './file-result.ts';
import { OpenFiles } from './open-files.ts';
import { type CachedResult, createResultCache } from '../result-cache.ts';

const ROWS = '.rows';
const RECORD = '.json';
const PART = '.part';
const BYTES_PER_CHECKPOINT = 8;
/** Leftovers of other gateways are removed only when no submission can still be running. */
const FOREIGN_LEFTOVER_MS = 24 * 3_600_000;

export interface FileStoreOptions {
  /** Holds complete results: `<requestId>.rows` (rows, then index) and `<requestId>.json` (everything else). */
  readonly dataDir: string;
  /** Holds files being written, if it is on the same device; otherwise a folder inside `dataDir` is used. */
  readonly tempDir: string;
  /** `holderTag` of this gateway: its own leftovers are removed at start. */
  readonly tag: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly onProblem: (message: string) => void;
}

/**
 * Results as files. The record is renamed into place last, so a result exists only when its record does. A process killed at
 * any time leaves only leftovers, which are not listed.
 */
export class FileStore implements ResultStore {
  readonly local = true;
  readonly #options: FileStoreOptions;
  /** Recently read records and indexes; their files stay open. */
  readonly #cache = createResultCache();
  readonly #files: OpenFiles;
  readonly #parts: FileReaderParts;
  #incoming: string;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#incoming = options.tempDir;
    const pool = new BufferPool();
    this.#files = new OpenFiles(pool, options.clock);
    this.#parts = { pool, release: (file) => this.#files.release(file) };
  }

  async start(): Promise<void> {
    const { dataDir, tempDir } = this.#options;
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await mkdir(tempDir, { recursive: true, mode: 0o700 });
    await this.#removeLeftovers(tempDir);
    if ((await stat(dataDir)).dev !== (await stat(tempDir)).dev) {
      // A rename cannot cross devices, and a copy would not be atomic.
      this.#incoming = join(dataDir, 'incoming');
      await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
      await this.#removeLeftovers(this.#incoming);
    }
    await this.#removeOrphans(dataDir);
  }

  async begin(requestId: string): Promise<ResultWriter> {
    const part = join(this.#incoming, requestId + ROWS + PART);
    try {
      const descriptor = await openFile(part, 'wx+', 0o600);
      return new FileWriter(descriptor, part, (record) => this.#publish(part, record));
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
      const cached = await this.#load(requestId);
      if (cached !== undefined) yield this.#summary(cached.record);
    }
  }

  async delete(requestId: string): Promise<boolean> {
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

  #path(requestId: string, suffix: string): string {
    return join(this.#options.dataDir, requestId + suffix);
  }

  async #load(requestId: string): Promise<CachedResult | undefined> {
    try {
      const record = recordFromJson(await readFile(this.#path(requestId, RECORD), 'utf8'));
      if (record !== undefined) return { record, index: undefined };
      this.#options.onProblem(`ignored the stored result ${requestId}: its record is invalid`);
      return undefined;
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
    const recordPart = join(this.#incoming, requestId + RECORD + PART);
    const descriptor = await openFile(recordPart, 'wx', 0o600);
    try {
      await writeAll(descriptor, Buffer.from(recordToJson(record)), 0);
      await syncFile(descriptor);
    } finally {
      await closeFile(descriptor);
    }
    try {
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

  #summary(record: ResultRecord): StoredResultSummary {
    return {
      record,
      bytes: record.rowBytes + record.checkpoints * BYTES_PER_CHECKPOINT + recordToJson(record).length,
      dataFile: pathToFileURL(this.#path(record.requestId, ROWS)).href,
      metadataFile: pathToFileURL(this.#path(record.requestId, RECORD)).href,
    };
  }

  async #removeLeftovers(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      if (name.endsWith(PART) && (await this.#mayRemove(folder, name))) await rm(join(folder, name), { force: true });
    }
  }

  /** Rows files without a record. */
  async #removeOrphans(folder: string): Promise<void> {
    const names = new Set(await readdir(folder));
    for (const name of names) {
      if (!name.endsWith(ROWS) || names.has(name.slice(0, -ROWS.length) + RECORD)) continue;
      if (await this.#mayRemove(folder, name)) await rm(join(folder, name), { force: true });
    }
  }

  /** Other gateways may share the folder and still be writing. */
  async #mayRemove(folder: string, name: string): Promise<boolean> {
    const requestId = name.slice(0, name.indexOf('.'));
    if (!isRequestId(requestId)) return false;
    if (holderOf(requestId) === this.#options.tag) return true;
    const found = await stat(join(folder, name)).catch(() => undefined);
    return found !== undefined && this.#options.clock.now() - found.mtimeMs > FOREIGN_LEFTOVER_MS;
  }
}
