import type { Dispatcher } from 'undici';
import { sleep, systemClock, type StoreClock } from '../clock.ts';
import { connectionError, errorFromStatus, KubernetesApiError } from './api-error.ts';
import { Connections } from './connections.ts';
import { CredentialSource, type Credentials, type KubernetesConfig } from './credentials.ts';
import { completeLines, Deadline, readText } from './response-body.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface KubernetesRequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `application/json` by default; a PATCH needs one of Kubernetes' patch types, such as `application/merge-patch+json`. */
  readonly contentType?: string;
  /** Ends the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole request, retries included; 30,000 by default. */
  readonly timeoutMs?: number;
  /** How often an answer of 429, or of 503 with `Retry-After`, is tried again: the server did nothing yet. 3 by default. */
  readonly retries?: number;
}

export interface KubernetesStreamOptions {
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the headers must be there; 30,000 by default. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds without a single byte after which the stream is given up. */
  readonly idleMs: number;
}

export interface KubernetesResponse<T = unknown> {
  readonly status: number;
  readonly body: T;
}

export interface KubernetesTransportOptions {
  readonly clock?: StoreClock;
  readonly userAgent?: string;
  /** Instead of that of the kubeconfig's context. */
  readonly namespace?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** A page of 500 of the largest objects is far below it. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const DEFAULT_RETRY_AFTER_MS = 1000;

/**
 * HTTP to a Kubernetes API as one identity, over one connection pool.
 *
 * Certificates, CAs and tokens that are replaced while it runs are picked up within a minute, and at once when the server refuses the old ones.
 * Any answer other than 2xx is an error, and so is no answer.
 */
export class KubernetesTransport {
  /** The namespace that this process works in: the option, or the kubeconfig's (in a pod: its own), or `default`. */
  readonly namespace: string;
  readonly #credentials: CredentialSource;
  readonly #connections = new Connections();
  readonly #clock: StoreClock;
  readonly #userAgent: string;

  /**
   * @param load reads the configuration: at start, and again when the server no longer accepts its credentials
   * @throws {Error} when it cannot be loaded or names no cluster
   */
  constructor(load: () => KubernetesConfig, options: KubernetesTransportOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#userAgent = options.userAgent ?? 'olap-warden';
    this.#credentials = new CredentialSource(load, this.#clock);
    this.namespace = options.namespace ?? this.#credentials.namespace ?? 'default';
  }

  /**
   * @param path begins with `/`, without query; names in it are the caller's to encode
   * @throws {KubernetesApiError} on any answer other than 2xx, and when there is none in time
   */
  async request<T = unknown>(
    method: HttpMethod,
    path: string,
    options: KubernetesRequestOptions = {},
  ): Promise<KubernetesResponse<T>> {
    const deadline = new Deadline(this.#clock, options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal);
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          return await this.#once<T>(method, path, options, deadline);
        } catch (error) {
          const waitMs = attempt < (options.retries ?? 3) ? retryDelay(error) : undefined;
          if (waitMs === undefined || waitMs >= deadline.remainingMs()) throw error;
          await sleep(this.#clock, waitMs, options.signal);
        }
      }
    } finally {
      deadline.clear();
    }
  }

  /**
   * A GET whose answer has no end, line by line. Resolves when the server has accepted it. Only whole lines are given; an answer that ends in
   * the middle of a line is an error. Read it at once, to its end or with `break`: the connection is held until then.
   *
   * @throws {KubernetesApiError} here and from the iterator
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
      throw deadline.explain(error, `GET ${path}`);
    }
  }

  /** Ends every request and stream, and frees the connections. */
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
      throw deadline.explain(error, name);
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
      return await this.#connections.get(credentials).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers,
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: deadline.signal,
      });
    } catch (error) {
      // It may have been a CA or a client certificate that was replaced: the next request reads the files again.
      this.#credentials.expire();
      throw error;
    }
  }

  async #getCredentials(): Promise<Credentials> {
    try {
      return await this.#credentials.get();
    } catch (error) {
      const text = error instanceof Error ? (error.message.split('\n')[0] ?? '').slice(0, 300) : String(error);
      throw new KubernetesApiError('unavailable', `cannot get credentials for the Kubernetes API: ${text}`, {
        cause: error,
      });
    }
  }
}

/** `DELETE …/roles/.` would be normalised to the collection, and delete all of it. */
function assertPlainPath(path: string): void {
  if (!path.startsWith('/') || path.split('/').some((part, index) => index > 0 && ['', '.', '..'].includes(part)))
    throw new KubernetesApiError('invalid', `\`${path}\` is no path of an object or a collection`);
}

async function errorOf(response: Dispatcher.ResponseData, request: string): Promise<KubernetesApiError> {
  const text = await readText(response.body, 1024 * 1024);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined; // not the API server's own answer but, say, a proxy's page: the HTTP status tells enough
  }
  const retryAfterMs = retryAfter(response.headers['retry-after']);
  return errorFromStatus(response.statusCode, body, { request, retryAfterMs });
}

/** The API server writes whole seconds; the date form of HTTP is not used by it and counts as absent. */
function retryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}

function retryDelay(error: unknown): number | undefined {
  if (!(error instanceof KubernetesApiError)) return undefined;
  if (error.status === 429) return error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
  return error.status === 503 ? error.retryAfterMs : undefined;
}

function parse(text: string, request: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw connectionError(request, new Error('the answer is not JSON', { cause: error }));
  }
}
