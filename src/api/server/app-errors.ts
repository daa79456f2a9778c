import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asError } from '../../platform/plain-error.ts';
import type { WallClock } from '../../platform/clock.ts';
import { ManagerError, PreconditionFailed } from '../../access/errors.ts';
import type { Principal } from '../../access/principal.ts';
import type { MayDo } from '../../access/readable-text.ts';
import { EngineError } from '../../pinot/types.ts';
import { QueryError } from '../../results/errors.ts';
import { StoreError, type StoreErrorCode } from '../../store/resource-store.ts';
import { errorBody, HttpError } from './errors.ts';
import { queryHttpError } from './query-errors.ts';

const STORE_STATUS: Readonly<Record<StoreErrorCode, number>> = {
  'not-found': 404,
  'already-exists': 409,
  conflict: 409,
  invalid: 400,
  forbidden: 403,
  unavailable: 503,
};

const ENGINE_STATUS: Readonly<Record<EngineError['code'], number>> = {
  unreachable: 502,
  timeout: 504,
  aborted: 503,
  'no-broker': 503,
  overloaded: 503,
  'bad-response': 502,
};

const RETRY_AFTER_SECONDS = 5;

/** A 403 would be about the caller's rights. */
const REFUSED_ACCOUNT =
  'the Kubernetes API refuses the account of this process; its administrator must grant the rights of this version';

/** Public message of internal errors; the cause is only logged. */
const INTERNAL_MESSAGE = 'internal error; the log has details under this request id';

const FRAMEWORK_MESSAGES: Readonly<Record<string, (request: FastifyRequest) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (request) =>
    `the body is too large: at most ${request.routeOptions.bodyLimit} bytes are allowed`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) =>
    `the content type \`${request.headers['content-type'] ?? ''}\` is not supported here: send \`application/json\``,
};

/** The route of all paths that are forwarded to the controller. */
export const PROXY_ROUTE = '/*';

/** Maps any error of a fastify route to the status and message for the client. */
export function toHttpError(thrown: unknown, request: FastifyRequest): HttpError {
  const error = asError(thrown);
  const { principal } = request as { principal: Principal | null };
  const may: MayDo = (action, resource) =>
    principal !== null && request.server.authorizer.wouldAllow(principal, action, resource);
  return fromDomainError(error, may) ?? fromFramework(error, request);
}

/** Maps errors outside fastify to status and message. They are complete, for records of errors. */
export function knownError(thrown: unknown): HttpError {
  const error = asError(thrown);
  return fromDomainError(error, () => true) ?? new HttpError(500, INTERNAL_MESSAGE, { cause: error });
}

/** @param may the rights of the caller: a message names only what it may read */
function fromDomainError(error: Error, may: MayDo): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof PreconditionFailed) {
    const headers = may(error.right.action, error.right.resource) ? { etag: `"${error.version}"` } : {};
    return new HttpError(412, error.shownTo(may), { headers, cause: error });
  }
  if (error instanceof ManagerError)
    return new HttpError(STORE_STATUS[error.code], error.shownTo(may), { cause: error });
  if (error instanceof StoreError) {
    const status = error.ownAccount ? 503 : STORE_STATUS[error.code];
    const seconds = Math.ceil((error.retryAfterMs ?? RETRY_AFTER_SECONDS * 1000) / 1000);
    const message = error.ownAccount ? `${REFUSED_ACCOUNT}: ${error.message}` : error.message;
    return new HttpError(status, message, {
      headers: status === 503 ? { 'retry-after': String(seconds) } : {},
      cause: error,
    });
  }
  if (error instanceof QueryError) return queryHttpError(error);
  if (error instanceof EngineError) {
    const status = ENGINE_STATUS[error.code];
    const headers: Record<string, string> = status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
    return new HttpError(status, error.message, { headers, cause: error });
  }
  return undefined;
}

function fromFramework(error: Error, request: FastifyRequest): HttpError {
  const { statusCode, code } = error as Partial<FastifyError>;
  if (statusCode === undefined || statusCode < 400 || statusCode > 499)
    return new HttpError(500, INTERNAL_MESSAGE, { cause: error });
  const messageOf = FRAMEWORK_MESSAGES[code ?? ''];
  return new HttpError(statusCode, messageOf ? messageOf(request) : error.message, { cause: error });
}

/** An error response, for both planes. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
}

/** @param url request URL; its path becomes the `path` of the error body */
export function errorResponse(error: HttpError, url: string, now: number): ErrorResponse {
  const { statusCode: status, message } = error;
  return jsonError(error, errorBody(status, message, url, now));
}

/** For a path of the controller: Pinot's Java tools show only `error`, and read `code`. */
function controllerError(error: HttpError, url: string, now: number): ErrorResponse {
  const { statusCode: code, message } = error;
  return jsonError(error, { ...errorBody(code, message, url, now), code, error: message });
}

function jsonError({ statusCode: status, headers }: HttpError, body: object): ErrorResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  };
}

function send(reply: FastifyReply, error: HttpError, url: string, now: number): FastifyReply {
  const form = reply.routeOptions.url === PROXY_ROUTE ? controllerError : errorResponse;
  const { status, headers, body } = form(error, url, now);
  return reply
    .code(status)
    .headers(headers)
    .serializer((text: string) => text)
    .send(body);
}

/** 404 for a request without a route. */
export function notFound(request: Pick<FastifyRequest, 'method' | 'url'>): HttpError {
  return new HttpError(404, `there is no \`${request.method} ${request.url.split('?', 1)[0] ?? ''}\``);
}

/** Sends thrown errors, 404s and framework errors of `app` as Error bodies. */
export function registerErrors(app: FastifyInstance, clock: WallClock): void {
  app.setErrorHandler((error, request, reply) => {
    const answer = toHttpError(error, request);
    const cause = answer.cause ?? answer;
    // Of a client that disconnected, the access log has a line already: it is no failure of ours.
    const isAbandoned = cause instanceof EngineError && cause.code === 'aborted' && reply.raw.destroyed;
    if (answer.statusCode >= 500 && !isAbandoned) request.log.error({ err: cause }, 'the request failed');
    return send(reply, answer, request.url, clock.now());
  });
  app.setNotFoundHandler((request, reply) => {
    return send(reply, notFound(request), request.url, clock.now());
  });
}

/** Handles requests that fail before routing: an invalid URL or a path parameter that is too long. */
export function frameworkError(clock: WallClock) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    void send(reply, toHttpError(error, request), request.url, clock.now());
  };
}
