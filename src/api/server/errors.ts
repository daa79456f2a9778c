import { STATUS_CODES } from 'node:http';
import { Type, type Static } from 'typebox';

/** The Error body of all APIs, as specified. */
export const ErrorBody = Type.Object(
  {
    timestamp: Type.String({ format: 'date-time', description: 'Time of the error, ISO 8601.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    error: Type.String({ description: 'The HTTP reason phrase.' }),
    message: Type.String({ description: 'What was wrong, where, and what would be right.' }),
    path: Type.String({ description: 'The path of the request.' }),
  },
  { $id: 'Error', description: 'The body of every error.' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** An error response. `message` is sent to the client unchanged: it must not contain credentials or internal details. */
export class HttpError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[]>>;

  constructor(
    statusCode: number,
    message: string,
    options: { headers?: Readonly<Record<string, string | string[]>>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'HttpError';
    this.statusCode = statusCode;
    this.headers = options.headers ?? {};
  }
}

/** For a 401 of the engine, which is about the gateway's credential. Passed on, it would make clients discard their valid one. */
export function credentialRefused(): HttpError {
  return new HttpError(502, 'the engine rejects the credential of the gateway: its administrator must replace it');
}

/**
 * @param path request path; the query string is removed, since it may contain secrets
 * @param now milliseconds since the epoch
 */
export function errorBody(status: number, message: string, path: string, now: number): ErrorBody {
  const cut = path.indexOf('?');
  return {
    timestamp: new Date(now).toISOString(),
    status,
    error: STATUS_CODES[status] ?? 'Unknown',
    message,
    path: cut < 0 ? path : path.slice(0, cut),
  };
}
