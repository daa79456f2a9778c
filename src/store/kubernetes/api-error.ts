import { StoreError, type StoreErrorCode } from '../resource-store.ts';

/** One field that the API server refused; `metav1.StatusCause`. */
export interface StatusCause {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

/** The error body of a Kubernetes API; `metav1.Status`, of which every field may be missing. */
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

/** The API server answered with an error, or not at all (`status` 0). */
export class KubernetesApiError extends StoreError {
  /** HTTP status, also of an ERROR event in a watch; 0 where no answer came. */
  readonly status: number;
  /** Machine-readable reason, such as `AlreadyExists`, `Expired`; empty where the server named none. */
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
    super(code, message, retryAfterMs === undefined ? { cause } : { retryAfterMs, cause });
    this.name = 'KubernetesApiError';
    this.status = options.status ?? 0;
    this.reason = options.reason ?? '';
    this.causes = options.causes ?? [];
  }

  /** The resource version or the page token is none that the server can go on from: list again. */
  get expired(): boolean {
    if (this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone') return true;
    // Or newer than all it knows, for good: etcd was restored from a backup.
    return this.causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
  }
}

/** @param request for people, such as `GET /apis/…`: it stands in front where the server gave no message of its own */
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

/** No answer came: refused, reset, timed out, a certificate that is not trusted. The cause's text is the operating system's or TLS's own. */
export function connectionError(request: string, cause: unknown): KubernetesApiError {
  return new KubernetesApiError('unavailable', `the Kubernetes API did not answer ${request}: ${rootMessage(cause)}`, {
    cause,
  });
}

function codeOf(status: number, reason: string): StoreErrorCode {
  if (status === 404) return 'not-found';
  if (status === 409) return reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
  if (status === 403) return 'forbidden';
  // 401 is no `forbidden`: not the caller's rights are missing, the process itself is not known to the API server.
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
  if (code === 401) return `the Kubernetes API does not accept the credentials of this process (401 to ${request})`;
  const text = status.message;
  if (text === undefined || text === '') return `the Kubernetes API answered ${code} to ${request}`;
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
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++)
    innermost = innermost.cause;
  if (!(innermost instanceof Error)) return String(innermost);
  // A connection that fails over several addresses is an AggregateError without a message of its own.
  if (innermost instanceof AggregateError && innermost.message === '') return rootMessage(innermost.errors[0]);
  return innermost.message;
}
