// The client of the REST API: all calls of the dashboard go through this file.

/** A response other than 2xx (with the message of its Error body), no response, or one that is not from the gateway (status 0). */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Listener = () => void;
const expired = new Set<Listener>();

/** Calls `listener` when a response shows that the session has expired. Returns a function that removes the listener. */
export function onSessionExpired(listener: Listener): () => void {
  expired.add(listener);
  return () => expired.delete(listener);
}

const renewed = new Set<Listener>();

/** Calls `listener` when the session was renewed after it had expired. Returns a function that removes the listener. */
export function onSessionRenewed(listener: Listener): () => void {
  renewed.add(listener);
  return () => renewed.delete(listener);
}

export function notifySessionRenewed(): void {
  for (const listener of renewed) listener();
}

interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
  /** Time-out of the call, milliseconds. */
  readonly timeoutMs?: number;
  /** True when a 401 does not mean that the session has expired, as for the sign-in. */
  readonly ignore401?: boolean;
}

/** The gateway requires this header with the session cookie, because other sites cannot set it (CSRF protection). */
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
      name === 'TimeoutError' ? 'The gateway did not respond in time.' : 'The gateway is not reachable.',
    );
  }
}

/** The message of an Error body; undefined for another body. */
function messageIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string')
      return body.message;
  } catch {
    // The response is not from the gateway, whose errors are JSON.
  }
  return undefined;
}

/** The begin of a text without its tags, such as that of an error page of a proxy. */
const plainBegin = (text: string): string =>
  text
    .slice(0, 2000)
    .replace(/<[^>]*>?/g, ' ')
    .trim()
    .replace(/\s+/g, ' ')
    .slice(0, 200);

/** What went wrong, in a sentence, from a body that the gateway did not write. */
export function foreignMessage(what: string, text: string): string {
  const said = plainBegin(text);
  return `${what}: it is probably from a proxy before the gateway. ${said === '' ? 'It has no text.' : `It says: ${said}`}`;
}

/** The message of a response other than 2xx, and when to try again if the response has that. */
async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  const { status, statusText, headers } = response;
  const message =
    messageIn(text) ??
    foreignMessage(`The response ${`${status} ${statusText}`.trim()} is not an error of the gateway`, text);
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const isOverloaded = (status === 429 || status === 503) && Number.isFinite(seconds);
  return isOverloaded && !/try again in/i.test(message) ? `${sentence(message)} Try again in ${seconds} s.` : message;
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** @throws {ApiError} for a response other than 2xx */
async function receive(path: string, options: CallOptions): Promise<Response> {
  const response = await send(path, options);
  if (!response.ok) {
    const message = await messageOf(response);
    if (response.status === 401 && !options.ignore401) for (const listener of expired) listener();
    throw new ApiError(response.status, message);
  }
  return response;
}

/** @throws {ApiError} for a text that is not JSON */
function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiError(0, foreignMessage('The response is not JSON', text));
  }
}

/** The text of the response, unparsed, so that numbers keep every digit. @throws {ApiError} */
export async function callText(path: string, options: CallOptions = {}): Promise<string> {
  return (await receive(path, options)).text();
}

/** A call that takes longer than this fails, however much it sends. Milliseconds. */
const STREAM_TIMEOUT_MS = 12 * 3_600_000;

/** The response, unread: the caller bounds the time between its parts. @throws {ApiError} */
export function callStream(path: string, options: CallOptions): Promise<Response> {
  return receive(path, { timeoutMs: STREAM_TIMEOUT_MS, ...options });
}

/** A resource with its version. */
export type Tagged<T> = T & { readonly etag: string };

/** Reads a resource with its version, for `If-Match` of a later change. @throws {ApiError} */
export async function callTagged<T extends object>(path: string, options: CallOptions = {}): Promise<Tagged<T>> {
  const response = await receive(path, options);
  return { ...(parsed(await response.text()) as T), etag: response.headers.get('etag') ?? '*' };
}

/** The response as JSON; undefined for an empty body. @throws {ApiError} */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  return parsed(await callText(path, options)) as T;
}

export function messageOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const RBAC = '/api/v1/rbac-manager';
/** The path of an RBAC manager endpoint. */
export const rbac = (path: string): string => RBAC + path;
export const encodeSrn = (srn: string): string => encodeURIComponent(srn);
