import type { EngineResponse } from '../engine/types.ts';
import { QueryError } from './errors.ts';
import { NO_METRICS, type QueryMetrics, type SubmissionOutcome } from './metrics.ts';
import { type HolderAddress, type Page, type PageRequest, readPage, WHOLE_PAGE_BYTES } from './page.ts';
import { holderOf, holderTag, isRequestId, newRequestId } from './request-id.ts';
import type { ResultReader, ResultRecord, ResultStore, StoredResultSummary } from './result-store.ts';
import type { RowIndex } from './row-index.ts';
import type { PaginationSettings } from './settings.ts';
import { type InspectAnswer, storeAnswer, type SubmitOutcome } from './submit.ts';

/**
 * Bytes of pages that may be held in memory while their callers read them. Beyond it pages are streamed in small pieces, so that callers who read
 * slowly cannot use up the memory, nor keep others waiting.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

const MB = 1024 * 1024;

/** This gateway as it names itself in answers: the broker of the specification. */
export interface GatewayIdentity {
  /** `brokerId`; unique among the gateways and the same after a restart. */
  readonly id: string;
  /** Where other gateways and clients reach this one. */
  readonly host: string;
  readonly port: number;
}

export interface PaginatedQueriesOptions {
  readonly store: ResultStore;
  readonly settings: () => PaginationSettings;
  readonly identity: GatewayIdentity;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Cryptographically secure bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Counts nothing where absent. */
  readonly metrics?: QueryMetrics;
}

/** Who runs a query, and on what. */
export interface QueryOrigin {
  /** SRN of the principal. */
  readonly owner: string;
  /** Raw names. */
  readonly tables: readonly string[];
}

/** How full the store is for this gateway, and the marks of the storage cleaner. */
export interface StoreUsage {
  readonly usedBytes: number;
  /** What the store itself can hold; null where it knows no bound. */
  readonly capacityBytes: number | null;
  /** Whether the cleaner keeps the quota; without it nothing does. */
  readonly cleanerEnabled: boolean;
  readonly quotaBytes: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
}

/** Run once, page many. Knows who owns a result; whether a caller may have it is decided above. */
export class PaginatedQueries {
  readonly #store: ResultStore;
  readonly #settings: () => PaginationSettings;
  readonly #identity: GatewayIdentity;
  readonly #tag: string;
  readonly #now: () => number;
  readonly #random: (bytes: number) => Uint8Array;
  readonly #metrics: QueryMetrics;
  readonly #reading = new Map<string, number>();
  #heldBytes = 0;
  #submissions = 0;

  constructor(options: PaginatedQueriesOptions) {
    this.#store = options.store;
    this.#settings = options.settings;
    this.#identity = options.identity;
    this.#tag = holderTag(options.identity.id);
    this.#now = options.now;
    this.#random = options.random;
    this.#metrics = options.metrics ?? NO_METRICS;
  }

  get brokerId(): string {
    return this.#identity.id;
  }

  /** `brokerHost` and `brokerPort` of answers; undefined where any gateway can serve a page. */
  get holder(): HolderAddress | undefined {
    return this.#store.local ? { host: this.#identity.host, port: this.#identity.port } : undefined;
  }

  /** Whether the id says that the result lies on this gateway, and nowhere else. */
  holds(requestId: string): boolean {
    return this.#store.local && holderOf(requestId) === this.#tag;
  }

  /**
   * Runs a query through `run` and stores its answer, unless `inspect` refuses it by throwing.
   * @throws {QueryError} busy, bad-answer, store-full, store-unavailable, aborted; and whatever `run` throws
   */
  async submit(
    run: (signal: AbortSignal) => Promise<EngineResponse>,
    origin: QueryOrigin,
    signal: AbortSignal,
    inspect: InspectAnswer = () => undefined,
  ): Promise<SubmitOutcome | { readonly kind: 'refused'; readonly response: EngineResponse }> {
    const { maxSubmissions, expirationMs } = this.#settings();
    if (this.#submissions >= maxSubmissions) {
      throw new QueryError(
        'busy',
        `${maxSubmissions} paginated queries run on this gateway already; try again in a moment`,
      );
    }
    this.#submissions++;
    let outcome: SubmissionOutcome = 'failed';
    try {
      const submissionTimeMs = this.#now();
      const response = await run(signal);
      if (response.status !== 200) {
        outcome = 'not_stored';
        return { kind: 'refused', response };
      }
      const submission = {
        ...origin,
        requestId: newRequestId(this.#identity.id, this.#random),
        brokerId: this.#identity.id,
        submissionTimeMs,
        expirationTimeMs: submissionTimeMs + expirationMs,
      };
      const answer = await storeAnswer(response, this.#store, submission, signal, inspect);
      if (answer.kind === 'engine-answer') {
        outcome = 'not_stored';
        return answer;
      }
      outcome = 'stored';
      this.#metrics.scanned(answer.reader.record.rowBytes);
      return { kind: 'stored', reader: this.#tracked(answer.reader) };
    } finally {
      this.#metrics.submitted(outcome);
      this.#submissions--;
    }
  }

  /** @throws {QueryError} not-found, also for a result that has expired but was not yet removed */
  async open(requestId: string, signal: AbortSignal): Promise<ResultReader> {
    const reader = isRequestId(requestId) ? await this.#store.open(requestId, signal) : undefined;
    if (reader !== undefined && reader.record.expirationTimeMs > this.#now()) return this.#tracked(reader);
    await reader?.close();
    throw notFound(requestId);
  }

  /** What is known of the result, expired or not. @throws {QueryError} not-found */
  async recordOf(requestId: string, signal: AbortSignal): Promise<ResultRecord> {
    const reader = isRequestId(requestId) ? await this.#store.open(requestId, signal) : undefined;
    if (reader === undefined) throw notFound(requestId);
    await reader.close();
    return reader.record;
  }

  /** @throws {QueryError} bad-page, not-found, store-unavailable */
  async page(reader: ResultReader, request: PageRequest, signal: AbortSignal): Promise<Page> {
    const wholeBytes = Math.min(WHOLE_PAGE_BYTES, MAX_HELD_BYTES - this.#heldBytes);
    this.#hold(reader, wholeBytes);
    const page = await readPage(reader, request, { holder: this.holder, wholeBytes }, signal);
    this.#hold(reader, Array.isArray(page.rows) ? page.length : 0);
    this.#metrics.paged(page.length);
    return page;
  }

  /** Every complete result, also those that have expired and wait for the cleaner, in order of submission. */
  async list(signal: AbortSignal): Promise<StoredResultSummary[]> {
    const all: StoredResultSummary[] = [];
    for await (const summary of this.#store.list(signal)) all.push(summary);
    return all.sort((a, b) => a.record.submissionTimeMs - b.record.submissionTimeMs);
  }

  /** What this gateway's own results take up: they alone count against its quota. @throws {QueryError} store-unavailable */
  async usage(signal: AbortSignal): Promise<StoreUsage> {
    let usedBytes = 0;
    for await (const { record, bytes } of this.#store.list(signal)) {
      if (record.brokerId === this.#identity.id) usedBytes += bytes;
    }
    const { enabled, maxStorageMb, criticalPercent, targetPercent } = this.#settings().storageCleaner;
    return {
      usedBytes,
      capacityBytes: this.#store.capacityBytes ?? null,
      cleanerEnabled: enabled,
      quotaBytes: maxStorageMb * MB,
      criticalPercent,
      targetPercent,
    };
  }

  /** @throws {QueryError} not-found */
  async delete(record: ResultRecord, signal: AbortSignal): Promise<void> {
    const { requestId, expirationTimeMs } = record;
    if (!(await this.#store.delete(requestId, signal))) throw notFound(requestId);
    this.#metrics.deleted(expirationTimeMs <= this.#now() ? 'expired' : 'request');
  }

  /** True while a page of the result is being sent by this gateway. */
  isBeingRead(requestId: string): boolean {
    return this.#reading.has(requestId);
  }

  /** What the reader's page holds in memory, until another page or the end of the reader. */
  #hold(reader: ResultReader, bytes: number): void {
    // Only readers from here are handed in; one of somebody else is not closed here either.
    if (!(reader instanceof TrackedReader)) return;
    this.#heldBytes += bytes - reader.heldBytes;
    reader.heldBytes = bytes;
  }

  /** Counts the reader in until it is closed. */
  #tracked(reader: ResultReader): ResultReader {
    const id = reader.record.requestId;
    this.#reading.set(id, (this.#reading.get(id) ?? 0) + 1);
    return new TrackedReader(reader, this.#untrack);
  }

  readonly #untrack = (reader: TrackedReader): void => {
    this.#hold(reader, 0);
    const id = reader.record.requestId;
    const left = (this.#reading.get(id) ?? 1) - 1;
    if (left === 0) this.#reading.delete(id);
    else this.#reading.set(id, left);
  };
}

/** A reader that says when it is closed. */
class TrackedReader implements ResultReader {
  readonly record: ResultRecord;
  heldBytes = 0;
  readonly #inner: ResultReader;
  readonly #closed: (reader: TrackedReader) => void;
  #open = true;

  constructor(inner: ResultReader, closed: (reader: TrackedReader) => void) {
    this.record = inner.record;
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

  close(reuse?: boolean): Promise<void> {
    if (this.#open) {
      this.#open = false;
      this.#closed(this);
    }
    return this.#inner.close(reuse);
  }
}

function notFound(requestId: string): QueryError {
  const shown = requestId.length > 64 ? `${requestId.slice(0, 64)}…` : requestId;
  return new QueryError('not-found', `there are no query results for \`${shown}\`: never stored, expired, or deleted`);
}
