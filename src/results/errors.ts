export type QueryErrorCode =
  /** The engine's response is not JSON or not in the documented form. */
  | 'bad-response'
  /** The store has no space for the result. */
  | 'store-full'
  /** The store failed or does not respond. */
  | 'store-unavailable'
  /** The stored result does not exist: never stored, expired, or deleted. */
  | 'not-found'
  /** The stored result is damaged or truncated. */
  | 'damaged'
  /** `offset` or `numRows` is outside the result. */
  | 'bad-page'
  /** The rows cannot be read from the bucket by a link. */
  | 'no-links'
  /** Too many concurrent submissions. */
  | 'busy'
  /** Too many asynchronous queries. */
  | 'too-many'
  /** An earlier submission has the same key and another query. */
  | 'key-reused'
  /** A submission with the same key is running. */
  | 'key-busy'
  /** The caller aborted. */
  | 'aborted';

/** A failed paginated query. `message` is sent to the caller: it contains no credential and no local path. */
export class QueryError extends Error {
  readonly code: QueryErrorCode;

  constructor(code: QueryErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'QueryError';
    this.code = code;
  }
}

/** The store cannot be used with its settings. `message` is one line for the administrator, and is not sent to callers. */
export class UnusableStoreError extends QueryError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('store-unavailable', message, options);
    this.name = 'UnusableStoreError';
  }
}

/** @param reason what is wrong with the stored bytes; may follow `the stored result is damaged: ` */
export function damaged(reason: string, options: ErrorOptions = {}): QueryError {
  return new QueryError('damaged', `the stored result is damaged: ${reason}. Run the query again`, options);
}

/** True if a stored result cannot be read. */
export function isDamaged(error: unknown): error is QueryError {
  return error instanceof QueryError && error.code === 'damaged';
}

/** @param requestId as the client sent it */
export function notFound(requestId: string): QueryError {
  const shown = requestId.length > 64 ? `${requestId.slice(0, 64)}…` : requestId;
  return new QueryError('not-found', `no query results for \`${shown}\`: never stored, expired, or deleted`);
}
