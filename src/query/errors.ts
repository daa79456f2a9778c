export type QueryErrorCode =
  /** The engine's answer is no JSON, or not of the form that it documents. */
  | 'bad-answer'
  /** The store has no room for the result. */
  | 'store-full'
  /** The store failed or does not answer. */
  | 'store-unavailable'
  /** No such stored result: never stored, expired, or deleted. */
  | 'not-found'
  /** `offset` or `numRows` is not in the result. */
  | 'bad-page'
  /** The engine is asked to keep a result, and cannot. */
  | 'no-cursors'
  /** Too many submissions at once. */
  | 'busy'
  /** The caller went away. */
  | 'aborted';

/** A paginated query that cannot go on. `message` reaches the caller: it holds no credential and no path of this machine. */
export class QueryError extends Error {
  readonly code: QueryErrorCode;

  constructor(code: QueryErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'QueryError';
    this.code = code;
  }
}
