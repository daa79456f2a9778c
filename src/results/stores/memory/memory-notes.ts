import { type NoteKind, noteName, noteOf, type ResultNotes } from '../../notes.ts';

/** Notes in memory. The number of asynchronous queries bounds them. */
export class MemoryNotes implements ResultNotes {
  readonly #texts = new Map<string, string>();

  async put(requestId: string, kind: NoteKind, text: string): Promise<void> {
    this.#texts.set(noteName(requestId, kind), text);
  }

  async get(requestId: string, kind: NoteKind): Promise<string | undefined> {
    return this.#texts.get(noteName(requestId, kind));
  }

  async delete(requestId: string, kind: NoteKind): Promise<void> {
    this.#texts.delete(noteName(requestId, kind));
  }

  async *list(kind: NoteKind): AsyncIterable<string> {
    for (const name of this.#texts.keys()) {
      const note = noteOf(name);
      if (note?.kind === kind) yield note.requestId;
    }
  }
}
