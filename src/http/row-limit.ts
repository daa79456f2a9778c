import { AnswerScanner } from '../query/scanner/answer-scanner.ts';
import { HttpError } from './errors.ts';

/** What a text says of the rows that it asks for. */
export interface AskedRows {
  /** The outermost `LIMIT`; undefined where there is none. */
  readonly limit: number | undefined;
  /** Whether the multi-stage engine is asked for, which bounds the rows of no query by itself. */
  readonly multistage: boolean;
}

/** Why a text asks for more rows than its caller may get; undefined where it does not. What it gives in the end is counted all the same. */
export function tooManyAsked({ limit, multistage }: AskedRows, max: number): string | undefined {
  if (limit !== undefined && limit > max) {
    return `the query asks for ${limit} rows, and this caller may get ${max} a query: write \`LIMIT ${max}\` or less at its end`;
  }
  if (limit === undefined && multistage) {
    return `the query does not bound its rows, and this caller may get ${max} a query: write \`LIMIT ${max}\` or less at its end`;
  }
  return undefined;
}

/** An answer that holds more rows than its caller may get. */
export class TooManyRows extends HttpError {
  readonly max: number;
  constructor(max: number) {
    super(
      400,
      `the answer holds more than the ${max} rows that this caller may get a query: write \`LIMIT ${max}\` or less at its end`,
    );
    this.max = max;
  }
}

/** Counts the rows of an answer as it streams by. */
export class RowCounter {
  readonly #max: number;
  readonly #scanner = new AnswerScanner();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns why the piece must not go out; undefined where it may */
  push(piece: Uint8Array): Error | undefined {
    try {
      this.#scanner.push(piece);
    } catch (error) {
      return new HttpError(
        502,
        'the rows of the answer cannot be counted, and this caller may not get any number of them',
        {
          cause: error,
        },
      );
    }
    return this.#scanner.rows > this.#max ? new TooManyRows(this.#max) : undefined;
  }
}
