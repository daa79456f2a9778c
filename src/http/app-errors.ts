import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EngineError } from '../engine/types.ts';
import { StoreError, type StoreErrorCode } from '../store/resource-store.ts';
import { errorBody, HttpError } from './errors.ts';

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
  'bad-answer': 502,
};

const RETRY_AFTER_SECONDS = 5;

/** The public text of what nobody outside can mend; its cause goes to the log. */
const INTERNAL_MESSAGE = 'an internal error happened; the log tells more under this request id';

const FRAMEWORK_MESSAGES: Readonly<Record<string, (request: FastifyRequest) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (request) =>
    `the body is too large: at most ${request.routeOptions.bodyLimit} bytes are allowed`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) =>
    `the content type \`${request.headers['content-type'] ?? ''}\` is not supported here: send \`application/json\``,
  FST_ERR_CTP_EMPTY_JSON_BODY: () => 'the body is empty: send a JSON document, or no `Content-Type`',
};

/** Every failure as the status and text that the caller gets. */
export function toHttpError(error: unknown, request: FastifyRequest): HttpError {
  return fromParts(error) ?? fromFramework(error, request);
}

/** The same where the framework has no part in it. */
export function knownError(error: unknown): HttpError {
  return fromParts(error) ?? new HttpError(500, INTERNAL_MESSAGE, { cause: error });
}

function fromParts(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreError) {
    const status = STORE_STATUS[error.code];
    const seconds = Math.ceil((error.retryAfterMs ?? RETRY_AFTER_SECONDS * 1000) / 1000);
    return new HttpError(status, error.message, {
      headers: status === 503 ? { 'retry-after': String(seconds) } : {},
      cause: error,
    });
  }
  if (error instanceof EngineError) {
    const status = ENGINE_STATUS[error.code];
    const headers: Record<string, string> = status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
    return new HttpError(status, error.message, { headers, cause: error });
  }
  return undefined;
}

function fromFramework(error: unknown, request: FastifyRequest): HttpError {
  if (!(error instanceof Error)) return new HttpError(500, INTERNAL_MESSAGE, { cause: error });
  const { statusCode, code } = error as Partial<FastifyError>;
  if (statusCode === undefined || statusCode < 400 || statusCode > 499)
    return new HttpError(500, INTERNAL_MESSAGE, { cause: error });
  const say = FRAMEWORK_MESSAGES[code ?? ''];
  return new HttpError(statusCode, say ? say(request) : error.message, { cause: error });
}

function send(reply: FastifyReply, error: HttpError, path: string, now: Date): FastifyReply {
  return reply
    .code(error.statusCode)
    .headers(error.headers)
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => JSON.stringify(body))
    .send(errorBody(error.statusCode, error.message, path, now));
}

/** The 404 of a path that there is not. */
export function notFound(request: FastifyRequest): HttpError {
  return new HttpError(404, `there is no \`${request.method} ${request.url.split('?', 1)[0] ?? ''}\``);
}

/** Makes every error of `app` an Error body: thrown, not found, or refused by the framework itself. */
export function registerErrors(app: FastifyInstance, now: () => Date): void {
  app.setErrorHandler((error, request, reply) => {
    const answer = toHttpError(error, request);
    if (answer.statusCode >= 500) request.log.error({ err: answer.cause ?? answer }, 'the request failed');
    return send(reply, answer, request.url, now());
  });
  app.setNotFoundHandler((request, reply) => {
    return send(reply, notFound(request), request.url, now());
  });
}

/** For requests that fail before they reach a route: a bad URL, a path parameter beyond every limit. */
export function frameworkError(now: () => Date) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    void send(reply, toHttpError(error, request), request.url, now());
  };
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: [431, 'the headers of the request are too large'],
};

/** For what is no HTTP at all: answers by hand, since there is no request. */
export function clientError(now: () => Date) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'the request is not valid HTTP/1.1'];
    const body = JSON.stringify(errorBody(status, message, '/', now()));
    socket.end(
      `HTTP/1.1 ${status} ${errorBody(status, '', '/', now()).error}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}
