import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import { holderOf, holderTag } from '../request-id.ts';
import type { ResultStore } from '../result-store.ts';
import { aliveFromJson, isActive, noteFromJson, noteToJson, type RunNote, type RunStatus } from './status.ts';

/** Time-out of one call of the store. */
const CALL_MS = 10_000;
/** Age of the sign of life after which a gateway counts as ended. Includes the difference of the gateways' clocks. */
const ALIVE_MS = 45_000;
const CONCURRENCY = 8;
/** A gateway keeps at most 1,000 notes of queries that have ended. */
const MAX_LISTED = 5_000;

export interface RunNotesOptions {
  readonly store: Pick<ResultStore, 'notes' | 'local'>;
  /** `brokerId` of this gateway. */
  readonly gatewayId: string;
  /** Identifies this process. */
  readonly instance: string;
  readonly clock: Clock;
}

/** The states of asynchronous queries in the store, which survive their gateway. */
export class RunNotes {
  readonly #options: RunNotesOptions;
  readonly #tag: string;
  /** Ends with zeros, which no random id has in practice. */
  readonly #aliveId: string;
  /** Calls for one query follow each other. */
  readonly #calls = new Map<string, Promise<void>>();

  constructor(options: RunNotesOptions) {
    this.#options = options;
    this.#tag = holderTag(options.gatewayId);
    this.#aliveId = aliveIdOf(this.#tag);
  }

  /** @throws {QueryError} store-full, store-unavailable */
  save(status: RunStatus): Promise<void> {
    const text = noteToJson({ version: 1, instance: this.#options.instance, status });
    return this.#inOrder(status.requestId, (signal) => this.#notes.put(status.requestId, 'run', text, signal));
  }

  /** Saves the status of a query that has ended. @throws {QueryError} store-full, store-unavailable */
  async end(status: RunStatus): Promise<void> {
    await this.save(status);
    await this.#inOrder(status.requestId, (signal) => this.#removeCancel(status.requestId, signal));
  }

  /** @throws {QueryError} store-unavailable */
  remove(requestId: string): Promise<void> {
    return this.#inOrder(requestId, async (signal) => {
      await this.#notes.delete(requestId, 'run', signal);
      await this.#removeCancel(requestId, signal);
    });
  }

  /** The status of a query that this process does not know. @throws {QueryError} store-unavailable */
  async read(requestId: string, signal: AbortSignal): Promise<RunStatus | undefined> {
    const text = await this.#notes.get(requestId, 'run', signal);
    const note = text === undefined ? undefined : noteFromJson(text);
    if (note === undefined || note.status.requestId !== requestId) return undefined;
    const { status } = note;
    if ((status.expirationTimeMs ?? Number.POSITIVE_INFINITY) <= this.#options.clock.now()) return undefined;
    if (!isActive(status)) return status;
    if (!(await this.#isAlive(note, signal))) return deadStatus(status);
    const cancelRequested = await this.isCancelled(requestId, signal);
    return cancelRequested ? { ...status, cancelRequested } : status;
  }

  /**
   * Queries that this process does not know. Reads at most `MAX_LISTED` notes.
   * @param isOwn whether this process knows the query
   * @param onLimit called where there are more notes
   * @throws {QueryError} store-unavailable
   */
  async *list(
    isOwn: (requestId: string) => boolean,
    onLimit: () => void,
    signal: AbortSignal,
  ): AsyncIterable<RunStatus> {
    let batch: string[] = [];
    let read = 0;
    for await (const requestId of this.#notes.list('run', signal)) {
      if (isOwn(requestId)) continue;
      if (read >= MAX_LISTED) return onLimit();
      batch.push(requestId);
      if (batch.length < CONCURRENCY) continue;
      yield* await this.#readAll(batch, signal);
      read += batch.length;
      batch = [];
    }
    yield* await this.#readAll(batch, signal);
  }

  async #readAll(ids: readonly string[], signal: AbortSignal): Promise<RunStatus[]> {
    const all = await Promise.all(ids.map((requestId) => this.read(requestId, signal)));
    return all.filter((status) => status !== undefined);
  }

  /** Asks the gateway that runs the query to cancel it. @throws {QueryError} store-unavailable */
  async requestCancel(requestId: string, signal: AbortSignal): Promise<void> {
    await this.#notes.put(requestId, 'cancel', '{}', signal);
  }

  /**
   * The ids of the queries that another gateway asked to cancel.
   * @throws {QueryError} store-unavailable; at the end, so that one failed call does not affect the other queries
   */
  async *cancelled(requestIds: readonly string[], signal: AbortSignal): AsyncIterable<string> {
    const failures: unknown[] = [];
    for (let at = 0; at < requestIds.length && !signal.aborted; at += CONCURRENCY) {
      const batch = requestIds.slice(at, at + CONCURRENCY);
      const results = await Promise.allSettled(batch.map((requestId) => this.#isCancelledInTime(requestId, signal)));
      for (const [index, result] of results.entries()) {
        if (result.status === 'rejected') failures.push(result.reason);
        else if (result.value) yield batch[index] as string;
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #isCancelledInTime(requestId: string, signal: AbortSignal): Promise<boolean> {
    const deadline = new Deadline(this.#options.clock, CALL_MS, signal);
    try {
      return await deadline.limit(this.isCancelled(requestId, deadline.signal));
    } finally {
      deadline.clear();
    }
  }

  /** Whether another gateway asked for the cancellation. @throws {QueryError} store-unavailable */
  async isCancelled(requestId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#notes.get(requestId, 'cancel', signal)) !== undefined;
  }

  /** Tells the other gateways that this one runs. @throws {QueryError} store-unavailable */
  beAlive(): Promise<void> {
    const { instance, clock } = this.#options;
    const text = JSON.stringify({ instance, atMs: clock.now() });
    return this.#inOrder(this.#aliveId, (signal) => this.#notes.put(this.#aliveId, 'alive', text, signal));
  }

  get #notes(): ResultStore['notes'] {
    return this.#options.store.notes;
  }

  async #removeCancel(requestId: string, signal: AbortSignal): Promise<void> {
    // Only other gateways ask for a cancellation by a note.
    if (!this.#options.store.local) await this.#notes.delete(requestId, 'cancel', signal);
  }

  async #isAlive({ instance, status }: RunNote, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#options;
    const tag = holderOf(status.requestId);
    // This process knows its own queries, only it uses a local store, and no other one that runs has its id.
    if (store.local || tag === this.#tag) return false;
    const text = await this.#notes.get(aliveIdOf(tag), 'alive', signal);
    const alive = text === undefined ? undefined : aliveFromJson(text);
    return alive?.instance === instance && clock.now() - alive.atMs < ALIVE_MS;
  }

  async #inOrder(id: string, call: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const result = this.#after(this.#calls.get(id), call);
    this.#calls.set(id, result);
    try {
      await result;
    } finally {
      if (this.#calls.get(id) === result) this.#calls.delete(id);
    }
  }

  async #after(before: Promise<void> | undefined, call: (signal: AbortSignal) => Promise<void>): Promise<void> {
    await before?.catch(() => undefined);
    const deadline = new Deadline(this.#options.clock, CALL_MS);
    try {
      await deadline.limit(call(deadline.signal));
    } finally {
      deadline.clear();
    }
  }
}

function aliveIdOf(tag: string): string {
  return `${tag}-${'0'.repeat(30)}`;
}

function deadStatus(status: RunStatus): RunStatus {
  const message = `the gateway \`${status.brokerId}\` ended or restarted before the result was complete: run the query again`;
  return { ...status, state: 'failed', error: { status: 503, message } };
}
