// Every call of the dashboard goes through here: the public REST interface, the session cookie, the Error body.

/** An answer that is not 2xx, or no answer at all. `message` is the Error body's. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Listener = () => void;
const expired = new Set<Listener>();

/** Calls `listener` when an answer says that the session is over; returns a function that ends this. */
export function onSessionExpired(listener: Listener): () => void {
  expired.add(listener);
  return () => expired.delete(listener);
}

const renewed = new Set<Listener>();

/** Calls `listener` when there is a session again after one has ended; returns a function that ends this. */
export function onSessionRenewed(listener: Listener): () => void {
  renewed.add(listener);
  return () => renewed.delete(listener);
}

export function tellSessionRenewed(): void {
  for (const listener of renewed) listener();
}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
  /** Milliseconds; a call without an answer by then fails. */
  readonly timeoutMs?: number;
  /** True for calls whose 401 says nothing about the session, such as signing in. */
  readonly quiet401?: boolean;
}

/** The header that the gateway demands of calls that carry the session cookie: a foreign site cannot set it. */
const SAME_SITE_HEADER = { 'x-olap-warden-ui': '1' };

async function send(path: string, options: CallOptions): Promise<Response> {
  const signals = [AbortSignal.timeout(options.timeoutMs ?? 60_000)];
  if (options.signal) signals.push(options.signal);
  const init: RequestInit = {
    method: options.method ?? 'GET',
    credentials: 'same-origin',
    signal: AbortSignal.any(signals),
    headers: {
      ...SAME_SITE_HEADER,
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
  };
  if (options.body !== undefined) init.body = JSON.stringify(options.body);
  try {
    return await fetch(path, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const name = error instanceof Error ? error.name : '';
    throw new ApiError(
      0,
      name === 'TimeoutError' ? 'The gateway did not answer in time.' : 'The gateway cannot be reached.',
    );
  }
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string')
      return body.message;
  } catch {
    // Not the Error body: a proxy in between has answered. Its text says more than nothing.
  }
  return text.slice(0, 300) || `${response.status} ${response.statusText}`;
}

/** The answer's text as it came: numbers keep every digit. @throws {ApiError} */
export async function callText(path: string, options: CallOptions = {}): Promise<string> {
  const response = await send(path, options);
  if (!response.ok) {
    const message = await messageOf(response);
    if (response.status === 401 && !options.quiet401) for (const listener of expired) listener();
    throw new ApiError(response.status, message);
  }
  return response.text();
}

/** The answer as JSON; undefined for an empty one. @throws {ApiError} */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const text = await callText(path, options);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export function messageOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const RBAC = '/api/v1/rbac-manager';
/** Path of the RBAC manager; `#` of a resource name becomes `%23`. */
export const rbac = (path: string): string => RBAC + path;
export const encodeSrn = (srn: string): string => encodeURIComponent(srn);
