import { STATUS_CODES } from 'node:http';
import { Type, type Static } from 'typebox';
import { visibleText } from '../../platform/visible.ts';

/** The Error body of all APIs, as specified. */
export const ErrorBody = Type.Object(
  {
    timestamp: Type.String({ format: 'date-time', description: 'Time of the error, ISO 8601.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    error: Type.String({ description: 'The HTTP reason phrase; the message at paths of the controller.' }),
    message: Type.String({ description: 'What was wrong, where, and what would be right.' }),
    path: Type.String({ description: 'The path of the request.' }),
    code: Type.Optional(Type.Integer({ description: 'The HTTP status code, only at paths of the controller.' })),
    numServersQueried: Type.Optional(
      Type.Integer({ description: 'Only for queries, always 0: the response contains nothing of a server.' }),
    ),
    numServersResponded: Type.Optional(
      Type.Integer({ description: 'Only for queries, always 0. `pinotdb` reads both before the message.' }),
    ),
  },
  { $id: 'Error', description: 'The body of every error.' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** The status that nginx logs when the client closes its connection before the response is complete. */
export const CLIENT_CLOSED = 499;

/** An error response. `message` is sent to the client, with hidden characters of names made visible: it must not contain credentials or internal details. */
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

/** For a failure that the engine does not explain: some versions respond with 500 and nothing else. */
export function unexplainedFailure(status: number): HttpError {
  return new HttpError(status, `the engine responded with ${status} and an empty body: its log has the reason`);
}

/** The paths whose responses have Pinot's statistics. */
const WITH_STATISTICS: ReadonlySet<string> = new Set(['/query/sql', '/query', '/sql']);

/** Without them `pinotdb`, and Superset by it, reports every error of a query as a time-out, and not its message. */
const NO_SERVERS = { numServersQueried: 0, numServersResponded: 0 } as const;

/**
 * @param url request URL; the query string is removed, since it may contain secrets
 * @param now milliseconds since the epoch
 */
export function errorBody(status: number, message: string, url: string, now: number): ErrorBody {
  const path = url.split('?', 1)[0] ?? '';
  return {
    timestamp: new Date(now).toISOString(),
    status,
    error: STATUS_CODES[status] ?? 'Unknown',
    message: visibleText(message),
    path,
    ...(WITH_STATISTICS.has(path) && NO_SERVERS),
  };
}
