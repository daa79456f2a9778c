import { errors } from 'undici';
import type { UpstreamOutcome } from '../platform/upstreams.ts';
import { EngineError } from './types.ts';

export interface EndpointErrorOptions {
  readonly cause?: unknown;
  /** Whether the request may have reached the engine. */
  readonly reached: boolean;
  /** Whether the endpoint sent a complete response, so that it need not be avoided. Default: false. */
  readonly answered?: boolean;
  /** Whether it rejected the gateway's credential, and so did not execute the request. Default: false. */
  readonly rejected?: boolean;
}

/** An EngineError with what is known about the request. */
export class EndpointError extends EngineError {
  readonly reached: boolean;
  readonly answered: boolean;
  readonly rejected: boolean;
  constructor(code: EngineError['code'], message: string, options: EndpointErrorOptions) {
    super(code, message, options);
    this.reached = options.reached;
    this.answered = options.answered ?? false;
    this.rejected = options.rejected ?? false;
  }
}

/** The endpoint accepts connections, but responds neither to the request nor to a probe. */
export class HungEndpointError extends EndpointError {
  constructor(url: string) {
    super('unreachable', `${url} accepts connections but does not respond, not even to a probe`, { reached: true });
    this.name = 'HungEndpointError';
  }
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const NOT_HTTP = [
  errors.HTTPParserError,
  errors.HeadersOverflowError,
  errors.ResponseContentLengthMismatchError,
] as const;

/** undici's messages for an unexpected `100 Continue` and for a protocol upgrade. */
const BAD_RESPONSE = new Set(['bad response', 'bad upgrade']);

/** Maps an undici error before the response headers. @param url of the endpoint */
export function errorBeforeHeaders(error: unknown, url: string): EngineError {
  if (error instanceof EngineError) return badResponse(error, url);
  const code = codeOf(error);
  if (isBadHttp(error)) {
    return new EndpointError('bad-response', `invalid HTTP response from ${url} (${code})`, {
      reached: true,
      cause: error,
    });
  }
  if (error instanceof errors.InvalidArgumentError) {
    const message = `the request to ${url} is not valid HTTP: ${error.message}`;
    return new EndpointError('bad-response', message, { reached: false, cause: error });
  }
  // Only a proxy causes it: what aborts a request here has a reason of its own.
  if (error instanceof errors.RequestAbortedError) {
    const message = `${url} is unreachable: the proxy of the environment refuses the connection (${error.message})`;
    return new EndpointError('unreachable', message, { reached: false, cause: error });
  }
  const reached = !NEVER_CONNECTED.has(code);
  const what = reached ? 'connection lost before a response' : 'connection failed';
  return new EndpointError('unreachable', `${url} is unreachable: ${what} (${code})`, { reached, cause: error });
}

/** Maps an undici error after the response headers. */
export function errorAfterHeaders(error: unknown, url: string): EngineError {
  if (error instanceof EngineError) return badResponse(error, url);
  if (error instanceof errors.BodyTimeoutError) {
    return new EndpointError('timeout', `response of ${url} timed out before its end`, {
      reached: true,
      cause: error,
    });
  }
  const what = error instanceof errors.HTTPParserError ? 'is not valid HTTP' : 'ended unexpectedly';
  const message = `response of ${url} ${what} (${codeOf(error)})`;
  return new EndpointError('bad-response', message, { reached: true, cause: error });
}

/** Whether the connection was lost before any response. The engine may have closed an idle connection just before the request. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return (code === 'UND_ERR_SOCKET' && !isBadHttp(error)) || code === 'ECONNRESET' || code === 'EPIPE';
}

/** How a request ended with an error of this client or of undici, for metrics. */
export function outcomeOfError(error: unknown): UpstreamOutcome {
  if (!(error instanceof EngineError)) return outcomeOfCode(error);
  if (error instanceof HungEndpointError) return 'timeout';
  // Given up by a sink that rejects the response.
  if (error.code === 'aborted' && error.cause instanceof EngineError) return outcomeOfError(error.cause);
  if (error.code === 'unreachable') return error instanceof EndpointError && error.reached ? 'reset' : 'refused';
  return OUTCOMES[error.code];
}

function outcomeOfCode(error: unknown): UpstreamOutcome {
  const code = codeOf(error);
  if (NEVER_CONNECTED.has(code)) return 'refused';
  if (isConnectionLoss(error)) return 'reset';
  return TIMED_OUT.has(code) ? 'timeout' : 'bad-response';
}

const TIMED_OUT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'TimeoutError']);

const OUTCOMES = {
  timeout: 'timeout',
  aborted: 'aborted',
  overloaded: 'overloaded',
  'no-broker': 'refused',
  'bad-response': 'bad-response',
} as const satisfies Record<Exclude<EngineError['code'], 'unreachable'>, UpstreamOutcome>;

function badResponse(error: EngineError, url: string): EngineError {
  if (error instanceof EndpointError) return error;
  return new EndpointError(error.code, `${url}: ${error.message}`, { reached: true, cause: error });
}

function isBadHttp(error: unknown): boolean {
  if (error instanceof errors.SocketError) return BAD_RESPONSE.has(error.message);
  return codeOf(error) === 'ERR_ASSERTION' || NOT_HTTP.some((kind) => error instanceof kind);
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code, name } = error as { code?: unknown; name?: string };
  // The code of a DOMException is a number.
  return typeof code === 'string' ? code : (name ?? 'unknown');
}
