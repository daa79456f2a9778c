import { LruCache } from '../../platform/lru.ts';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { TableName } from '../../pinot/table-name.ts';
import { tableNames } from '../../access/sql/table-names.ts';
import { tableResource } from '../../access/policy/srn.ts';
import type { RequestContext } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { MAX_PLAN_BYTES, planTables } from './plan-tables.ts';

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
  /** Whether the query is an `EXPLAIN`: the tables in its plan are compared, too. */
  readonly explains: boolean;
}

/** The tables of an authorized query, for the check of the tables that the engine reports. */
export function authorizedTables(
  request: RequestContext,
  { tables, explains }: { readonly tables: readonly TableName[]; readonly explains: boolean },
): AuthorizedTables {
  const { authorizer } = request.server;
  return {
    names: tables,
    explains,
    mayQuery: (table) => authorizer.isAllowed(request.principal, 'Query', tableResource(table)),
  };
}

/**
 * The tables in `tablesQueried`, and in the plan of an `EXPLAIN`, that are not allowed; empty where the response has none.
 * @param tail end of the response; the complete one of an `EXPLAIN`
 */
export function unexpectedTables(tail: Buffer, { names, mayQuery, explains }: AuthorizedTables): string[] {
  const reported = explains ? [...queriedTables(tail), ...planTables(tail)] : queriedTables(tail);
  // The usual case.
  if (reported.every((name, at) => name === names[at])) return [];
  const exact = new Set<string>(names);
  return unknownTables(reported, names)
    .filter(({ meanings }) => meanings.length === 0 || !meanings.every((table) => exact.has(table) || mayQuery(table)))
    .map(({ name }) => name);
}

/** The authorized tables whose names `tablesQueried` has in another letter case, in that letter case. @param tail without unexpected tables */
export function respelledTables(tail: Buffer, names: readonly TableName[]): TableName[] {
  const meant = unknownTables(queriedTables(tail), names).flatMap(({ meanings }) => meanings);
  return [...new Set(meant)].filter((table) => !names.includes(table));
}

/** The names in `tablesQueried`. */
function queriedTables(tail: Buffer): readonly string[] {
  const start = tail.lastIndexOf(FIELD);
  const end = start < 0 ? -1 : tail.indexOf(CLOSING, start);
  return end < 0 ? [] : namesIn(tail.toString('utf8', start + FIELD.length - 1, end + 1));
}

/** The reported names that are not among the authorized names, each with those that it may mean. */
function unknownTables(
  reported: readonly string[],
  names: readonly TableName[],
): { readonly name: string; readonly meanings: readonly TableName[] }[] {
  const exact = new Set<string>(names);
  const known = new Set(names.map((name) => name.toLowerCase()));
  return reported
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
 * before the check. The response to an `EXPLAIN` is held back as a whole.
 */
export class TablesGuard {
  readonly #tables: AuthorizedTables;
  readonly #held: Tail;
  readonly #decompressed: Tail;
  readonly #gunzip: Gunzip | undefined;
  #failure: HttpError | undefined;
  #needsDrain = false;

  /**
   * @param compressed whether the response is gzip; a copy is decompressed for the check
   * @param onDrain called when `needsDrain` becomes false
   */
  constructor(tables: AuthorizedTables, compressed: boolean, onDrain: () => void) {
    this.#tables = tables;
    const bytes = tables.explains ? MAX_PLAN_BYTES : TAIL_BYTES;
    this.#held = new Tail(bytes);
    this.#decompressed = compressed ? new Tail(bytes) : this.#held;
    if (!compressed) return;
    this.#gunzip = createGunzip();
    this.#gunzip.on('data', (chunk: Buffer) => void this.#passed(this.#decompressed.push(chunk)));
    const drained = () => {
      if (!this.#needsDrain) return;
      this.#needsDrain = false;
      onDrain();
    };
    this.#gunzip.on('drain', drained);
    this.#gunzip.on('error', (error) => {
      const why = 'the response of the engine is not gzip, despite its Content-Encoding';
      this.#failure ??= new HttpError(502, why, { cause: error });
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
    return this.#passed(this.#held.push(chunk));
  }

  /** @param chunks that do not fit in the part of the response that is checked. @returns those that can be sent */
  #passed(chunks: readonly Buffer[]): readonly Buffer[] {
    if (!this.#tables.explains || chunks.length === 0) return chunks;
    this.#failure ??= new HttpError(
      502,
      `the plan of the query is longer than ${MAX_PLAN_BYTES} bytes, so the tables in it cannot be checked`,
    );
    return [];
  }

  /** Checks the complete response and passes on its end, or the error where it must not be sent. */
  finish(done: (unexpected: Error | undefined, rest: readonly Buffer[]) => void): void {
    const judge = () => {
      if (this.#failure) return done(this.#failure, []);
      const checked = this.#tables.explains ? this.#decompressed.whole() : this.#decompressed.end();
      const unexpected = unexpectedTables(checked, this.#tables);
      done(unexpected.length > 0 ? new UnexpectedTables(unexpected) : undefined, this.#held.chunks);
    };
    const gunzip = this.#gunzip;
    if (gunzip === undefined) return judge();
    // Decompression ends early if zeros follow the compressed data.
    if (this.#failure || gunzip.readableEnded) return judge();
    gunzip.once('error', judge);
    gunzip.once('end', judge);
    gunzip.end();
  }

  /** Frees the decompression. */
  close(): void {
    this.#gunzip?.destroy();
  }
}

/** The last chunks of a stream. */
class Tail {
  readonly chunks: Buffer[] = [];
  readonly #bytes: number;
  #size = 0;

  /** @param bytes that it keeps at least */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** @returns the chunks that are no longer part of the tail */
  push(chunk: Buffer): Buffer[] {
    this.chunks.push(chunk);
    this.#size += chunk.length;
    let count = 0;
    for (const first of this.chunks) {
      if (this.#size - first.length < this.#bytes) break;
      this.#size -= first.length;
      count++;
    }
    return this.chunks.splice(0, count);
  }

  /** The bytes of the tail. Only those from the field on, without a copy, where it is in the last chunk. It is near its end: the search begins there. */
  end(): Buffer {
    const last = this.chunks.at(-1);
    const start = last?.lastIndexOf(FIELD) ?? -1;
    return last !== undefined && start >= 0 ? last.subarray(start) : this.whole();
  }

  /** All bytes that it keeps. */
  whole(): Buffer {
    const [first, ...others] = this.chunks;
    return first !== undefined && others.length === 0 ? first : Buffer.concat(this.chunks);
  }
}
