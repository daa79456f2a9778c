import type { TableName } from '../pinot/table-name.ts';
import type { WallClock } from '../platform/clock.ts';
import { LruCache } from '../platform/lru.ts';
import { EngineError, type EngineResponse } from '../pinot/types.ts';
import { type CursorBrokers, type CursorRecord, isCursorRecord } from './cursors/brokers.ts';
import { type CursorExport, exportCursor } from './cursors/export.ts';
import { readCursorPage } from './cursors/page.ts';
import type { Spool } from './cursors/spool.ts';
import { storeCursor } from './cursors/submit.ts';
import { QueryError } from './errors.ts';
import { columnsOf, type Export, exportRows } from './export/export.ts';
import type { CsvLayout } from './export/csv-layout.ts';
import type { ExportFormat } from './export/format.ts';
import { ExportLimit } from './export/limit.ts';
import { NO_METRICS, type QueryMetrics, type SubmissionOutcome } from './metrics.ts';
import { type HolderAddress, type Page, type PageRequest, readPage, rowsOf } from './page.ts';
import { holderOf, holderTag, isCursorId, isRequestId, newCursorId, newRequestId } from './request-id.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter, StoredResultSummary } from './result-store.ts';
import { Readers, TrackedReader } from './readers.ts';
import { Renewal } from './renewal.ts';
import type { PaginationSettings } from './settings.ts';
import {
  type RecordAdditions,
  type Submission,
  type SubmissionHooks,
  storeAnswer,
  type SubmitOutcome,
} from './submit.ts';
import { type StoreUsage, usageOf } from './usage.ts';

/** How this gateway identifies itself in responses (`broker…` fields of the specification). */
export interface GatewayIdentity {
  /** `brokerId`; unique among the gateways and stable across restarts. */
  readonly id: string;
  /** Address of this gateway for other gateways and clients. */
  readonly host: string;
  readonly port: number;
}

export interface PaginatedQueriesOptions {
  readonly store: ResultStore;
  readonly settings: () => PaginationSettings;
  readonly identity: GatewayIdentity;
  readonly clock: WallClock;
  /** Cryptographically secure bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Default: no metrics. */
  readonly metrics?: QueryMetrics;
  /** Access to results kept by the brokers; without it such results are not found. */
  readonly cursors?: {
    readonly brokers: CursorBrokers;
    /** Whether the engine keeps new results: `olap.broker.pagination.native`. */
    readonly native: boolean;
  };
}

/**
 * Runs a query.
 * @param cursorRows if set, the engine keeps the result and responds with this many rows
 */
export type RunQuery = (signal: AbortSignal, cursorRows?: number) => Promise<EngineResponse>;

export type Submitted =
  /** `page` is the first page, if the response included it. */
  | { readonly kind: 'stored'; readonly reader: ResultReader; readonly page?: Page }
  | Exclude<SubmitOutcome, { readonly kind: 'stored' }>
  | { readonly kind: 'refused'; readonly response: EngineResponse };

/** Who submitted a query, and the tables it reads. */
export interface QueryOrigin {
  /** SRN of the principal. */
  readonly owner: string;
  readonly tables: readonly TableName[];
  /** Rows of the first page. */
  readonly numRows: number;
  /** The text of the query, to be recorded. */
  readonly sql?: string | undefined;
  /** Whether the engine's default limits the rows: the text has no `LIMIT`, and the engine is the single-stage one. */
  readonly hasDefaultLimit?: boolean;
  /** Set for an asynchronous query: the id that the caller knows already, and the time of its submission. */
  readonly accepted?: { readonly requestId: string; readonly submissionTimeMs: number };
}

/** A result to be deleted. */
export interface DeletableResult {
  readonly requestId: string;
  /** Undefined if the record cannot be read. */
  readonly owner: string | undefined;
  readonly expirationTimeMs: number;
}

/** Runs queries once and serves their results in pages. Records the owner of a result; callers of this class check access. */
export class PaginatedQueries {
  readonly #store: ResultStore;
  readonly #settings: () => PaginationSettings;
  readonly #identity: GatewayIdentity;
  #holder: HolderAddress | undefined;
  readonly #tag: string;
  readonly #clock: WallClock;
  readonly #random: (bytes: number) => Uint8Array;
  readonly #metrics: QueryMetrics;
  readonly #cursors: PaginatedQueriesOptions['cursors'];
  readonly #readers = new Readers();
  /** Why results could not be read, by id. */
  readonly #damaged = new LruCache<string, string>({ maxWeight: MAX_DAMAGED });
  readonly #exports = new ExportLimit();
  readonly #layouts = new LruCache<string, CsvLayout>({ maxWeight: MAX_LAYOUTS });
  readonly #renewal: Renewal;
  #submissions = 0;

  constructor(options: PaginatedQueriesOptions) {
    this.#store = options.store;
    this.#settings = options.settings;
    this.#identity = options.identity;
    this.#tag = holderTag(options.identity.id);
    this.#clock = options.clock;
    this.#random = options.random;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#cursors = options.cursors;
    this.#renewal = new Renewal(options);
  }

  /** `brokerHost` and `brokerPort` of responses; the same object while unchanged. Undefined if any gateway can serve a page. */
  get holder(): HolderAddress | undefined {
    if (!this.#store.local) return undefined;
    // The port is known only after the gateway listens.
    const { host, port } = this.#identity;
    if (this.#holder?.port !== port || this.#holder.host !== host) this.#holder = { host, port };
    return this.#holder;
  }

  get brokerId(): string {
    return this.#identity.id;
  }

  /** Whether the id belongs to a result that is stored only on this gateway. */
  holds(requestId: string): boolean {
    return this.#store.local && holderOf(requestId) === this.#tag && !isCursorId(requestId);
  }

  /**
   * Runs a query with `run` and stores its response. `hooks.inspect` rejects the response by throwing.
   * @throws {QueryError} busy, bad-answer, no-cursors, store-full, store-unavailable, aborted; and whatever `run` throws
   */
  async submit(
    run: RunQuery,
    origin: QueryOrigin,
    signal: AbortSignal,
    hooks: SubmissionHooks = {},
  ): Promise<Submitted> {
    const { maxSubmissions } = this.#settings();
    // Asynchronous queries have limits of their own.
    const isCounted = origin.accepted === undefined;
    if (isCounted && this.#submissions >= maxSubmissions) {
      throw new QueryError(
        'busy',
        `concurrent paginated query limit (${maxSubmissions}) of this gateway exceeded; try again later`,
      );
    }
    if (isCounted) this.#submissions++;
    const all = { ...hooks, complete: (rowCount: number) => this.#additions(origin, rowCount) };
    let outcome: SubmissionOutcome = 'failed';
    try {
      const kept = this.#cursors?.native === true ? await this.#submitCursor(run, origin, signal, all) : undefined;
      const submitted = kept ?? (await repeatBroken(() => this.#submitStored(run, origin, signal, all)));
      outcome = submitted.kind === 'stored' ? 'stored' : 'not_stored';
      return submitted;
    } finally {
      this.#metrics.submitted(outcome);
      if (isCounted) this.#submissions--;
    }
  }

  async #submitStored(
    run: RunQuery,
    origin: QueryOrigin,
    signal: AbortSignal,
    hooks: SubmissionHooks,
  ): Promise<Submitted> {
    const submission = this.#submission(
      origin,
      origin.accepted?.requestId ?? newRequestId(this.#identity.id, this.#random),
    );
    const response = await run(signal);
    if (response.status !== 200) return { kind: 'refused', response };
    const answer = await storeAnswer(response, this.#store, submission, signal, hooks);
    if (answer.kind !== 'stored') return answer;
    this.#metrics.scanned(answer.reader.record.rowBytes);
    return { kind: 'stored', reader: this.#readers.tracked(answer.reader) };
  }

  /** @returns undefined if the engine keeps nothing because the result has no rows */
  async #submitCursor(
    run: RunQuery,
    origin: QueryOrigin,
    signal: AbortSignal,
    hooks: SubmissionHooks,
  ): Promise<Submitted | undefined> {
    const { numRows } = origin;
    const submission = this.#submission(
      origin,
      origin.accepted?.requestId ?? newCursorId(this.#identity.id, this.#random),
    );
    const response = await run(signal, numRows);
    if (response.status !== 200) return { kind: 'refused', response };
    const { brokers } = this.#cursors as { brokers: CursorBrokers };
    const spool = this.#spool(signal);
    let used = false;
    try {
      const parts = { store: this.#store, brokers, spool, submission, numRows, holder: this.holder };
      const answer = await storeCursor(response, parts, hooks, signal);
      if (answer.kind === 'no-rows') return undefined;
      used = true;
      if (answer.kind !== 'stored') return answer;
      this.#metrics.scanned(spool.bytes);
      this.#metrics.paged(answer.page.length);
      const reader = this.#readers.tracked(answer.reader);
      await reader.keep(spool);
      return { kind: 'stored', reader, page: answer.page };
    } finally {
      if (!used) await spool.discard();
    }
  }

  #submission({ owner, tables, sql, accepted }: QueryOrigin, requestId: string): Submission {
    const now = this.#clock.now();
    const submissionTimeMs = accepted?.submissionTimeMs ?? now;
    const expirationTimeMs = now + this.#settings().expirationMs;
    const recorded = sql === undefined ? {} : { sql: shortened(sql, MAX_RECORDED_SQL) };
    return { owner, tables, ...recorded, requestId, brokerId: this.#identity.id, submissionTimeMs, expirationTimeMs };
  }

  #additions({ hasDefaultLimit, accepted }: QueryOrigin, rowCount: number): RecordAdditions {
    const { defaultLimit, expirationMs } = this.#settings();
    const now = this.#clock.now();
    const isCut = hasDefaultLimit === true && defaultLimit > 0 && rowCount === defaultLimit;
    return {
      storedTimeMs: now,
      // Nobody can read an asynchronous result before it is complete, which may be long after its submission.
      ...(accepted !== undefined && { expirationTimeMs: now + expirationMs }),
      ...(isCut && { warnings: [defaultLimitWarning(defaultLimit)] }),
    };
  }

  /** The id of a result that is submitted later. */
  newId(): string {
    const { native } = this.#cursors ?? { native: false };
    return (native ? newCursorId : newRequestId)(this.#identity.id, this.#random);
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
    if (isCursorRecord(record)) return this.#cursorPage(reader, record, request, signal);
    const wholeBytes = this.#readers.room;
    this.#readers.hold(reader, wholeBytes);
    const page = await readPage(reader, request, { holder: this.holder, wholeBytes }, signal).catch(
      (error: unknown) => {
        this.#noteDamage(record, error);
        throw error;
      },
    );
    await this.#renewal.renew(record);
    const { rows } = page;
    const streamed = Symbol.asyncIterator in rows;
    this.#readers.hold(reader, streamed ? 0 : page.length);
    this.#metrics.paged(page.length);
    return streamed ? { ...page, rows: this.#watched(record, rows) } : page;
  }

  /**
   * Prepares a download of rows. The caller must call `release` when it has ended. `caller` is an SRN.
   * @throws {QueryError} bad-page, bad-answer, busy, damaged, no-cursors, not-found, store-unavailable
   */
  async export(
    reader: ResultReader,
    { format, caller }: { readonly format: ExportFormat; readonly caller: string },
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<Export & { readonly release: () => void }> {
    const { record } = reader;
    const release = this.#exports.begin(caller);
    try {
      const found = isCursorRecord(record)
        ? await this.#exportCursor(reader, { record, format }, request, signal)
        : await exportRows(reader, { format, layouts: this.#layouts }, request, signal);
      await this.#renewal.renew(record);
      const body: Export['body'] = (from, to, abort) => this.#watched(record, found.body(from, to, abort));
      const { measure } = found;
      if (measure === undefined) return { ...found, body, release };
      const watched: typeof measure = (abort) =>
        measure(abort).catch((error: unknown) => {
          this.#noteDamage(record, error);
          throw error;
        });
      return { ...found, body, measure: watched, release };
    } catch (error) {
      release();
      this.#noteDamage(record, error);
      throw error;
    }
  }

  #exportCursor(
    reader: ResultReader,
    { record, format }: Pick<CursorExport, 'record' | 'format'>,
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<Export> {
    const columns = columnsOf(record.dataSchema);
    const rows = { offset: request.offset, numRows: rowsOf(record, request) };
    const { maxPageSize } = this.#settings();
    const read = (page: PageRequest): Promise<Page> => this.#cursorPage(reader, record, page, signal);
    return exportCursor({ record, format, columns, rows, maxPageSize, read });
  }

  /** Forwards the pieces of a result while they are sent, and records a damage that is found then. */
  async *#watched(record: ResultRecord, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      this.#noteDamage(record, error);
      throw error;
    }
  }

  #noteDamage({ requestId }: ResultRecord, error: unknown): void {
    if (isDamaged(error)) this.#damaged.set(requestId, error.message);
  }

  /** The record with all fields of the engine. @throws as `page` */
  async described({ record }: ResultReader, signal: AbortSignal): Promise<ResultRecord> {
    if (!isCursorRecord(record)) return record;
    return { ...record, fields: await this.#brokersOf(record).metadata(record, signal) };
  }

  async #cursorPage(
    reader: ResultReader,
    record: CursorRecord,
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<Page> {
    if (!(reader instanceof TrackedReader)) throw new TypeError('the reader was not opened by this gateway');
    const brokers = this.#brokersOf(record);
    const spool = this.#spool(signal);
    await reader.keep(spool);
    const page = await readCursorPage(record, request, { brokers, spool, holder: this.holder }, signal);
    this.#metrics.paged(page.length);
    return page;
  }

  #brokersOf({ requestId }: ResultRecord): CursorBrokers {
    if (this.#cursors === undefined) throw notFound(requestId);
    return this.#cursors.brokers;
  }

  /** The caller must discard it. */
  #spool(signal: AbortSignal): Spool {
    const begin = (): Promise<ResultWriter> => this.#store.begin(newRequestId(this.#identity.id, this.#random), signal);
    return this.#readers.spool(begin);
  }

  /** Every result, including expired and damaged ones, in order of submission. */
  async list(signal: AbortSignal): Promise<StoredResultSummary[]> {
    const all: StoredResultSummary[] = [];
    for await (const summary of this.#store.list(signal)) {
      const found = summary.damaged ?? this.#damaged.get(summary.record.requestId);
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

/** CSV downloads that can be resumed quickly. */
const MAX_LAYOUTS = 64;
/** Results whose damage was found while they were read. */
const MAX_DAMAGED = 1_000;
/** Characters of a query's text that its record has. */
export const MAX_RECORDED_SQL = 4_096;
/** How often a query is run whose response breaks off while it is stored. */
const MAX_RESPONSES = 3;

/** Runs a query again if the connection to the broker was lost within the response: the client has received nothing of it. */
async function repeatBroken<T>(run: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await run();
    } catch (error) {
      if (count >= MAX_RESPONSES || !(error instanceof QueryError) || !isConnectionLost(error.cause)) throw error;
    }
  }
}

/** @param length at least 1 */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

function defaultLimitWarning(limit: number): string {
  return (
    `the query has no LIMIT, so the engine returned at most its default of ${limit} rows, and the result has exactly so many: ` +
    'it may be incomplete. End the query with the LIMIT that you need'
  );
}

function isDamaged(error: unknown): error is QueryError {
  return error instanceof QueryError && error.code === 'damaged';
}

function isConnectionLost(cause: unknown): boolean {
  return cause instanceof EngineError && cause.code === 'unreachable';
}

function notFound(requestId: string): QueryError {
  const shown = requestId.length > 64 ? `${requestId.slice(0, 64)}…` : requestId;
  return new QueryError('not-found', `no query results for \`${shown}\`: never stored, expired, or deleted`);
}
