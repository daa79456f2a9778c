import { FairQueue } from '../../platform/fair-queue.ts';
import type { TableName } from '../../pinot/table-name.ts';
import { EngineError, type EngineResponse } from '../../pinot/types.ts';
import { QueryError } from '../errors.ts';
import { NO_METRICS, type QueryMetrics, type SubmissionOutcome } from '../metrics.ts';
import type { GatewayIdentity, PaginationOptions } from './options.ts';
import type { Readers } from '../rows/readers.ts';
import { newRequestId } from '../request-id.ts';
import type { ResultStore } from '../result-store.ts';
import {
  type RecordAdditions,
  type Submission,
  type SubmissionHooks,
  storeResponse,
  type SubmitOutcome,
} from './submit.ts';

/** Runs a query. */
export type SendQuery = (signal: AbortSignal) => Promise<EngineResponse>;

export type Submitted = SubmitOutcome | { readonly kind: 'refused'; readonly response: EngineResponse };

/** Who submitted a query, and the tables it reads. */
export interface QueryOrigin {
  /** SRN of the principal. */
  readonly owner: string;
  readonly tables: readonly TableName[];
  /** The text of the query, to be recorded. */
  readonly sql?: string | undefined;
  /** Whether the engine's default limits the rows: the text has no `LIMIT`, and the engine is the single-stage one. */
  readonly hasDefaultLimit?: boolean;
  /** Set for an asynchronous query: the id that the caller knows already, and the time of its submission. */
  readonly accepted?: { readonly requestId: string; readonly submissionTimeMs: number };
}

/** Characters of a query's text that its record has. */
const MAX_RECORDED_SQL = 4_096;
/** How often a query is run whose response breaks off while it is stored. */
const MAX_RESPONSES = 3;

/** Runs queries and stores their results. */
export class Submissions {
  readonly #store: ResultStore;
  readonly #settings: PaginationOptions['settings'];
  readonly #identity: GatewayIdentity;
  readonly #clock: PaginationOptions['clock'];
  readonly #random: PaginationOptions['random'];
  readonly #metrics: QueryMetrics;
  readonly #readers: Readers;
  readonly #running: FairQueue;

  /** @param readers shared with the reading of results */
  constructor(options: PaginationOptions, readers: Readers) {
    this.#store = options.store;
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
   * Runs a query with `run` and stores its response. `hooks.inspect` rejects the response by throwing.
   * @throws {QueryError} busy, bad-response, store-full, store-unavailable, aborted; and whatever `run` throws
   */
  async submit(
    run: SendQuery,
    origin: QueryOrigin,
    signal: AbortSignal,
    hooks: SubmissionHooks = {},
  ): Promise<Submitted> {
    // Asynchronous queries have limits of their own.
    const place = origin.accepted === undefined ? this.#running.tryEnter('') : undefined;
    if (typeof place === 'string') {
      throw new QueryError(
        'busy',
        `concurrent paginated query limit (${this.#running.total}) of this gateway exceeded; try again later`,
      );
    }
    const all = { ...hooks, complete: (rowCount: number) => this.#additions(origin, rowCount) };
    let outcome: SubmissionOutcome = 'failed';
    try {
      const submitted = await repeatBroken(() => this.#submitOnce(run, origin, signal, all));
      outcome = submitted.kind === 'stored' ? 'stored' : 'not_stored';
      return submitted;
    } finally {
      this.#metrics.submitted(outcome);
      place?.release();
    }
  }

  async #submitOnce(
    run: SendQuery,
    origin: QueryOrigin,
    signal: AbortSignal,
    hooks: SubmissionHooks,
  ): Promise<Submitted> {
    const submission = this.#submission(origin, origin.accepted?.requestId ?? this.newId());
    const response = await run(signal);
    if (response.status !== 200) return { kind: 'refused', response };
    const outcome = await storeResponse(response, this.#store, submission, signal, hooks);
    if (outcome.kind !== 'stored') return outcome;
    this.#metrics.scanned(outcome.reader.record.rowBytes);
    return { kind: 'stored', reader: this.#readers.tracked(outcome.reader) };
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
}

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
function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

function defaultLimitWarning(limit: number): string {
  return (
    `the query has no LIMIT, so the engine returned at most its default of ${limit} rows, and the result has exactly so many: ` +
    'it may be incomplete. End the query with the LIMIT that you need'
  );
}

function isConnectionLost(cause: unknown): boolean {
  return cause instanceof EngineError && cause.code === 'unreachable';
}
