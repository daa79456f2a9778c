import type { TableName } from '../../pinot/table-name.ts';
import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import { isActive, type RunError, type RunState, type RunStatus } from './status.ts';

/** An authorized query that runs without its caller. */
export interface AsyncQuery {
  /** SRN of the caller. */
  readonly owner: string;
  /** The SQL as it is recorded. */
  readonly sql: string | undefined;
  readonly tables: readonly TableName[];
  /** Memory that the query needs while it waits, in bytes. */
  readonly heldBytes: number;
  /** Whether the caller may still run it. Roles and service tokens may be revoked, or expire, while it waits or runs. */
  isAllowed(): boolean;
  /** Runs the query and stores its result. Never throws. */
  execute(run: RunHandle): Promise<RunEnd>;
  /** Asks the engine to stop. Never throws; bounded in time. */
  cancelAtEngine(requestId: string): Promise<void>;
  /** Called once when the query has ended. */
  onEnd(): void;
}

/** What a query gets while it runs. */
export interface RunHandle {
  /** The id of its result. */
  readonly requestId: string;
  readonly submissionTimeMs: number;
  /** Aborts when the query must end. */
  readonly signal: AbortSignal;
  /** Milliseconds until the query must have ended. */
  readonly remainingMs: number;
  /** The engine has begun to respond. */
  onResponse(): void;
  onRows(rows: number, bytes: number): void;
}

export type RunEnd =
  | {
      readonly kind: 'stored';
      readonly rowCount: number;
      readonly bytes: number;
      readonly expirationTimeMs: number;
      readonly warnings?: readonly string[] | undefined;
    }
  | ({ readonly kind: 'failed' } & RunError);

/** Why a query was ended before its result was complete. */
type Stop = { readonly state: 'cancelled' | 'failed' } & RunError;

/** One asynchronous query from its submission to its end. */
export class Run {
  readonly query: AsyncQuery;
  readonly #clock: Clock;
  readonly #deadline: Deadline;
  readonly #maxTimeMs: number;
  readonly #stopping = new AbortController();
  #status: RunStatus;
  #stop: Stop | undefined;
  /** Called at the end. */
  readonly #listeners = new Set<() => void>();

  constructor(
    query: AsyncQuery,
    ids: Pick<RunStatus, 'requestId' | 'brokerId' | 'submissionTimeMs'>,
    maxTimeMs: number,
    clock: Clock,
  ) {
    this.query = query;
    this.#clock = clock;
    this.#maxTimeMs = maxTimeMs;
    // The time counts from the submission on: a query that waits ends, too.
    this.#deadline = new Deadline(clock, maxTimeMs, this.#stopping.signal);
    const { owner, sql, tables } = query;
    this.#status = { ...ids, owner, tables, ...(sql !== undefined && { sql }), state: 'queued', rowCount: 0, bytes: 0 };
  }

  get status(): RunStatus {
    return this.#status;
  }

  get requestId(): string {
    return this.#status.requestId;
  }

  get isStarted(): boolean {
    return this.#status.startTimeMs !== undefined;
  }

  /** Aborts when the query must end. */
  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  /** Resolves when the query has ended. */
  get ended(): Promise<void> {
    return new Promise((resolve) => this.onEnded(resolve));
  }

  /** Calls back when the query has ended, at once where it has. @returns removes the callback, for those who wait for a shorter time */
  onEnded(call: () => void): () => void {
    if (isActive(this.#status)) this.#listeners.add(call);
    else call();
    return () => this.#listeners.delete(call);
  }

  /** Ends the query early; the first reason counts. No effect after its end. */
  stop(reason: Stop): void {
    if (!isActive(this.#status) || this.#stop !== undefined) return;
    this.#stop = reason;
    this.#stopping.abort(new Error(reason.message));
  }

  /** Runs the query to its end. Never throws. */
  async start(): Promise<void> {
    this.#update({ state: 'running', startTimeMs: this.#clock.now() });
    const end = await this.query.execute({
      requestId: this.requestId,
      submissionTimeMs: this.#status.submissionTimeMs,
      signal: this.signal,
      remainingMs: Math.max(1, this.#deadline.remainingMs()),
      onResponse: () => this.#update({ state: 'storing' }),
      onRows: (rowCount, bytes) => this.#update({ rowCount, bytes }),
    });
    if (end.kind === 'stored') {
      const { rowCount, bytes, expirationTimeMs, warnings } = end;
      this.#end('done', { rowCount, bytes, expirationTimeMs, ...(warnings !== undefined && { warnings }) });
      return;
    }
    const wasStarted = this.signal.aborted;
    this.endWithout(end);
    if (wasStarted) await this.query.cancelAtEngine(this.requestId);
  }

  /** Ends the query without a result. @param failure used unless it was stopped or its time is over */
  endWithout(failure: RunError): void {
    const late: Stop = {
      state: 'failed',
      status: 504,
      message: `the query did not end within ${this.#maxTimeMs} ms (\`olap.broker.pagination.async.max.time\`)`,
    };
    const { state, status, message, exceptions }: Stop =
      this.#stop ?? (this.#deadline.expired ? late : { state: 'failed', ...failure });
    this.#end(state, { error: { status, message, ...(exceptions !== undefined && { exceptions }) } });
  }

  /** Sets when the state is forgotten. */
  forgetAt(expirationTimeMs: number): void {
    this.#status = { ...this.#status, expirationTimeMs };
  }

  #update(change: Partial<RunStatus>): void {
    if (isActive(this.#status)) this.#status = { ...this.#status, ...change };
  }

  #end(state: RunState, change: Partial<RunStatus>): void {
    if (!isActive(this.#status)) return;
    this.#status = { ...this.#status, ...change, state, endTimeMs: this.#clock.now() };
    this.#deadline.clear();
    this.query.onEnd();
    for (const call of this.#listeners) call();
    this.#listeners.clear();
  }
}

export const CANCELLED: Stop = { state: 'cancelled', status: 499, message: 'the query was cancelled' };

export const REVOKED: Stop = {
  state: 'failed',
  status: 403,
  message:
    'the query was ended: its caller may no longer query every one of its tables, or its service token was deleted or has expired',
};
