/**
 * What a note says. `run`: the state of an asynchronous query. `cancel`: another gateway asks for its cancellation. `alive`: the gateway of the id runs
 * asynchronous queries. `key`: what an `Idempotency-Key` of a caller stands for; its id is not that of a result. `check`: written, read and deleted at the start of a gateway, to find missing permissions.
 */
export type NoteKind = 'run' | 'cancel' | 'alive' | 'key' | 'check';

export const NOTE_KINDS: readonly NoteKind[] = ['run', 'cancel', 'alive', 'key', 'check'];

/** Age at which any gateway deletes a note. It exceeds the maximum run time of a query and the retention of its failure. */
export const NOTE_KEPT_MS = 49 * 3_600_000;

/**
 * Small texts beside the results, at most one of each kind for an id. They tell other gateways, and this one after a restart, about
 * queries that have no result yet. Notes of other kinds and results are not affected.
 */
export interface ResultNotes {
  /** Writes or replaces a note atomically. @throws {QueryError} store-full, store-unavailable */
  put(requestId: string, kind: NoteKind, text: string, signal: AbortSignal): Promise<void>;
  /** @throws {QueryError} store-unavailable */
  get(requestId: string, kind: NoteKind, signal: AbortSignal): Promise<string | undefined>;
  /** No effect if there is none. @throws {QueryError} store-unavailable */
  delete(requestId: string, kind: NoteKind, signal: AbortSignal): Promise<void>;
  /** Ids of all notes of a kind, in any order. @throws {QueryError} store-unavailable */
  list(kind: NoteKind, signal: AbortSignal): AsyncIterable<string>;
}

/** Name of a note in a store with names. */
export function noteName(requestId: string, kind: NoteKind): string {
  return `${requestId}.${kind}`;
}

/** The id and kind of a note; undefined for other names. */
export function noteOf(name: string): { readonly requestId: string; readonly kind: NoteKind } | undefined {
  const at = name.indexOf('.');
  const kind = NOTE_KINDS.find((known) => known === name.slice(at + 1));
  return at < 0 || kind === undefined ? undefined : { requestId: name.slice(0, at), kind };
}
