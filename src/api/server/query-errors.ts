import type { QueryError, QueryErrorCode } from '../../results/errors.ts';
import { HttpError } from './errors.ts';

const STATUS: Readonly<Record<QueryErrorCode, number>> = {
  'bad-response': 502,
  'store-full': 507,
  'store-unavailable': 503,
  'not-found': 404,
  damaged: 410,
  'bad-page': 400,
  // Caused by the configuration or by where the result is: another request reads it.
  'no-links': 409,
  busy: 503,
  'too-many': 429,
  'key-reused': 422,
  'key-busy': 409,
  // The client has disconnected; the access log must not count it as a server error.
  aborted: 499,
};

const RETRY_AFTER_SECONDS = '2';

/** Maps an error of a paginated query to a response. */
export function queryHttpError(error: QueryError): HttpError {
  const status = STATUS[error.code];
  const headers: Record<string, string> =
    status === 503 || status === 429 || error.code === 'key-busy' ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
  return new HttpError(status, error.message, { headers, cause: error.cause ?? error });
}
