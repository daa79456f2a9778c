import { STATUS_CODES } from 'node:http';
import { Type, type Static } from 'typebox';

/** The Error body of every interface, by the specification. */
export const ErrorBody = Type.Object(
  {
    timestamp: Type.String({ format: 'date-time', description: 'When the error happened, ISO 8601.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    error: Type.String({ description: 'The HTTP reason phrase.' }),
    message: Type.String({ description: 'What was wrong, where, and what would be right.' }),
    path: Type.String({ description: 'The path of the request.' }),
  },
  { $id: 'Error', description: 'The body of every error.' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** An answer that is an error. `message` reaches the caller as it is: it holds no credential and no internals. */
export class HttpError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    statusCode: number,
    message: string,
    options: { headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'HttpError';
    this.statusCode = statusCode;
    this.headers = options.headers ?? {};
  }
}

/** @param path the request's path; a query string is cut off, since it may hold what must not be repeated. */
export function errorBody(status: number, message: string, path: string, now: Date): ErrorBody {
  const cut = path.indexOf('?');
  return {
    timestamp: now.toISOString(),
    status,
    error: STATUS_CODES[status] ?? 'Unknown',
    message,
    path: cut < 0 ? path : path.slice(0, cut),
  };
}
