import { ExpiringLruCache } from '../platform/lru.ts';
import { Attempt } from './attempt.ts';
import { isRepeatable, isStream, type PooledEndpoint } from './endpoint.ts';
import { EndpointError } from './failures.ts';
import { HungEndpointError, type HangWatch } from './hang-watch.ts';
import { EngineError, type AnswerSink, type EngineEndpoint, type EngineRequest, type EngineResponse } from './types.ts';

/** How long other endpoints are tried before an unreachable one; a successful request ends this at once. */
const SUSPECT_MS = 10_000;

/** The same after an endpoint hung: trying it again takes seconds. */
const HUNG_MS = 60_000;

/** Endpoints that are remembered; with more failing ones the order of attempts hardly matters. */
const MAX_SUSPECTS = 1_000;

/** Remembers recently failed endpoints, so that others are tried first. */
export class Suspects {
  readonly #failed: ExpiringLruCache<string, true>;

  /** @param now monotonic clock in milliseconds */
  constructor(now: () => number) {
    this.#failed = new ExpiringLruCache({ monotonic: now }, MAX_SUSPECTS);
  }

  suspect(url: string, ms: number = SUSPECT_MS): void {
    this.#failed.set(url, true, ms);
  }

  /** Remembers the endpoint if the error shows that it cannot be reached, or soon will not be. */
  note(url: string, error: unknown): void {
    if (isLost(error)) this.suspect(url, error instanceof HungEndpointError ? HUNG_MS : SUSPECT_MS);
  }

  clear(url: string): void {
    if (this.#failed.size > 0) this.#failed.delete(url);
  }

  /** Whether an endpoint failed recently. */
  get any(): boolean {
    return this.#failed.size > 0 && this.#failed.dropExpired() > 0;
  }

  has(url: string): boolean {
    return this.#failed.size > 0 && this.#failed.get(url) === true;
  }
}

/** Several interchangeable endpoints as one. After a failure the next one is tried if the first did not execute the request, or if the request is safe to repeat. */
export class FailoverEndpoint implements EngineEndpoint {
  readonly #endpoints: readonly PooledEndpoint[];
  readonly #suspects: Suspects;
  readonly #brokers: MoreBrokers | undefined;
  readonly #hangs: HangWatch | undefined;

  /**
   * @param endpoints at least one, in order of preference
   * @param brokers for brokers: finds others when all of these failed. A response that ends early, or that shows that the broker is stopping, is then
   * a failure, too. `hangs` for controllers: another one is tried also if one hangs
   */
  constructor(
    endpoints: readonly PooledEndpoint[],
    suspects: Suspects,
    { brokers, hangs }: { readonly brokers?: MoreBrokers; readonly hangs?: HangWatch } = {},
  ) {
    this.#endpoints = endpoints;
    this.#suspects = suspects;
    this.#brokers = brokers;
    this.#hangs = hangs;
  }

  /** URL of the endpoint that would be tried first now. */
  get url(): string {
    return this.#inOrder()[0]?.url ?? '';
  }

  request(request: EngineRequest): Promise<EngineResponse> {
    return this.#first(request, (endpoint, asked) => endpoint.request(asked));
  }

  async deliver(request: EngineRequest, sink: AnswerSink): Promise<void> {
    if (this.#brokers === undefined || !isRepeatable(request)) {
      return this.#first(request, (endpoint, asked) => endpoint.deliver(asked, sink));
    }
    const attempts: Attempt[] = [];
    try {
      await this.#first(request, (endpoint) => {
        const attempt = new Attempt(sink, endpoint.url, () => this.#suspects.suspect(endpoint.url));
        attempts.push(attempt);
        return attempt.ask(endpoint, request);
      });
    } catch (error) {
      if (!attempts.some((attempt) => attempt.releaseAnyway())) throw error;
    }
  }

  /** Tries the endpoints in order and returns the first response, whatever its status. */
  async #first<T>(
    request: EngineRequest,
    ask: (endpoint: PooledEndpoint, request: EngineRequest) => Promise<T>,
  ): Promise<T> {
    const tried = new Set<PooledEndpoint>();
    let endpoints = this.#inOrder();
    let sent = 0;
    for (;;) {
      const endpoint = endpoints.find((one) => !tried.has(one)) as PooledEndpoint;
      tried.add(endpoint);
      try {
        const hangs = tried.size < endpoints.length && isRepeatable(request) ? this.#hangs : undefined;
        const answer = await (hangs?.ask(endpoint, request, (watched) => ask(endpoint, watched)) ??
          ask(endpoint, request));
        this.#suspects.clear(endpoint.url);
        return answer;
      } catch (error) {
        this.#suspects.note(endpoint.url, error);
        if (!mayTryNext(error, request)) throw error;
        if (error.reached && ++sent >= MAX_SENT) throw error;
        if (tried.size >= endpoints.length) endpoints = (await this.#brokers?.()) ?? endpoints;
        if (endpoints.every((one) => tried.has(one))) throw error;
        endpoint.retried(request);
      }
    }
  }

  #inOrder(): readonly PooledEndpoint[] {
    const [first] = this.#endpoints;
    if (this.#endpoints.length === 1 || (first && !this.#suspects.has(first.url))) return this.#endpoints;
    const suspect = (endpoint: PooledEndpoint) => Number(this.#suspects.has(endpoint.url));
    return this.#endpoints.toSorted((a, b) => suspect(a) - suspect(b));
  }
}

/** Whether the endpoint cannot be reached, or soon will not be. */
function isLost(error: unknown): boolean {
  if (!(error instanceof EngineError) || error.code !== 'unreachable') return false;
  return !(error instanceof EndpointError && error.answered);
}

/** Further brokers to try when all known ones failed. */
export type MoreBrokers = () => Promise<readonly PooledEndpoint[]>;

/** Maximum endpoints that may receive one request: a request that causes one endpoint to fail may cause others to fail. */
const MAX_SENT = 3;

/** A request that was never sent may go to another endpoint; one that may have arrived only if it is repeatable. A stream body cannot be sent twice. */
function mayTryNext(error: unknown, request: EngineRequest): error is EndpointError {
  if (!(error instanceof EndpointError)) return false;
  if (isStream(request.body)) return false;
  if (error.code === 'overloaded') return true;
  return error.code === 'unreachable' && (!error.reached || isRepeatable(request));
}
