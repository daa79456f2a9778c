import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '../../../platform/plain-error.ts';
import { NOTE_KEPT_MS, type NoteKind, noteName, noteOf, type ResultNotes } from '../../notes.ts';
import { isRequestId } from '../../request-id.ts';
import { asStoreError, hasCode, writeDurably } from './file-io.ts';

export interface FileNotesOptions {
  /** Holds the notes, beside the results. */
  readonly dataDir: string;
  /** Path of a temporary file on the same device, for a name. Leftovers are removed by the store. */
  readonly partOf: (name: string) => string;
}

/** Notes as files, renamed into place. */
export class FileNotes implements ResultNotes {
  readonly #options: FileNotesOptions;
  /** Writes of one note follow each other: they use the same temporary file. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: FileNotesOptions) {
    this.#options = options;
  }

  async put(requestId: string, kind: NoteKind, text: string): Promise<void> {
    const name = noteName(requestId, kind);
    const before = this.#writing.get(name);
    const written = (async () => {
      await before?.catch(() => undefined);
      await this.#write(name, text);
    })();
    this.#writing.set(name, written);
    try {
      await written;
    } finally {
      if (this.#writing.get(name) === written) this.#writing.delete(name);
    }
  }

  async get(requestId: string, kind: NoteKind): Promise<string | undefined> {
    try {
      return await readFile(this.#path(noteName(requestId, kind)), 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw asStoreError(error);
    }
  }

  async delete(requestId: string, kind: NoteKind): Promise<void> {
    const name = noteName(requestId, kind);
    await this.#writing.get(name)?.catch(() => undefined);
    try {
      await rm(this.#path(name), { force: true });
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async *list(kind: NoteKind): AsyncIterable<string> {
    const names = await readdir(this.#options.dataDir).catch((error: unknown) => {
      throw asStoreError(error);
    });
    for (const name of names) {
      const note = noteOf(name);
      if (note?.kind === kind && isRequestId(note.requestId)) yield note.requestId;
    }
  }

  /** Removes notes that no gateway needs any more. @param now epoch milliseconds. @throws {Error} if a file cannot be removed */
  async removeOld(now: number): Promise<void> {
    for (const name of await readdir(this.#options.dataDir)) {
      const note = noteOf(name);
      if (note === undefined || !isRequestId(note.requestId)) continue;
      const found = await stat(this.#path(name)).catch(() => undefined);
      if (found !== undefined && now - found.mtimeMs > NOTE_KEPT_MS) await rm(this.#path(name), { force: true });
    }
  }

  #path(name: string): string {
    return join(this.#options.dataDir, name);
  }

  async #write(name: string, text: string): Promise<void> {
    const part = this.#options.partOf(name);
    const publish = async (): Promise<void> => {
      // A failed attempt may have left it.
      await rm(part, { force: true });
      await writeDurably(part, text);
      await rename(part, this.#path(name));
    };
    try {
      // The removal of leftovers may take the temporary file once an hour.
      await publish().catch((error: unknown) =>
        hasCode(error, 'ENOENT') ? publish() : Promise.reject(asError(error)),
      );
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw asStoreError(error);
    }
  }
}
