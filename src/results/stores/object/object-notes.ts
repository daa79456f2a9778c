import type { WallClock } from '../../../platform/clock.ts';
import { NOTE_KEPT_MS, type NoteKind, noteName, noteOf, type ResultNotes } from '../../notes.ts';
import { isRequestId } from '../../request-id.ts';
import type { ObjectClient, StoredObject } from './object-client.ts';

/** Notes removed by one run, so that many do not occupy a gateway for long. */
const MAX_REMOVED = 1000;

/** Notes as objects of a bucket. */
export class ObjectNotes implements ResultNotes {
  readonly #client: ObjectClient;

  constructor(client: ObjectClient) {
    this.#client = client;
  }

  async put(requestId: string, kind: NoteKind, text: string, signal: AbortSignal): Promise<void> {
    await this.#client.put(noteName(requestId, kind), Buffer.from(text), signal);
  }

  async get(requestId: string, kind: NoteKind, signal: AbortSignal): Promise<string | undefined> {
    const bytes = await this.#client.get(noteName(requestId, kind), signal);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  }

  async delete(requestId: string, kind: NoteKind, signal: AbortSignal): Promise<void> {
    await this.#client.delete(noteName(requestId, kind), signal);
  }

  async *list(kind: NoteKind, signal: AbortSignal): AsyncIterable<string> {
    for await (const { key } of this.#client.list('', signal)) {
      const note = noteOf(key);
      if (note?.kind === kind && isRequestId(note.requestId)) yield note.requestId;
    }
  }

  /** Removes notes that no gateway needs any more, of any gateway. @throws {QueryError} store-unavailable */
  async removeOld(clock: WallClock, signal: AbortSignal): Promise<void> {
    let removed = 0;
    for await (const object of this.#client.list('', signal)) {
      if (!isOldNote(object, clock.now())) continue;
      await this.#client.delete(object.key, signal);
      if (++removed >= MAX_REMOVED) return;
    }
  }
}

function isOldNote({ key, modifiedMs }: StoredObject, now: number): boolean {
  const note = noteOf(key);
  return (
    note !== undefined && isRequestId(note.requestId) && modifiedMs !== undefined && now - modifiedMs > NOTE_KEPT_MS
  );
}
