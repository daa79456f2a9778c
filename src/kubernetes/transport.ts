import type { Dispatcher } from 'undici';
import { withErrorListener } from '../platform/stream-errors.ts';
import { errorMessage } from '../platform/plain-error.ts';
import { systemClock, type Clock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import { retry } from '../platform/retry.ts';
import { connectionError, errorFromStatus, KubernetesApiError } from './api-error.ts';
import { ApiConnections } from './connections.ts';
import { CredentialSource, type Credentials, type KubernetesConfig } from './credentials.ts';
import { completeLines, readText, requestError } from './response-body.ts';

export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface KubernetesRequestOptions {
  readonly query?: QueryParameters;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `application/json` by default. A PATCH needs a patch type of Kubernetes, such as `application/merge-patch+json`. */
  readonly contentType?: string;
  /** Aborts the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole request, retries included; 30,000 by default. */
  readonly timeoutMs?: number;
  /** How often a request is repeated after 429, or 503 with `Retry-After`: the server has not processed it. 3 by default. */
  readonly retries?: number;
}

export interface KubernetesStreamOptions {
  readonly query?: QueryParameters;
  readonly signal?: AbortSignal | undefined;
  /** Time-out for the response headers, milliseconds; 30,000 by default. */
  readonly headersTimeoutMs?: number;
  /** The stream is aborted after this many milliseconds without any bytes. */
  readonly idleMs: number;
}

export interface KubernetesResponse<T = unknown> {
  readonly status: number;
  readonly body: T;
}

export interface KubernetesTransportOptions {
  readonly clock?: Clock;
  readonly userAgent?: string;
  /** Overrides the namespace of the kubeconfig's context. */
  readonly namespace?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;
/** Far above a page of 500 objects of the largest size. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const DEFAULT_RETRY_AFTER_MS = 1000;
/** The server names the delay. */
const NO_BACKOFF = { baseMs: 0, maxMs: 0 };

/**
 * HTTP client of a Kubernetes API with one identity and one connection pool.
 *
 * Replaced certificates, CAs and tokens take effect within a minute, and at once when the server rejects the old ones.
 * Every response other than 2xx is an error, as is no response.
 */
export class KubernetesTransport {
  /** The namespace of this process: the option, or that of the kubeconfig's context (in a pod, the pod's), or `default`. */
  readonly namespace: string;
  readonly #credentials: CredentialSource;
  readonly #connections = new ApiConnections();
  readonly #clock: Clock;
  readonly #userAgent: string;

  /**
   * @param load reads the configuration, at start and after the server rejected its credentials
   * @throws {Error} when the configuration cannot be loaded or names no cluster
   */
  constructor(load: () => KubernetesConfig, options: KubernetesTransportOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#userAgent = options.userAgent ?? 'olap-warden';
    this.#credentials = new CredentialSource(load, this.#clock);
    this.namespace = options.namespace ?? this.#credentials.namespace ?? 'default';
  }

  /**
   * @param path begins with `/`, without query; the caller encodes the names in it
   * @throws {KubernetesApiError} on every response other than 2xx, and when no response arrives in time
   */
  async request<T = unknown>(
    method: HttpMethod,
    path: string,
    options: KubernetesRequestOptions = {},
  ): Promise<KubernetesResponse<T>> {
    const deadline = new Deadline(this.#clock, options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal);
    try {
      return await retry(() => this.#once<T>(method, path, options, deadline), {
        attempts: 1 + (options.retries ?? DEFAULT_RETRIES),
        backoff: NO_BACKOFF,
        clock: this.#clock,
        retryAfterMs,
        remainingMs: () => deadline.remainingMs(),
        signal: options.signal,
      });
    } finally {
      deadline.clear();
    }
  }

  /**
   * A GET with an endless response, line by line. Resolves when the response headers have arrived. Only complete lines are returned; a
   * response that ends in the middle of a line is an error. Start to read at once, to the end or until `break`: it holds a connection.
   *
   * @throws {KubernetesApiError} from this call and from the iterator
   */
  async stream(path: string, options: KubernetesStreamOptions): Promise<AsyncGenerator<string, void, undefined>> {
    const deadline = new Deadline(this.#clock, options.headersTimeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal);
    try {
      const response = await this.#send('GET', path, options, deadline);
      if (response.statusCode !== 200) throw await errorOf(response, `GET ${path}`);
      deadline.restart(options.idleMs);
      return completeLines(response.body, `GET ${path}`, deadline, options.idleMs);
    } catch (error) {
      deadline.clear();
      throw requestError(error, `GET ${path}`, deadline);
    }
  }

  /** Aborts all requests and streams, and closes the connections. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #once<T>(
    method: HttpMethod,
    path: string,
    options: KubernetesRequestOptions,
    deadline: Deadline,
  ): Promise<KubernetesResponse<T>> {
    const name = `${method} ${path}`;
    try {
      const response = await this.#send(method, path, options, deadline);
      if (response.statusCode < 200 || response.statusCode > 299) throw await errorOf(response, name);
      const text = await readText(response.body, MAX_BODY_BYTES);
      return { status: response.statusCode, body: parse(text, name) as T };
    } catch (error) {
      throw requestError(error, name, deadline);
    }
  }

  async #send(
    method: HttpMethod,
    path: string,
    options: KubernetesRequestOptions,
    deadline: Deadline,
  ): Promise<Dispatcher.ResponseData> {
    const response = await this.#dispatch(method, path, options, deadline);
    if (response.statusCode !== 401 || !this.#credentials.reload()) return response;
    await response.body.dump();
    return this.#dispatch(method, path, options, deadline);
  }

  async #dispatch(
    method: HttpMethod,
    path: string,
    options: KubernetesRequestOptions,
    deadline: Deadline,
  ): Promise<Dispatcher.ResponseData> {
    assertPlainPath(path);
    const credentials = await deadline.limit(this.#getCredentials());
    const url = new URL(`${credentials.server}${path}`);
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const headers: Record<string, string> = {
      ...credentials.headers,
      accept: 'application/json',
      'user-agent': this.#userAgent,
    };
    if (options.body !== undefined) headers['content-type'] = options.contentType ?? 'application/json';
    try {
      const response = await this.#connections.get(credentials).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers,
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: deadline.signal,
      });
      withErrorListener(response.body);
      return response;
    } catch (error) {
      // A CA or a client certificate may have been replaced: the next request reads the files again.
      this.#credentials.expire();
      throw error;
    }
  }

  async #getCredentials(): Promise<Credentials> {
    try {
      return await this.#credentials.get();
    } catch (error) {
      const text = (errorMessage(error).split('\n')[0] ?? '').slice(0, 300);
      throw new KubernetesApiError('unavailable', `cannot get credentials for the Kubernetes API: ${text}`, {
        cause: error,
      });
    }
  }
}

/** `DELETE …/roles/.` would be normalised to the path of the collection and delete all its objects. */
function assertPlainPath(path: string): void {
  if (!path.startsWith('/') || path.split('/').some((part, index) => index > 0 && ['', '.', '..'].includes(part)))
    throw new KubernetesApiError('invalid', `invalid path \`${path}\`: it must name an object or a collection`);
}

async function errorOf(response: Dispatcher.ResponseData, request: string): Promise<KubernetesApiError> {
  const text = await readText(response.body, 1024 * 1024);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined; // not from the API server but, for example, from a proxy: the HTTP status is used
  }
  return errorFromStatus(response.statusCode, body, {
    request,
    retryAfterMs: parseRetryAfter(response.headers['retry-after']),
  });
}

/** The API server sends whole seconds. The date form of HTTP is ignored. */
function parseRetryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}

function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof KubernetesApiError)) return undefined;
  if (error.status === 429) return error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
  return error.status === 503 ? error.retryAfterMs : undefined;
}

function parse(text: string, request: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw connectionError(request, new Error('the response is not JSON', { cause: error }));
  }
}
