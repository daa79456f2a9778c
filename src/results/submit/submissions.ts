import { FairQueue } from '../../platform/fair-queue.ts';
import type { TableName } from '../../pinot/table-name.ts';
import { EngineError, type EngineResponse } from '../../pinot/types.ts';
import { QueryError } from '../errors.ts';
import { NO_METRICS, type QueryMetrics, type SubmissionOutcome } from '../metrics.ts';
import type { GatewayIdentity, PaginationOptions } from './options.ts';
import type { Readers } from '../rows/readers.ts';
import { newRequestId } from '../request-id.ts';
import type { RecordedConditions, RecordedLogicalTable, ResultStore } from '../result-store.ts';
import {
  type RecordAdditions,
  type Submission,
  type SubmissionHooks,
  storeResponse,
  type SubmitOutcome,
} from './submit.ts';

export type Submitted = SubmitOutcome | { readonly kind: 'refused'; readonly response: EngineResponse };

/** The connection to the broker was lost within the response. The client has received nothing of it, so the query can be sent again. */
export interface LostResponse {
  readonly kind: 'lost';
}

/** Who submitted a query, and the tables it reads. */
export interface QueryOrigin {
  /** SRN of the principal. */
  readonly owner: string;
  readonly tables: readonly TableName[];
  /** What limited the query, to be recorded. */
  readonly conditions?: readonly RecordedConditions[];
  readonly logicalTables?: readonly RecordedLogicalTable[];
  /** The text of the query, to be recorded. */
  readonly sql?: string | undefined;
  /** Whether the engine's default limits the rows: the text has no `LIMIT`, and the engine is the single-stage one. */
  readonly hasDefaultLimit?: boolean;
  /** The id of the result, where the caller of a synchronous query may ask for it again. */
  readonly requestId?: string | undefined;
  /** Set for an asynchronous query: the id that the caller knows already, and the time of its submission. */
  readonly accepted?: { readonly requestId: string; readonly submissionTimeMs: number };
}

/** Characters of a query's text that its record has. */
const MAX_RECORDED_SQL = 4_096;
/** How often a query is sent whose response breaks off while it is stored. */
const MAX_RESPONSES = 3;

/** A query that is submitted. */
export interface RunningSubmission {
  /**
   * Stores a response of the engine. After `lost` the query is sent again, and its next response stored.
   * @throws {QueryError} bad-response, store-full, store-unavailable, aborted; and what `hooks.inspect` throws to reject the response
   */
  store(response: EngineResponse): Promise<Submitted | LostResponse>;
  /** Releases the place. */
  end(): void;
}

/** Stores the results of queries, within the limit of queries at once. */
export class Submissions {
  readonly #results: ResultStore;
  readonly #settings: PaginationOptions['settings'];
  readonly #identity: GatewayIdentity;
  readonly #clock: PaginationOptions['clock'];
  readonly #random: PaginationOptions['random'];
  readonly #metrics: QueryMetrics;
  readonly #readers: Readers;
  readonly #running: FairQueue;

  /** @param readers shared with the reading of results */
  constructor(options: PaginationOptions, readers: Readers) {
    this.#results = options.store;
    this.#settings = options.settings;
    this.#identity = options.identity;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#readers = readers;
    const { settings, limits } = options;
    this.#running = new FairQueue(
      {
        name: 'submissions',
        get total() {
          return settings().maxSubmissions;
        },
        maxWaiting: 0,
      },
      undefined,
      limits,
    );
    limits?.watch(this.#running);
  }

  /** The id of a result that is submitted later. */
  newId(): string {
    return newRequestId(this.#identity.id, this.#random);
  }

  /**
   * Takes a place for a query whose responses are to be stored. `end()` must be called once.
   * @throws {QueryError} busy
   */
  begin(origin: QueryOrigin, signal: AbortSignal, hooks: SubmissionHooks = {}): RunningSubmission {
    // Asynchronous queries have limits of their own.
    const place = origin.accepted === undefined ? this.#running.tryEnter('') : undefined;
    if (typeof place === 'string') {
      throw new QueryError(
        'busy',
        `concurrent paginated query limit (${this.#running.total}) of this gateway exceeded; try again later`,
      );
    }
    const all = { ...hooks, complete: (rowCount: number) => this.#additions(origin, rowCount) };
    const submissionOf = (): Submission =>
      this.#submission(origin, origin.accepted?.requestId ?? origin.requestId ?? this.newId());
    let submission = submissionOf();
    let outcome: SubmissionOutcome = 'failed';
    let responses = 0;
    return {
      store: async (response) => {
        responses++;
        try {
          const submitted = await this.#store(response, submission, signal, all);
          outcome = submitted.kind === 'stored' ? 'stored' : 'not_stored';
          return submitted;
        } catch (error) {
          if (responses >= MAX_RESPONSES || !isConnectionLost(error)) throw error;
          submission = submissionOf();
          return { kind: 'lost' };
        }
      },
      end: () => {
        this.#metrics.submitted(outcome);
        place?.release();
      },
    };
  }

  async #store(
    response: EngineResponse,
    submission: Submission,
    signal: AbortSignal,
    hooks: SubmissionHooks,
  ): Promise<Submitted> {
    if (response.status !== 200) return { kind: 'refused', response };
    const outcome = await storeResponse(response, this.#results, submission, signal, hooks);
    if (outcome.kind !== 'stored') return outcome;
    this.#metrics.scanned(outcome.reader.record.rowBytes);
    return { kind: 'stored', reader: this.#readers.tracked(outcome.reader) };
  }

  #submission({ owner, tables, conditions, logicalTables, sql, accepted }: QueryOrigin, requestId: string): Submission {
    const now = this.#clock.now();
    const submissionTimeMs = accepted?.submissionTimeMs ?? now;
    const expirationTimeMs = now + this.#settings().expirationMs;
    const recorded = {
      ...(conditions !== undefined && { conditions }),
      ...(logicalTables !== undefined && { logicalTables }),
      ...(sql !== undefined && { sql: shortened(sql, MAX_RECORDED_SQL) }),
    };
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
}

/** @param length at least 1 */
function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

function defaultLimitWarning(limit: number): string {
  return (
    `the query has no LIMIT, so the engine returned at most its default of ${limit} rows, and the result has exactly so many: ` +
    'it may be incomplete. End the query with the LIMIT that you need'
  );
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof QueryError && error.cause instanceof EngineError && error.cause.code === 'unreachable';
}
