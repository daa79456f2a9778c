import { LruCache } from '../../platform/lru.ts';
import type { WallClock } from '../../platform/clock.ts';
import { Damages } from '../rows/damages.ts';
import { isDamaged, notFound } from '../errors.ts';
import { type Export, type ExportForm, exportRows } from '../export/export.ts';
import type { CsvLayout } from '../export/csv-layout.ts';
import { isColumnFormat } from '../export/format.ts';
import { ExportLimit } from '../export/limit.ts';
import { MadeFiles } from '../export/made-files.ts';
import { linkRows, type ResultLinks } from '../links/links.ts';
import { NO_METRICS, type QueryMetrics } from '../metrics.ts';
import { type GatewayIdentity, holderAddress, type PaginationOptions } from './options.ts';
import { type HolderAddress, type Page, type PageRequest, readPage, rowsOf } from '../rows/page.ts';
import { Readers } from '../rows/readers.ts';
import { Renewal } from '../retention/renewal.ts';
import { isRequestId } from '../request-id.ts';
import type { ResultReader, ResultRecord, ResultStore, StoredResultSummary } from '../result-store.ts';
import type { PaginationSettings } from '../settings.ts';
import { Submissions } from './submissions.ts';
import { type StoreUsage, usageOf } from '../retention/usage.ts';

/** A result to be deleted. */
export interface DeletableResult {
  readonly requestId: string;
  /** Undefined if the record cannot be read. */
  readonly owner: string | undefined;
  readonly expirationTimeMs: number;
}

export interface ExportRequest extends ExportForm {
  /** SRN. */
  readonly caller: string;
  /** Whether only the length is asked for: no rows are sent. */
  readonly isHead?: boolean;
  /** Whether parts of the download are asked for, or its length. */
  readonly needsFile?: boolean;
}

/** Whether rows are converted for the request. The length of JSON lines is known, that of a part in a format of columns is not found. */
function takesPlace({ format, isHead }: ExportRequest): boolean {
  return isHead !== true || format === 'csv';
}

/** Serves the results of queries in pages; `submissions` stores them. Records the owner of a result; callers of this class check access. */
export class PaginatedQueries {
  readonly submissions: Submissions;
  readonly #store: ResultStore;
  readonly #settings: () => PaginationSettings;
  readonly #identity: GatewayIdentity;
  readonly #holder: () => HolderAddress | undefined;
  readonly #clock: WallClock;
  readonly #metrics: QueryMetrics;
  readonly #readers = new Readers();
  readonly #damages: Damages;
  readonly #exports: ExportLimit;
  readonly #layouts = new LruCache<string, CsvLayout>({ maxWeight: MAX_LAYOUTS });
  readonly #files: MadeFiles;
  readonly #renewal: Renewal;

  constructor(options: PaginationOptions) {
    this.#store = options.store;
    this.#settings = options.settings;
    this.#identity = options.identity;
    this.#holder = holderAddress(options.store, options.identity);
    this.#clock = options.clock;
    this.#damages = options.damages ?? new Damages();
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#exports = new ExportLimit(() => options.settings().downloads, options.limits);
    this.#files = new MadeFiles({
      downloads: options.store.downloads,
      open: (requestId, signal) => this.open(requestId, signal),
      clock: options.clock,
    });
    this.#renewal = new Renewal(options);
    this.submissions = new Submissions(options, this.#readers);
  }

  /** `brokerHost` and `brokerPort` of responses; the same object while unchanged. Undefined if any gateway can serve a page. */
  get holder(): HolderAddress | undefined {
    return this.#holder();
  }

  get brokerId(): string {
    return this.#identity.id;
  }

  /** @throws {QueryError} not-found, also for an expired result that is not deleted yet */
  async open(requestId: string, signal: AbortSignal): Promise<ResultReader> {
    const reader = isRequestId(requestId) ? await this.#store.open(requestId, signal) : undefined;
    if (reader !== undefined && reader.record.expirationTimeMs > this.#clock.now())
      return this.#readers.tracked(reader);
    await reader?.close();
    throw notFound(requestId);
  }

  /**
   * What a deletion needs to know about a result, even if it is expired or damaged.
   * @throws {QueryError} not-found
   */
  async deletable(requestId: string, signal: AbortSignal): Promise<DeletableResult> {
    try {
      const reader = isRequestId(requestId) ? await this.#store.open(requestId, signal) : undefined;
      if (reader === undefined) throw notFound(requestId);
      await reader.close();
      return reader.record;
    } catch (error) {
      if (!isDamaged(error)) throw error;
      return { requestId, owner: undefined, expirationTimeMs: Number.POSITIVE_INFINITY };
    }
  }

  /** @throws {QueryError} bad-page, not-found, store-unavailable */
  async page(reader: ResultReader, request: PageRequest, signal: AbortSignal): Promise<Page> {
    const { record } = reader;
    const isRoomFor = (bytes: number): boolean => this.#readers.reserve(reader, bytes);
    const reading = readPage(reader, request, { holder: this.holder, isRoomFor }, signal);
    const page = await this.#damages.noting(record, request, reading);
    await this.#renewal.renew(record);
    const { rows } = page;
    const streamed = Symbol.asyncIterator in rows;
    if (!streamed) this.#damages.readWhole(record, request);
    this.#readers.hold(reader, streamed ? 0 : page.length);
    this.#metrics.paged(page.length);
    return streamed ? { ...page, rows: this.#damages.watched(record, request, rows) } : page;
  }

  /**
   * Prepares a download of rows. The caller must call `release` when it has ended.
   * @throws {QueryError} bad-page, bad-response, busy, damaged, not-found, store-unavailable
   */
  async export(
    reader: ResultReader,
    asked: ExportRequest,
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<Export & { readonly release: () => void }> {
    const { record } = reader;
    const file = await this.#damages.noting(record, request, this.#fileExport(record, asked, request, signal));
    if (file !== undefined) return file;
    const release = takesPlace(asked) ? this.#exports.begin(asked.caller) : () => undefined;
    try {
      const found = await exportRows(reader, { ...asked, layouts: this.#layouts }, request, signal);
      await this.#renewal.renew(record);
      const body: Export['body'] = (from, to, abort) =>
        this.#damages.watched(record, request, found.body(from, to, abort));
      const { measure } = found;
      if (measure === undefined) return { ...found, body, release };
      const watched: typeof measure = (abort) => this.#damages.noting(record, request, measure(abort));
      return { ...found, body, measure: watched, release };
    } catch (error) {
      release();
      this.#damages.note(record, request, error);
      throw error;
    }
  }

  /** The file of a whole result in a format of columns; undefined for other exports, and where the store has no space for it. */
  async #fileExport(
    record: ResultRecord,
    { format, types = 'exact', caller, needsFile = true }: ExportRequest,
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<(Export & { readonly release: () => void }) | undefined> {
    const numRows = rowsOf(record, request);
    if (!isColumnFormat(format) || numRows !== record.rowCount) return undefined;
    // The reader of a stream of Arrow works while a large result is converted. Its bytes are those of the file.
    const isMade = needsFile || format === 'parquet' || record.rowBytes <= MAX_MADE_FIRST_BYTES;
    const file = await this.#files.open(record, { format, types }, isMade ? caller : undefined, signal);
    if (file === undefined) return undefined;
    await this.#renewal.renew(record);
    const { length } = file;
    // The bytes of Parquet depend on the version of its compression.
    const version = format === 'parquet' ? file.version : '';
    const body: Export['body'] = (from, to, abort) => file.stream(from, to, abort);
    return { format, numRows, length, version, body, release: () => void file.close().catch(() => undefined) };
  }

  /**
   * Signs a link by which a client reads rows from the bucket. It is a credential for these rows, so the caller must be allowed to read the result.
   * @throws {QueryError} no-links, bad-page, damaged, not-found, store-unavailable
   */
  async links(reader: ResultReader, request: PageRequest, signal: AbortSignal): Promise<ResultLinks> {
    const { record } = reader;
    const options = { store: this.#store, lifetimeMs: this.#settings().linkLifetimeMs, now: this.#clock.now() };
    const links = await this.#damages.noting(record, request, linkRows(reader, request, options, signal));
    await this.#renewal.renew(record);
    return links;
  }

  /** Every result, including expired and damaged ones, in order of submission. */
  async list(signal: AbortSignal): Promise<StoredResultSummary[]> {
    const all: StoredResultSummary[] = [];
    for await (const summary of this.#store.list(signal)) {
      const found = summary.damaged ?? this.#damages.of(summary.record);
      all.push(found === undefined ? summary : { ...summary, damaged: found });
    }
    return all.sort((a, b) => a.record.submissionTimeMs - b.record.submissionTimeMs);
  }

  /** Storage used by this gateway's own results; only these count against its quota. @throws {QueryError} store-unavailable */
  async usage(signal: AbortSignal): Promise<StoreUsage> {
    return usageOf(this.#store, this.#identity.id, this.#settings().storageCleaner, signal);
  }

  /** @throws {QueryError} not-found */
  async delete(record: DeletableResult, signal: AbortSignal): Promise<void> {
    const { requestId, expirationTimeMs } = record;
    if (!(await this.#store.delete(requestId, signal))) throw notFound(requestId);
    this.#metrics.deleted(expirationTimeMs <= this.#clock.now() ? 'expired' : 'request');
  }

  /** True while a page of the result is being sent by this gateway. */
  isBeingRead(requestId: string): boolean {
    return this.#readers.isBeingRead(requestId);
  }
}

/** Rows of which a stream of Arrow is made before it is sent, so that its length is known. */
const MAX_MADE_FIRST_BYTES = 8 * 1024 * 1024;
/** CSV downloads that can be resumed quickly. */
const MAX_LAYOUTS = 64;
