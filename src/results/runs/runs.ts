import { errorMessage } from '../../platform/plain-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FairQueue, Place, QueueMetrics } from '../../platform/fair-queue.ts';
import { Deadline } from '../../platform/deadline.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { QueryError } from '../errors.ts';
import { NO_METRICS, type QueryMetrics } from '../metrics.ts';
import type { Damages } from '../rows/damages.ts';
import { isRequestId } from '../request-id.ts';
import type { ResultStore } from '../result-store.ts';
import type { PaginationSettings } from '../settings.ts';
import { requireRoom, runQueue } from './admission.ts';
import { type AsyncQuery, CANCELLED, REVOKED, Run } from './run.ts';
import { RunNotes } from './run-notes.ts';
import { isActive, type RunStatus, statusOfRecord } from './status.ts';

/** Interval at which rights are checked and notes of running queries are written, and between two searches for cancellations by other gateways. */
export const BEAT_MS = 5_000;
/** States of queries without result that a gateway keeps; the oldest ones go first, those of the same caller before others. */
const MAX_ENDED = 1_000;
const MAX_ENDED_OF_CALLER = 100;
/** How long the state of a query without result is kept. */
const ENDED_KEPT_MS = 24 * 3_600_000;
/** How long a cancellation waits for the end of the query, and a closing gateway for the ends of all. */
const STOP_MS = 5_000;

export interface QueryRunsOptions {
  readonly store: ResultStore;
  readonly settings: () => PaginationSettings;
  /** `brokerId` of this gateway. */
  readonly gatewayId: string;
  readonly clock: Clock;
  /** Creates the id of a result. */
  readonly newId: () => string;
  /** Identifies this process among those with the same `brokerId`. */
  readonly instance: string;
  /** Damages that were found by reading. Default: none. */
  readonly damages?: Pick<Damages, 'of'>;
  readonly metrics?: QueryMetrics;
  /** Default: the places for running queries have no metrics. */
  readonly limits?: QueueMetrics;
  readonly onProblem: (message: string) => void;
}

/**
 * Queries that run without their caller. Every query is known from its submission on: by this process while it runs, by its result when it is done, and
 * by a note in the store otherwise. Callers of this class check access.
 */
export class QueryRuns {
  readonly #options: QueryRunsOptions;
  readonly #notes: RunNotes;
  readonly #active = new Map<string, Run>();
  /** The places of the active queries, from the time on that their state is stored. */
  readonly #held = new Map<string, Place>();
  /** Queries of this process that have ended without a result, in order of their end. */
  readonly #ended = new Map<string, RunStatus>();
  readonly #metrics: QueryMetrics;
  readonly #places: FairQueue;
  readonly #stopPeriodic: readonly (() => Promise<void>)[];
  #isClosing = false;
  #aliveSince: Promise<void> | undefined;

  constructor(options: QueryRunsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#notes = new RunNotes(options);
    const { clock, settings, limits } = options;
    this.#places = runQueue(() => settings().async.maxRunning, clock, limits);
    limits?.watch(this.#places);
    const onError = (what: string) => (error: unknown) => this.#report(what, error);
    // Apart, because a slow store must delay neither the check of rights nor the sign that this gateway runs.
    this.#stopPeriodic = [
      runPeriodically(() => this.#beat(), {
        clock,
        intervalMs: BEAT_MS,
        onError: onError('failed to update the states of asynchronous queries'),
      }),
      runPeriodically((signal) => this.#cancelRequested(signal), {
        clock,
        intervalMs: BEAT_MS,
        onError: onError('failed to read which asynchronous queries were cancelled'),
      }),
    ];
  }

  /**
   * Accepts a query, which then runs even if the caller disconnects.
   * @param requestId a new id where absent
   * @throws {QueryError} too-many, store-full, store-unavailable
   */
  async submit(query: AsyncQuery, requestId?: string): Promise<RunStatus> {
    const { settings, clock, newId, gatewayId, store } = this.#options;
    const { async } = settings();
    if (this.#isClosing) throw new QueryError('busy', 'this gateway is stopping; try again');
    requireRoom(this.#active.values(), query, async);
    const ids = { requestId: requestId ?? newId(), brokerId: gatewayId, submissionTimeMs: clock.now() };
    const run = new Run(query, ids, async.maxTimeMs, clock);
    // Counted before the first wait, so that many submissions at once cannot exceed the limits.
    this.#active.set(run.requestId, run);
    try {
      if (!store.local) await (this.#aliveSince ??= this.#notes.beAlive());
      await this.#notes.save(run.status);
    } catch (error) {
      this.#aliveSince = undefined;
      this.#active.delete(run.requestId);
      run.endWithout({ status: 503, message: 'the state of the query could not be stored' });
      // The store may have written it although it failed.
      this.#track(this.#notes.remove(run.requestId));
      throw error instanceof QueryError
        ? error
        : new QueryError('store-unavailable', 'the result store does not respond', { cause: error });
    }
    this.#enter(run);
    return run.status;
  }

  /** @throws {QueryError} damaged, store-unavailable */
  async find(requestId: string, signal: AbortSignal): Promise<RunStatus | undefined> {
    if (!isRequestId(requestId)) return undefined;
    const own = this.#active.get(requestId)?.status ?? this.#kept(requestId);
    if (own !== undefined) return own;
    const stored = await this.#stored(requestId, signal);
    if (stored !== undefined) return stored;
    const noted = await this.#notes.read(requestId, signal);
    // The result may have become complete, and its note removed, since the first look.
    if (noted === undefined || noted.state === 'failed') return (await this.#stored(requestId, signal)) ?? noted;
    return noted;
  }

  /** Calls back when a query of this process has ended. @returns removes the callback; undefined where this process does not run the query */
  onEnded(requestId: string, call: () => void): (() => void) | undefined {
    return this.#active.get(requestId)?.onEnded(call);
  }

  /** Whether a query without result is known, here or in the store. */
  async isKnown(requestId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.find(requestId, signal)) !== undefined;
  }

  /**
   * Cancels a query. One that has ended already stays as it is.
   * @returns its status afterwards; undefined if it is unknown. With `cancelRequested` it is running on another gateway, which was asked to cancel it
   * @throws {QueryError} damaged, store-unavailable
   */
  async cancel(requestId: string, signal: AbortSignal): Promise<RunStatus | undefined> {
    const run = this.#active.get(requestId);
    if (run !== undefined) {
      run.stop(CANCELLED);
      await this.#untilEnded([run]);
      return isActive(run.status) ? { ...run.status, cancelRequested: true } : run.status;
    }
    const status = await this.find(requestId, signal);
    if (status === undefined || !isActive(status)) return status;
    await this.#notes.requestCancel(requestId, signal);
    return { ...status, cancelRequested: true };
  }

  /** The queries of this process that have no result: those that wait or run, and those that failed or were cancelled. */
  *own(): Iterable<RunStatus> {
    for (const { status } of this.#active.values()) yield status;
    for (const requestId of this.#ended.keys()) {
      const status = this.#kept(requestId);
      if (status !== undefined) yield status;
    }
  }

  /**
   * Queries of other processes that have no result, as noted in the store.
   * @param onLimit called where there are too many to read all of them
   * @throws {QueryError} store-unavailable
   */
  noted(onLimit: () => void, signal: AbortSignal): AsyncIterable<RunStatus> {
    const isOwn = (requestId: string): boolean => this.#active.has(requestId) || this.#ended.has(requestId);
    return this.#notes.list(isOwn, onLimit, signal);
  }

  /** Ends all queries, which then have failed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#stopPeriodic.map((stop) => stop()));
    const runs = [...this.#active.values()];
    for (const run of runs) {
      run.stop({ state: 'failed', status: 503, message: 'the gateway was stopped: run the query again' });
    }
    await this.#untilEnded(runs);
    await this.#within(STOP_MS, Promise.allSettled(this.#settling));
  }

  /** Writes of final states that are still going on. */
  readonly #settling = new Set<Promise<void>>();

  /** Waits for a place. A query that must end leaves the queue at once. */
  #enter(run: Run): void {
    const place = this.#places.enter(run.query.owner, { start: () => this.#startIn(run) });
    this.#held.set(run.requestId, place);
    const onStop = (): void => {
      if (run.isStarted) return;
      run.endWithout({ status: 503, message: 'the query was ended before it ran' });
      this.#settle(run);
    };
    if (run.signal.aborted) onStop();
    else run.signal.addEventListener('abort', onStop, { once: true });
    this.#count();
  }

  #startIn(run: Run): void {
    if (this.#isClosing || run.signal.aborted) return;
    if (run.query.isAllowed()) this.#start(run);
    else this.#endRevoked();
  }

  #endRevoked(): void {
    for (const run of this.#active.values()) if (!run.query.isAllowed()) run.stop(REVOKED);
  }

  #start(run: Run): void {
    void run.start().catch((error: unknown) => {
      run.endWithout({ status: 500, message: 'internal error; the log of the gateway has details' });
      this.#report(`the asynchronous query ${run.requestId} failed`, error);
    });
    if (!this.#options.store.local) this.#save(run.status);
    void run.ended.then(() => this.#settle(run));
  }

  /** Records the end of a query. */
  #settle(run: Run): void {
    const { requestId } = run;
    if (!this.#active.delete(requestId)) return;
    this.#metrics.asyncEnded(run.status.state);
    if (run.status.state === 'done') this.#track(this.#notes.remove(requestId));
    else this.#keep(run);
    this.#held.get(requestId)?.release();
    this.#held.delete(requestId);
    this.#count();
  }

  #keep(run: Run): void {
    run.forgetAt(this.#options.clock.now() + ENDED_KEPT_MS);
    this.#ended.set(run.requestId, run.status);
    this.#track(this.#notes.end(run.status));
    const { owner } = run.query;
    const ofCaller = [...this.#ended.values()].filter((status) => status.owner === owner);
    if (ofCaller.length > MAX_ENDED_OF_CALLER) this.#forget((ofCaller[0] as RunStatus).requestId);
    this.#forgetOld();
  }

  #forgetOld(): void {
    const now = this.#options.clock.now();
    for (const [requestId, { expirationTimeMs = now }] of this.#ended) {
      if (this.#ended.size <= MAX_ENDED && expirationTimeMs > now) break;
      this.#forget(requestId);
    }
  }

  #forget(requestId: string): void {
    this.#ended.delete(requestId);
    this.#track(this.#notes.remove(requestId));
  }

  #kept(requestId: string): RunStatus | undefined {
    const status = this.#ended.get(requestId);
    return (status?.expirationTimeMs ?? 0) > this.#options.clock.now() ? status : undefined;
  }

  async #stored(requestId: string, signal: AbortSignal): Promise<RunStatus | undefined> {
    const reader = await this.#options.store.open(requestId, signal);
    if (reader === undefined) return undefined;
    await reader.close();
    const { record, damage } = reader;
    if (record.expirationTimeMs <= this.#options.clock.now()) return undefined;
    return statusOfRecord(record, damage?.message ?? this.#options.damages?.of(record));
  }

  async #beat(): Promise<void> {
    this.#endRevoked();
    this.#forgetOld();
    if (this.#options.store.local || this.#active.size === 0) {
      this.#aliveSince = undefined;
      return;
    }
    this.#aliveSince = this.#notes.beAlive();
    try {
      await this.#aliveSince;
    } catch (error) {
      // The next submission tries again: the store may work by then.
      this.#aliveSince = undefined;
      throw error;
    }
    for (const run of this.#active.values()) if (run.isStarted) this.#save(run.status);
  }

  /** Cancels the queries of which another gateway was asked to. */
  async #cancelRequested(signal: AbortSignal): Promise<void> {
    if (this.#options.store.local) return;
    for await (const requestId of this.#notes.cancelled([...this.#active.keys()], signal)) {
      this.#active.get(requestId)?.stop(CANCELLED);
    }
  }

  #save(status: RunStatus): void {
    this.#track(this.#notes.save(status));
  }

  #track(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => this.#report('failed to store the state of an asynchronous query', error))
      .finally(() => this.#settling.delete(done));
    this.#settling.add(done);
  }

  async #untilEnded(runs: readonly Run[]): Promise<void> {
    await this.#within(STOP_MS, Promise.all(runs.map(({ ended }) => ended)));
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const deadline = new Deadline(this.#options.clock, ms);
    await deadline.limit(work).catch(() => undefined);
    deadline.clear();
  }

  #count(): void {
    let running = 0;
    for (const run of this.#active.values()) if (run.isStarted) running++;
    this.#metrics.asyncActive(this.#active.size - running, running);
  }

  #report(what: string, error: unknown): void {
    this.#options.onProblem(`${what}: ${errorMessage(error)}`);
  }
}
