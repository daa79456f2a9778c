import { ResponseScanner } from '../../results/scanner/response-scanner.ts';
import { HttpError } from '../server/errors.ts';

/** The row limits in the SQL text of a query. */
export interface AskedRows {
  /** The outermost `LIMIT`; undefined where there is none. */
  readonly limit: number | undefined;
  /** Whether the multi-stage engine is selected, which has no default row limit. */
  readonly multistage: boolean;
}

/** An error message where the query text exceeds the row limit; undefined otherwise. The rows of the response are counted in any case. */
export function tooManyAsked({ limit, multistage }: AskedRows, max: number): string | undefined {
  if (limit !== undefined && limit > max) {
    return `the query requests ${limit} rows, but the row limit of this caller is ${max} per query: end it with \`LIMIT ${max}\` or less`;
  }
  if (limit === undefined && multistage) {
    return `the query does not limit its rows, but the row limit of this caller is ${max} per query: end it with \`LIMIT ${max}\` or less`;
  }
  return undefined;
}

/** A response with more rows than the caller's limit. */
export class TooManyRows extends HttpError {
  readonly max: number;
  constructor(max: number) {
    super(
      400,
      `the response exceeds the row limit of this caller, ${max} per query: end the query with \`LIMIT ${max}\` or less`,
    );
    this.max = max;
  }
}

const SPACE = 0x20;
const OPEN_OBJECT = 0x7b;

/** Counts the rows of a streamed response. */
export class RowCounter {
  readonly #max: number;
  readonly #scanner = new ResponseScanner();
  /** What a response with another status than 200 is, until its first byte is known: an error may be a text, which has no rows. */
  #form: 'unknown' | 'json' | 'text';

  /** @param status an error has rows where the query failed in a part and the caller asked for HTTP statuses */
  constructor(max: number, status: number) {
    this.#max = max;
    this.#form = status === 200 ? 'json' : 'unknown';
  }

  /** @returns the error where the chunk must not be sent; otherwise undefined */
  push(piece: Uint8Array): Error | undefined {
    const first = this.#form === 'unknown' ? piece.find((byte) => byte > SPACE) : undefined;
    if (first !== undefined) this.#form = first === OPEN_OBJECT ? 'json' : 'text';
    if (this.#form === 'text') return undefined;
    try {
      this.#scanner.push(piece);
    } catch (error) {
      return new HttpError(502, 'the rows of the response cannot be counted, but this caller has a row limit', {
        cause: error,
      });
    }
    return this.#scanner.rows > this.#max ? new TooManyRows(this.#max) : undefined;
  }
}
