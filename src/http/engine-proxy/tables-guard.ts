import { Transform, type TransformCallback } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { tableNames } from '../../access/sql-tables.ts';
import { HttpError } from '../errors.ts';

/** The statistics after the rows are a few kilobytes; the list of tables is among them. */
const TAIL_BYTES = 64 * 1024;

const FIELD = '"tablesQueried":[';

/**
 * The tables that an answer says were read and that were not allowed; empty where it names none or says nothing.
 * @param tail the end of the answer
 * @param allowed names as the engine calls them
 */
export function unexpectedTables(tail: string, allowed: readonly string[]): string[] {
  const start = tail.lastIndexOf(FIELD);
  const end = start < 0 ? -1 : tail.indexOf(']', start);
  if (end < 0) return [];
  let read: unknown;
  try {
    read = JSON.parse(tail.slice(start + FIELD.length - 1, end + 1));
  } catch {
    // A row that holds such a text, not the field.
    return [];
  }
  const known = new Set(allowed.map((name) => name.toLowerCase()));
  return (Array.isArray(read) ? read : [])
    .filter((name) => typeof name === 'string')
    .filter((name) => !(tableNames(name, undefined) ?? [name]).some((raw) => known.has(raw.toLowerCase())));
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
 * Passes an answer on but for its end, which is held until the tables that it names are seen to be allowed. Otherwise the stream breaks off
 * with `UnexpectedTables`: nothing that the client could take for a whole answer is sent.
 */
export class TablesGuard extends Transform {
  readonly #allowed: readonly string[];
  readonly #held = new Tail();
  readonly #unpacked: Tail;
  readonly #gunzip: Gunzip | undefined;

  /** @param packed whether the answer is gzip'ed; it is unpacked beside its passing */
  constructor(allowed: readonly string[], packed: boolean) {
    super();
    this.#allowed = allowed;
    this.#unpacked = packed ? new Tail() : this.#held;
    if (!packed) return;
    this.#gunzip = createGunzip();
    this.#gunzip.on('data', (chunk: Buffer) => this.#unpacked.push(chunk));
    this.#gunzip.on('error', (error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (const ready of this.#held.push(chunk)) this.push(ready);
    if (this.#gunzip === undefined || this.#gunzip.write(chunk)) done();
    else this.#gunzip.once('drain', () => done());
  }

  override _flush(done: TransformCallback): void {
    if (this.#gunzip === undefined) return done(this.#finish());
    this.#gunzip.once('end', () => done(this.#finish()));
    this.#gunzip.end();
  }

  /** Lets the held end go, or says why not. */
  #finish(): Error | null {
    const unexpected = unexpectedTables(this.#unpacked.text(), this.#allowed);
    if (unexpected.length > 0) return new UnexpectedTables(unexpected);
    for (const chunk of this.#held.chunks) this.push(chunk);
    return null;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#gunzip?.destroy();
    done(error);
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

  text(): string {
    const [only, ...more] = this.chunks;
    const bytes = only !== undefined && more.length === 0 ? only : Buffer.concat(this.chunks);
    return bytes.subarray(-TAIL_BYTES).toString('latin1');
  }
}
