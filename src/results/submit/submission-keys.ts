import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { errorMessage } from '../../platform/plain-error.ts';
import { isDamaged, QueryError } from '../errors.ts';
import { newRequestId } from '../request-id.ts';
import type { ResultStore } from '../result-store.ts';

/** Keys that a gateway keeps; the oldest ones of a caller are forgotten first. */
export const MAX_KEYS_OF_CALLER = 1_000;
const MAX_KEYS = 10_000;
/** How often a gateway confirms in a shared store that a submission still runs. */
export const CONFIRM_MS = 15_000;
/** Age of the last confirmation after which the gateway counts as ended. Includes the difference of the gateways' clocks. */
const CONFIRMED_MS = 45_000;
/** Time-out of one call of the store. */
const CALL_MS = 10_000;

/** A submission with a key that its client chose. */
export interface KeyedSubmission {
  /** SRN of the caller. */
  readonly owner: string;
  readonly key: string;
  /** The same for the same query. */
  readonly fingerprint: string;
}

/** What a key stands for. */
export type KeyClaim =
  /** An earlier submission, whose state or result is known. */
  | { readonly kind: 'known'; readonly requestId: string }
  /** The caller submits the query with this id, and calls `end` once when the submission has ended, successfully or not. Never throws. */
  | { readonly kind: 'new'; readonly requestId: string; readonly end: () => Promise<void> };

export interface SubmissionKeysOptions {
  readonly store: Pick<ResultStore, 'notes' | 'local'>;
  readonly clock: Clock;
  /** Creates the id of a result. */
  readonly newId: () => string;
  /** Identifies this process among those that use the store. */
  readonly instance: string;
  /** Whether there is a state or a result with the id. @throws {QueryError} damaged, store-unavailable */
  readonly isKnown: (requestId: string, signal: AbortSignal) => Promise<boolean>;
  readonly onProblem: (message: string) => void;
}

/** What a key stands for, as the store has it. */
interface KeyNote {
  readonly version: 1;
  readonly fingerprint: string;
  readonly requestId: string;
  readonly instance: string;
  /** Time of the last confirmation, epoch milliseconds. */
  readonly atMs: number;
}

/**
 * The keys by which clients send a submission again whose response they lost. A key belongs to its caller, and is forgotten with what it stands for. The keys
 * are notes in the store, so that with a shared store each gateway knows them.
 */
export class SubmissionKeys {
  readonly #options: SubmissionKeysOptions;
  /** Submissions of this process that have not ended, by the ids of their notes. */
  readonly #active = new Map<string, KeyNote>();
  /** Ids of the notes that this process wrote, by caller, the oldest first. */
  readonly #kept = new Map<string, Set<string>>();
  #count = 0;
  readonly #stop: () => Promise<void>;

  constructor(options: SubmissionKeysOptions) {
    this.#options = options;
    this.#stop = runPeriodically(() => this.#confirm(), {
      clock: options.clock,
      intervalMs: CONFIRM_MS,
      onError: (error) => this.#report(error),
    });
  }

  /** @throws {QueryError} key-reused for another query, key-busy while the submission runs, store-full, store-unavailable */
  async claim(submission: KeyedSubmission, signal: AbortSignal): Promise<KeyClaim> {
    const { newId, instance, clock } = this.#options;
    const { owner, fingerprint } = submission;
    const noteId = noteIdOf(submission);
    const running = this.#active.get(noteId);
    if (running !== undefined) throw running.fingerprint === fingerprint ? busy() : reused();
    const note: KeyNote = { version: 1, fingerprint, requestId: newId(), instance, atMs: clock.now() };
    // Before the first wait, so that of two submissions at once only one is new.
    this.#active.set(noteId, note);
    try {
      const earlier = await this.#inTime((limited) => this.#earlier(noteId, fingerprint, limited), signal);
      if (earlier === undefined) {
        await this.#inTime((limited) => this.#put(noteId, note, limited), signal);
        this.#keep(owner, noteId);
        return { kind: 'new', requestId: note.requestId, end: () => this.#end(noteId, note, owner) };
      }
      this.#active.delete(noteId);
      return { kind: 'known', requestId: earlier };
    } catch (error) {
      this.#active.delete(noteId);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  /** The id of an earlier submission that is known. @throws {QueryError} key-reused, key-busy, store-unavailable */
  async #earlier(noteId: string, fingerprint: string, signal: AbortSignal): Promise<string | undefined> {
    const { store, clock, instance } = this.#options;
    const text = await store.notes.get(noteId, 'key', signal);
    const note = text === undefined ? undefined : noteFromJson(text);
    if (note === undefined) return undefined;
    const isKnown = await this.#isKnown(note.requestId, signal);
    // Only other processes that use the store can still run it.
    const isRunning = !store.local && note.instance !== instance && clock.now() - note.atMs < CONFIRMED_MS;
    if (!isKnown && !isRunning) return undefined;
    if (note.fingerprint !== fingerprint) throw reused();
    if (!isKnown) throw busy();
    return note.requestId;
  }

  /** A result that nobody can read is none: its query runs again. */
  async #isKnown(requestId: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#options.isKnown(requestId, signal);
    } catch (error) {
      if (isDamaged(error)) return false;
      throw error;
    }
  }

  async #end(noteId: string, note: KeyNote, owner: string): Promise<void> {
    try {
      const isKnown = await this.#inTime((signal) => this.#isKnown(note.requestId, signal));
      if (!isKnown) await this.#forget(owner, noteId);
    } catch (error) {
      this.#report(error);
    } finally {
      this.#active.delete(noteId);
    }
  }

  #keep(owner: string, noteId: string): void {
    const ofOwner = this.#kept.get(owner) ?? new Set();
    this.#kept.set(owner, ofOwner);
    if (ofOwner.delete(noteId)) this.#count--;
    ofOwner.add(noteId);
    this.#count++;
    if (ofOwner.size <= MAX_KEYS_OF_CALLER && this.#count <= MAX_KEYS) return;
    const [from, keys] = ofOwner.size > 1 ? [owner, ofOwner] : ([...this.#kept][0] as [string, Set<string>]);
    const [oldest] = keys;
    if (oldest !== undefined) void this.#forget(from, oldest).catch((error: unknown) => this.#report(error));
  }

  async #forget(owner: string, noteId: string): Promise<void> {
    const ofOwner = this.#kept.get(owner);
    if (ofOwner?.delete(noteId) === true) this.#count--;
    if (ofOwner?.size === 0) this.#kept.delete(owner);
    await this.#inTime((signal) => this.#options.store.notes.delete(noteId, 'key', signal));
  }

  /** Tells the other gateways that the submissions of this one still run. */
  async #confirm(): Promise<void> {
    if (this.#options.store.local) return;
    const atMs = this.#options.clock.now();
    // At once, and each by itself: where one fails or is slow, the others must not count as ended and run a second time.
    const puts = Array.from(this.#active, ([noteId, note]) =>
      this.#inTime((signal) => this.#put(noteId, { ...note, atMs }, signal)).catch((error: unknown) =>
        this.#report(error),
      ),
    );
    await Promise.all(puts);
  }

  #put(noteId: string, note: KeyNote, signal: AbortSignal): Promise<void> {
    return this.#options.store.notes.put(noteId, 'key', JSON.stringify(note), signal);
  }

  async #inTime<T>(call: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> {
    const deadline = new Deadline(this.#options.clock, CALL_MS, outer);
    try {
      return await deadline.limit(call(deadline.signal));
    } catch (error) {
      if (!deadline.expired) throw error;
      throw new QueryError('store-unavailable', 'the result store does not respond', { cause: error });
    } finally {
      deadline.clear();
    }
  }

  #report(error: unknown): void {
    this.#options.onProblem(`failed to update the keys of submissions: ${errorMessage(error)}`);
  }
}

/** The same at each gateway. It contains nothing of the key in clear, and no other caller has it. */
function noteIdOf({ owner, key }: KeyedSubmission): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([owner, key]))
    .digest();
  return newRequestId('idempotency-key', (bytes) => hash.subarray(0, bytes));
}

function noteFromJson(json: string): KeyNote | undefined {
  try {
    const note = JSON.parse(json) as Partial<Record<keyof KeyNote, unknown>> | null;
    const texts = [note?.fingerprint, note?.requestId, note?.instance];
    const isValid =
      note?.version === 1 && texts.every((text) => typeof text === 'string') && Number.isSafeInteger(note.atMs);
    return isValid ? (note as KeyNote) : undefined;
  } catch {
    return undefined;
  }
}

function busy(): QueryError {
  return new QueryError(
    'key-busy',
    'a query with this `Idempotency-Key` is being submitted: send the request again later, with the same key',
  );
}

function reused(): QueryError {
  return new QueryError(
    'key-reused',
    'this `Idempotency-Key` belongs to another query: send a new key with each new query, and the same one only to repeat a request unchanged',
  );
}
