import { createGunzip, type Gunzip } from 'node:zlib';
import { tableNames } from '../../access/sql-tables.ts';
import { releasePiece, retainPiece } from '../../engine/wire/slabs.ts';
import { HttpError } from '../errors.ts';

/** The statistics after the rows are a few kilobytes; the list of tables is among them. */
const TAIL_BYTES = 64 * 1024;

const CLOSING = ']'.charCodeAt(0);
const FIELD = Buffer.from('"tablesQueried":[');

/**
 * The tables that an answer says were read and that were not allowed; empty where it names none or says nothing.
 * @param tail the end of the answer
 * @param allowed names as the engine calls them
 */
export function unexpectedTables(tail: Buffer, allowed: readonly string[]): string[] {
  const start = tail.lastIndexOf(FIELD);
  const end = start < 0 ? -1 : tail.indexOf(CLOSING, start);
  if (end < 0) return [];
  const read = namesIn(tail.toString('latin1', start + FIELD.length - 1, end + 1));
  const known = new Set(allowed.map((name) => name.toLowerCase()));
  return read
    .filter((name) => !known.has(name.toLowerCase()))
    .filter((name) => !(tableNames(name, undefined) ?? [name]).some((raw) => known.has(raw.toLowerCase())));
}

const MAX_LISTS = 500;
const MAX_LIST_LENGTH = 4096;
/** Answers name the same tables over and over. */
const lists = new Map<string, readonly string[]>();

/** The texts in a list in JSON; none where it is no such list, such as a row that holds the field's name. */
function namesIn(text: string): readonly string[] {
  const known = lists.get(text);
  if (known !== undefined) return known;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return [];
  }
  const names = (Array.isArray(read) ? read : []).filter((name) => typeof name === 'string');
  if (text.length > MAX_LIST_LENGTH) return names;
  if (lists.size >= MAX_LISTS) lists.clear();
  lists.set(text, names);
  return names;
}

/** An answer that read other tables than were allowed: the check before the query has a hole. */
export class UnexpectedTables extends HttpError {
  readonly tables: readonly string[];
  constructor(tables: readonly string[]) {
    super(403, 'the query is refused: it read more tables than could be told from its text');
    this.tables = tables;
  }
}

/**
 * Lets an answer by but for its end, which is held until the tables that it names are seen to be allowed: nothing that the client could take for
 * a whole answer is sent before.
 */
export class TablesGuard {
  readonly #allowed: readonly string[];
  readonly #held = new Tail();
  readonly #unpacked: Tail;
  readonly #gunzip: Gunzip | undefined;
  #failure: Error | undefined;
  #behind = false;

  /**
   * @param packed whether the answer is gzip'ed; it is unpacked beside its passing
   * @param onCaughtUp told when `behind` is over
   */
  constructor(allowed: readonly string[], packed: boolean, onCaughtUp: () => void) {
    this.#allowed = allowed;
    this.#unpacked = packed ? new Tail() : this.#held;
    if (!packed) return;
    this.#gunzip = createGunzip();
    this.#gunzip.on('data', (chunk: Buffer) => void this.#unpacked.push(chunk));
    const caughtUp = () => {
      if (!this.#behind) return;
      this.#behind = false;
      onCaughtUp();
    };
    this.#gunzip.on('drain', caughtUp);
    this.#gunzip.on('error', (error) => {
      this.#failure = error;
      caughtUp();
    });
  }

  /** Whether unpacking is behind: no more should be pushed until it caught up. */
  get behind(): boolean {
    return this.#behind;
  }

  /** @returns what may go on now */
  push(chunk: Buffer): readonly Buffer[] {
    if (this.#gunzip && this.#failure === undefined) {
      retainPiece(chunk);
      this.#behind = !this.#gunzip.write(chunk, () => releasePiece(chunk));
    }
    return this.#held.push(chunk);
  }

  /** Judges the answer when it is whole: hands over its end, or why it must not go out. */
  finish(done: (unexpected: Error | undefined, rest: readonly Buffer[]) => void): void {
    const judge = () => {
      const unexpected = unexpectedTables(this.#unpacked.end(), this.#allowed);
      done(unexpected.length > 0 ? new UnexpectedTables(unexpected) : undefined, this.#held.chunks);
    };
    const gunzip = this.#gunzip;
    if (gunzip === undefined) return judge();
    const fail = (error: Error) => done(error, []);
    if (this.#failure) return fail(this.#failure);
    gunzip.once('error', fail);
    gunzip.once('end', judge);
    gunzip.end();
  }

  /** Frees what unpacking holds. */
  close(): void {
    this.#gunzip?.destroy();
  }
}

/** The last chunks of what went by, `TAIL_BYTES` at least. */
class Tail {
  readonly chunks: Buffer[] = [];
  #size = 0;

  /** @returns what is no longer part of the tail */
  push(chunk: Buffer): Buffer[] {
    this.chunks.push(chunk);
    this.#size += chunk.length;
    let count = 0;
    for (const first of this.chunks) {
      if (this.#size - first.length < TAIL_BYTES) break;
      this.#size -= first.length;
      count++;
    }
    return this.chunks.splice(0, count);
  }

  /** The bytes; the last piece alone where the field that is looked for stands in it. */
  end(): Buffer {
    const last = this.chunks.at(-1);
    return last !== undefined && (this.chunks.length === 1 || last.includes(FIELD)) ? last : Buffer.concat(this.chunks);
  }
}
