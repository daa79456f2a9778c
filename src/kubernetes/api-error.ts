import { asError, errorMessage, isError } from '../platform/plain-error.ts';
import { StoreError, type StoreErrorCode } from '../store/resource-store.ts';

/** One field that the API server rejected; `metav1.StatusCause`. */
export interface StatusCause {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

/** The error body of a Kubernetes API, `metav1.Status`. Every field is optional. */
export interface ApiStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly causes?: readonly StatusCause[];
    readonly retryAfterSeconds?: number;
  };
}

/** The message of an authorizer: `… is forbidden: User "…" cannot create resource …`. */
const REFUSED_ACCOUNT = / is forbidden: User "[^"]*" cannot /;

/** An error response of the API server, or no response (`status` 0). */
export class KubernetesApiError extends StoreError {
  /** HTTP status, also of an ERROR event in a watch; 0 where there was no response. */
  readonly status: number;
  /** Machine-readable reason, such as `AlreadyExists` or `Expired`; empty where the server gave none. */
  readonly reason: string;
  readonly causes: readonly StatusCause[];

  constructor(
    code: StoreErrorCode,
    message: string,
    options: {
      status?: number;
      reason?: string;
      causes?: readonly StatusCause[];
      retryAfterMs?: number;
      cause?: unknown;
    } = {},
  ) {
    const { retryAfterMs, cause } = options;
    // An admission policy also answers 403, but about the object.
    const ownAccount = code === 'forbidden' && REFUSED_ACCOUNT.test(message);
    super(code, message, { ownAccount, cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
    this.name = 'KubernetesApiError';
    this.status = options.status ?? 0;
    this.reason = options.reason ?? '';
    this.causes = options.causes ?? [];
  }

  /** The server no longer knows the resource version or the continue token: list again. */
  get expired(): boolean {
    if (this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone') return true;
    // The version is newer than any the server knows: etcd was restored from a backup.
    return this.causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
  }
}

/** @param options.request for messages, such as `GET /apis/…`; used where the server gave no message */
export function errorFromStatus(
  httpStatus: number,
  body: unknown,
  options: { request: string; retryAfterMs?: number | undefined },
): KubernetesApiError {
  const status = isStatus(body) ? body : {};
  const code = httpStatus === 0 ? (status.code ?? 500) : httpStatus;
  const reason = status.reason ?? '';
  const causes = status.details?.causes ?? [];
  const seconds = status.details?.retryAfterSeconds;
  const retryAfterMs = options.retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
  return new KubernetesApiError(codeOf(code, reason), messageOf(code, status, options.request), {
    status: code,
    reason,
    causes,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** No response: connection refused or reset, time-out, untrusted certificate. The message ends with the text of the operating system or of TLS. */
export function connectionError(request: string, cause: unknown): KubernetesApiError {
  return new KubernetesApiError(
    'unavailable',
    `the Kubernetes API did not respond to ${request}: ${rootMessage(cause)}`,
    {
      cause,
    },
  );
}

function codeOf(status: number, reason: string): StoreErrorCode {
  if (status === 404) return 'not-found';
  if (status === 409) return reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
  if (status === 403) return 'forbidden';
  // 401 is not `forbidden`: the API server rejects the credential of this process, independent of the rights of the caller.
  if (status === 401 || status === 408 || status === 410 || status === 429) return 'unavailable';
  return status >= 400 && status < 500 ? 'invalid' : 'unavailable';
}

function messageOf(code: number, status: ApiStatus, request: string): string {
  const causes = status.details?.causes ?? [];
  if (reasonIsInvalid(code, status) && causes.length > 0) {
    const { kind, name } = status.details ?? {};
    const subject = [kind, name === undefined ? undefined : `\`${name}\``].filter(Boolean).join(' ');
    return `${subject === '' ? 'the object' : subject} is not valid: ${causes.map(describeCause).join('; ')}`;
  }
  if (code === 401) return `the Kubernetes API rejected the credentials of this process (401 for ${request})`;
  const text = status.message;
  if (text === undefined || text === '') return `the Kubernetes API responded with ${code} to ${request}`;
  return text;
}

function reasonIsInvalid(code: number, status: ApiStatus): boolean {
  return status.reason === 'Invalid' || code === 422;
}

function describeCause({ field, message, reason }: StatusCause): string {
  const text = message ?? reason ?? 'is not valid';
  return field === undefined || field === '' || field === '<nil>' ? text : `\`${field}\`: ${text}`;
}

function isStatus(body: unknown): body is ApiStatus {
  return typeof body === 'object' && body !== null;
}

function rootMessage(error: unknown): string {
  let innermost = asError(error);
  for (let depth = 0; depth < 5 && isError(innermost.cause); depth++) innermost = asError(innermost.cause);
  // A connection attempt to several addresses fails with an AggregateError without a message.
  if (innermost instanceof AggregateError && innermost.message === '') return rootMessage(innermost.errors[0]);
  return errorMessage(innermost);
}
