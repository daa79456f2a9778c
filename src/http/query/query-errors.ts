import { QueryError, type QueryErrorCode } from '../../query/errors.ts';
import { HttpError } from '../errors.ts';

const STATUS: Readonly<Record<QueryErrorCode, number>> = {
  'bad-answer': 502,
  'store-full': 507,
  'store-unavailable': 503,
  'not-found': 404,
  'bad-page': 400,
  // By configuration: neither the caller nor another try can mend it.
  'no-cursors': 501,
  busy: 503,
  // Nobody is there to read it; the access log should not call it a fault of the server.
  aborted: 499,
};

const RETRY_AFTER_SECONDS = '2';

/** An error of the query floor as the answer that the caller gets; anything else as it is. */
export function asHttpError(error: unknown): unknown {
  if (!(error instanceof QueryError)) return error;
  const status = STATUS[error.code];
  const headers: Record<string, string> = status === 503 ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
  return new HttpError(status, error.message, { headers, cause: error.cause ?? error });
}
