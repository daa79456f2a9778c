import { QueryError } from '../errors.ts';
import { type RowIndex, RowIndexBuilder } from '../rows/row-index.ts';
import { Envelope } from './envelope.ts';
import { type RawField, splitFields } from './fields.ts';
import { type RowSink, RowWalk } from './row-walk.ts';
import { Utf8Check } from './utf8-check.ts';

/** An engine response without its rows. */
export interface ScannedResponse {
  /** False if `resultTable` is missing or null. */
  readonly hasTable: boolean;
  /** False if `resultTable` is missing, null, or has no `rows`. */
  readonly hasRows: boolean;
  readonly rowCount: number;
  /** Bytes between the brackets of `rows`. */
  readonly rowBytes: number;
  readonly index: RowIndex;
  /** Text of `resultTable.dataSchema`; undefined if it is not an object. */
  readonly dataSchema: string | undefined;
  /** Fields of `resultTable` other than `dataSchema` and `rows`. */
  readonly tableFields: readonly RawField[];
  /** Top-level fields other than `resultTable`, in the engine's order. */
  readonly fields: readonly RawField[];
  /** Whether `exceptions` is not empty. */
  readonly hasExceptions: boolean;
  /** Bytes of the response before and after its rows; `tail` is empty if there are no rows. */
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/**
 * Scans the JSON of an engine response while it arrives, in one pass and bounded memory: returns the bytes of the rows, indexes
 * the row starts, and keeps everything else. Rows are not parsed.
 */
export class ResponseScanner {
  readonly #index = new RowIndexBuilder();
  readonly #envelope: Envelope;
  readonly #utf8 = new Utf8Check();
  #walk: RowWalk | undefined;
  #rowBytes = 0;
  #rowsAt = 0;

  constructor(options: { maxEnvelopeBytes?: number } = {}) {
    this.#envelope = new Envelope(options.maxEnvelopeBytes);
  }

  /** Number of rows so far. */
  get rows(): number {
    return this.#walk?.rows ?? 0;
  }

  /** What was received before the first row, once it has begun; then also what follows the last one. */
  get head(): Uint8Array {
    return this.#envelope.bytes;
  }

  /**
   * @returns the rows part of the chunk (a view, no copy); may be empty
   * @throws {QueryError} bad-response
   */
  push(chunk: Uint8Array): Uint8Array {
    this.#utf8.push(chunk);
    let from = 0;
    if (this.#walk === undefined) {
      from = this.#envelope.push(chunk, 0);
      if (from < 0) return chunk.subarray(0, 0);
      this.#rowsAt = this.#envelope.length;
      this.#walk = new RowWalk();
    }
    if (this.#walk.ended) {
      this.#pushTail(chunk, from);
      return chunk.subarray(0, 0);
    }
    const rest = from === 0 ? chunk : chunk.subarray(from);
    const used = this.#walk.scan(rest, this.#index.stride, this.#sink);
    const rows = rest.subarray(0, this.#walk.ended ? used - 1 : used);
    this.#rowBytes += rows.length;
    if (this.#walk.ended) {
      this.#envelope.rowsEnded();
      this.#pushTail(rest, used);
    }
    return rows;
  }

  /** Ends the response. @throws {QueryError} bad-response */
  end(): ScannedResponse {
    const walk = this.#walk;
    if (walk !== undefined && !walk.ended) {
      throw new QueryError('bad-response', `the engine's response ended unexpectedly after ${walk.rows} rows`);
    }
    this.#utf8.end();
    this.#envelope.end();
    const { bytes } = this.#envelope;
    const fields = splitFields(bytes);
    const tableJson = onlyField(fields, 'resultTable');
    const table = tableJson?.startsWith('{') === true ? splitFields(Buffer.from(tableJson)) : [];
    const dataSchema = onlyField(table, 'dataSchema');
    const rowsAt = walk === undefined ? bytes.length : this.#rowsAt;
    return {
      hasTable: tableJson !== undefined && tableJson !== 'null',
      hasRows: walk !== undefined,
      rowCount: walk?.rows ?? 0,
      rowBytes: this.#rowBytes,
      index: this.#index.build(),
      dataSchema: dataSchema?.startsWith('{') === true ? dataSchema : undefined,
      tableFields: table.filter((field) => field.name !== 'dataSchema' && field.name !== 'rows'),
      fields: fields.filter((field) => field.name !== 'resultTable'),
      hasExceptions: hasExceptions(onlyField(fields, 'exceptions')),
      head: bytes.subarray(0, rowsAt),
      tail: bytes.subarray(rowsAt),
    };
  }

  readonly #sink: RowSink = (row, offset) => this.#index.add(row, this.#rowBytes + offset);

  #pushTail(chunk: Uint8Array, from: number): void {
    // The envelope rejects a second `resultTable.rows`, so it always takes the whole chunk.
    this.#envelope.push(chunk, from);
  }
}

/** @throws {QueryError} bad-response if `exceptions` is not a list: the query may have failed */
function hasExceptions(exceptions: string | undefined): boolean {
  if (exceptions === undefined || exceptions === 'null') return false;
  if (exceptions.startsWith('[')) return !/^\[\s*\]$/.test(exceptions);
  throw new QueryError('bad-response', "`exceptions` in the engine's response is not a list");
}

/** The value of a field; undefined if absent. @throws {QueryError} bad-response for a repeated one: readers differ in which of the values they use */
function onlyField(fields: readonly RawField[], name: string): string | undefined {
  const [first, ...others] = fields.filter((field) => field.name === name);
  if (others.length > 0) throw new QueryError('bad-response', `the engine's response contains \`${name}\` twice`);
  return first?.value;
}
