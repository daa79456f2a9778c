import { Attempt } from './attempt.ts';
import { isRepeatable, isStream, type PooledEndpoint } from './endpoint.ts';
import { EndpointError } from './failures.ts';
import { EngineError, type AnswerSink, type EngineEndpoint, type EngineRequest, type EngineResponse } from './types.ts';

/** How long an unreachable endpoint is tried last; a success ends this at once. */
const SUSPECT_MS = 10_000;

/** Remembers recently failed endpoints, so that others are tried first. */
export class Suspects {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  /** @param now monotonic clock in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  suspect(url: string): void {
    this.#until.set(url, this.#now() + SUSPECT_MS);
  }

  clear(url: string): void {
    if (this.#until.size > 0) this.#until.delete(url);
  }

  has(url: string): boolean {
    if (this.#until.size === 0) return false;
    const until = this.#until.get(url);
    return until !== undefined && until > this.#now();
  }
}

/** Several interchangeable endpoints as one. After a failure the next one is tried if a second execution is not possible or does no harm. */
export class FailoverEndpoint implements EngineEndpoint {
  readonly #endpoints: readonly PooledEndpoint[];
  readonly #suspects: Suspects;
  readonly #brokers: boolean;

  /**
   * @param endpoints at least one, in order of preference
   * @param brokers whether they are brokers. Then a delivered response whose connection breaks early, or that tells that the broker is stopping, is a failure, too
   */
  constructor(endpoints: readonly PooledEndpoint[], suspects: Suspects, brokers = false) {
    this.#endpoints = endpoints;
    this.#suspects = suspects;
    this.#brokers = brokers;
  }

  /** URL of the endpoint that would be tried first now. */
  get url(): string {
    return this.#inOrder()[0]?.url ?? '';
  }

  request(request: EngineRequest): Promise<EngineResponse> {
    return this.#first(request, (endpoint) => endpoint.request(request));
  }

  deliver(request: EngineRequest, sink: AnswerSink): Promise<void> {
    const holds = this.#brokers && isRepeatable(request);
    return this.#first(request, (endpoint, last) =>
      holds && !last ? deliverAttempt(endpoint, request, sink) : endpoint.deliver(request, sink),
    );
  }

  /** Tries the endpoints in order and returns the first response, whatever its status. */
  async #first<T>(request: EngineRequest, ask: (endpoint: PooledEndpoint, isLast: boolean) => Promise<T>): Promise<T> {
    let last: unknown;
    let sent = 0;
    const endpoints = this.#inOrder();
    for (const endpoint of endpoints) {
      const isLast = endpoint === endpoints.at(-1) || sent === MAX_SENT - 1;
      try {
        const answer = await ask(endpoint, isLast);
        this.#suspects.clear(endpoint.url);
        return answer;
      } catch (error) {
        last = error;
        if (error instanceof EngineError && error.code === 'unreachable') this.#suspects.suspect(endpoint.url);
        if (isLast || !mayTryNext(error, request)) throw error;
        if ((error as EndpointError).reached) sent++;
      }
    }
    throw last;
  }

  #inOrder(): readonly PooledEndpoint[] {
    const [first] = this.#endpoints;
    if (this.#endpoints.length === 1 || (first && !this.#suspects.has(first.url))) return this.#endpoints;
    const suspect = (endpoint: PooledEndpoint) => Number(this.#suspects.has(endpoint.url));
    return this.#endpoints.toSorted((a, b) => suspect(a) - suspect(b));
  }
}

/** How often a request may be sent that possibly arrived: one that made an endpoint fail may do the same to others. */
const MAX_SENT = 3;

async function deliverAttempt(endpoint: PooledEndpoint, request: EngineRequest, sink: AnswerSink): Promise<void> {
  const attempt = new Attempt(sink, endpoint.url);
  await endpoint.deliver(request, attempt);
  await attempt.released;
}

/** A request that was never sent may go to another endpoint; one that may have arrived only if it is repeatable. A stream body cannot be sent twice. */
function mayTryNext(error: unknown, request: EngineRequest): boolean {
  if (!(error instanceof EndpointError)) return false;
  if (isStream(request.body)) return false;
  if (error.code === 'overloaded') return true;
  return error.code === 'unreachable' && (!error.reached || isRepeatable(request));
}
