import { LruCache } from '../../platform/lru.ts';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { TableName } from '../../pinot/table-name.ts';
import { tableNames } from '../../access/sql/table-names.ts';
import { HttpError } from '../server/errors.ts';

/** `tablesQueried` is in the statistics after the rows, which take a few kilobytes. */
const TAIL_BYTES = 64 * 1024;

const CLOSING = ']'.charCodeAt(0);
const FIELD = Buffer.from('"tablesQueried":[');

/** What a query was authorized for. */
export interface AuthorizedTables {
  /** In the spelling of the lists of tables, or of the text for tables that the lists do not have yet. */
  readonly names: readonly TableName[];
  /** Decides on one of the names in another letter case, which the engine may report for a table that the lists do not have yet. */
  readonly mayQuery: (table: TableName) => boolean;
}

/**
 * The tables in `tablesQueried` that are not allowed; empty where the field is absent.
 * @param tail end of the response
 */
export function unexpectedTables(tail: Buffer, { names, mayQuery }: AuthorizedTables): string[] {
  const exact = new Set<string>(names);
  return reportedTables(tail, names)
    .filter(({ meanings }) => meanings.length === 0 || !meanings.every((table) => exact.has(table) || mayQuery(table)))
    .map(({ name }) => name);
}

/** The authorized tables whose names `tablesQueried` has in another letter case, in that letter case. @param tail without unexpected tables */
export function respelledTables(tail: Buffer, names: readonly TableName[]): TableName[] {
  const meant = reportedTables(tail, names).flatMap(({ meanings }) => meanings);
  return [...new Set(meant)].filter((table) => !names.includes(table));
}

/** The names in `tablesQueried` that are not among the authorized names, each with those that it may mean. */
function reportedTables(
  tail: Buffer,
  names: readonly TableName[],
): { readonly name: string; readonly meanings: readonly TableName[] }[] {
  const start = tail.lastIndexOf(FIELD);
  const end = start < 0 ? -1 : tail.indexOf(CLOSING, start);
  if (end < 0) return [];
  const read = namesIn(tail.toString('latin1', start + FIELD.length - 1, end + 1));
  const exact = new Set<string>(names);
  const known = new Set(names.map((name) => name.toLowerCase()));
  return read
    .filter((name) => !exact.has(name))
    .map((name) => ({
      name,
      meanings: (tableNames(name) ?? []).filter((table) => known.has(table.toLowerCase())),
    }));
}

const MAX_LISTS = 500;
const MAX_LIST_LENGTH = 4096;
/** Cache of parsed lists: many responses have the same one. */
const parsedLists = new LruCache<string, readonly string[]>({ maxWeight: MAX_LISTS });

/** The strings of a JSON array. Empty for anything else, such as row data that contains the field name. */
function namesIn(text: string): readonly string[] {
  const known = parsedLists.get(text);
  if (known !== undefined) return known;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return [];
  }
  const names = (Array.isArray(read) ? read : []).filter((name) => typeof name === 'string');
  if (text.length <= MAX_LIST_LENGTH) parsedLists.set(text, names);
  return names;
}

/** The query read tables that were not authorized: the check before the query has a defect. */
export class UnexpectedTables extends HttpError {
  readonly tables: readonly string[];
  constructor(tables: readonly string[]) {
    super(403, 'query rejected: the engine read a table that the query does not name');
    this.tables = tables;
  }
}

/**
 * Passes a response through, except for its end, which is held back until `tablesQueried` is checked. So the client cannot get a complete response
 * before the check.
 */
export class TablesGuard {
  readonly #tables: AuthorizedTables;
  readonly #held = new Tail();
  readonly #decompressed: Tail;
  readonly #gunzip: Gunzip | undefined;
  #failure: Error | undefined;
  #needsDrain = false;

  /**
   * @param compressed whether the response is gzip; a copy is decompressed for the check
   * @param onDrain called when `needsDrain` becomes false
   */
  constructor(tables: AuthorizedTables, compressed: boolean, onDrain: () => void) {
    this.#tables = tables;
    this.#decompressed = compressed ? new Tail() : this.#held;
    if (!compressed) return;
    this.#gunzip = createGunzip();
    this.#gunzip.on('data', (chunk: Buffer) => void this.#decompressed.push(chunk));
    const drained = () => {
      if (!this.#needsDrain) return;
      this.#needsDrain = false;
      onDrain();
    };
    this.#gunzip.on('drain', drained);
    this.#gunzip.on('error', (error) => {
      this.#failure = error;
      drained();
    });
  }

  /** Whether the decompression has a full buffer. Do not push more until `onDrain`. */
  get needsDrain(): boolean {
    return this.#needsDrain;
  }

  /** @returns the chunks that can be sent now */
  push(chunk: Buffer): readonly Buffer[] {
    if (this.#gunzip && this.#failure === undefined) {
      this.#needsDrain = !this.#gunzip.write(chunk);
    }
    return this.#held.push(chunk);
  }

  /** Checks the complete response and passes on its end, or the error where it must not be sent. */
  finish(done: (unexpected: Error | undefined, rest: readonly Buffer[]) => void): void {
    const judge = () => {
      const unexpected = unexpectedTables(this.#decompressed.end(), this.#tables);
      done(unexpected.length > 0 ? new UnexpectedTables(unexpected) : undefined, this.#held.chunks);
    };
    const gunzip = this.#gunzip;
    if (gunzip === undefined) return judge();
    const fail = (cause: Error) =>
      done(new HttpError(502, 'the response of the engine is not gzip, despite its Content-Encoding', { cause }), []);
    if (this.#failure) return fail(this.#failure);
    // Decompression ends early if zeros follow the compressed data.
    if (gunzip.readableEnded) return judge();
    gunzip.once('error', fail);
    gunzip.once('end', judge);
    gunzip.end();
  }

  /** Frees the decompression. */
  close(): void {
    this.#gunzip?.destroy();
  }
}

/** The last chunks of a stream, at least `TAIL_BYTES`. */
class Tail {
  readonly chunks: Buffer[] = [];
  #size = 0;

  /** @returns the chunks that are no longer part of the tail */
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

  /** The bytes of the tail. Only the last chunk, without a copy, where it contains the field. */
  end(): Buffer {
    const last = this.chunks.at(-1);
    return last !== undefined && (this.chunks.length === 1 || last.includes(FIELD)) ? last : Buffer.concat(this.chunks);
  }
}
