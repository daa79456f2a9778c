import { ResponseBody, responseOf } from './response-body.ts';
import { BrokerAttempt } from './attempt.ts';
import { isRepeatable, isStream, type PooledEndpoint } from './endpoint.ts';
import { EndpointError } from './failures.ts';
import type { HangWatch } from './hang-watch.ts';
import type { Suspects } from './suspects.ts';
import type { ResponseSink, EngineEndpoint, EngineRequest, EngineResponse } from './types.ts';

/** Further brokers for a request. */
export interface MoreBrokers {
  /** Those known now. Neither waits nor throws. */
  readonly known: () => readonly PooledEndpoint[];
  /** Called after all known brokers failed. */
  readonly afterFailure: () => Promise<readonly PooledEndpoint[]>;
  /** Called for a broker that rejected the credential of the gateway while another one accepted it. */
  readonly onRejection: (message: string, url: string) => void;
}

/** What is known of all endpoints. */
export interface EndpointHealth {
  readonly suspects: Suspects;
  readonly hangs: HangWatch;
}

/** Several interchangeable endpoints as one. After a failure the next one is tried if the first did not execute the request, or if the request is safe to repeat. */
export class FailoverEndpoint implements EngineEndpoint {
  readonly #endpoints: readonly PooledEndpoint[];
  readonly #health: EndpointHealth;
  readonly #brokers: MoreBrokers | undefined;

  /**
   * @param endpoints at least one, in order of preference
   * @param brokers for brokers: finds others when all of these failed. A response that ends early, that shows that the broker is stopping, or that rejects
   * the credential, is then a failure, too
   */
  constructor(endpoints: readonly PooledEndpoint[], health: EndpointHealth, brokers?: MoreBrokers) {
    this.#endpoints = endpoints;
    this.#health = health;
    this.#brokers = brokers;
  }

  /** URL of the endpoint that would be tried first now. */
  get url(): string {
    return new Course(this.#endpoints, this.#health.suspects).next().url;
  }

  async request(request: EngineRequest): Promise<EngineResponse> {
    if (this.#brokers === undefined || isStream(request.body)) {
      return this.#first(request, (endpoint, mayLeave) => endpoint.request(request, mayLeave));
    }
    const body = new ResponseBody();
    const url = await this.#ask(request, body, this.#brokers);
    return responseOf(body, url);
  }

  async deliver(request: EngineRequest, sink: ResponseSink): Promise<void> {
    if (this.#brokers === undefined || isStream(request.body)) {
      return this.#first(request, (endpoint, mayLeave) => endpoint.deliver(request, sink, mayLeave));
    }
    await this.#ask(request, sink, this.#brokers);
  }

  /** Whether there is never another endpoint: then nothing depends on whether this one hangs. */
  get #isSingle(): boolean {
    return this.#brokers === undefined && this.#endpoints.length === 1;
  }

  /** Asks brokers. @returns the URL of the one whose response the sink gets */
  async #ask(request: EngineRequest, sink: ResponseSink, brokers: MoreBrokers): Promise<string> {
    const attempts: BrokerAttempt[] = [];
    try {
      const url = await this.#first(request, async (endpoint, mayLeave) => {
        const attempt = new BrokerAttempt(sink, {
          url: endpoint.url,
          isRepeatable: isRepeatable(request),
          onLost: () => this.#health.suspects.suspect(endpoint.url),
        });
        attempts.push(attempt);
        await attempt.ask(endpoint, request, mayLeave);
        return endpoint.url;
      });
      for (const { url, rejection } of attempts) {
        if (rejection !== undefined) brokers.onRejection(rejection, url);
      }
      return url;
    } catch (error) {
      const released = attempts.find((attempt) => attempt.releaseAnyway());
      if (released === undefined) throw error;
      return released.url;
    }
  }

  /** Tries the endpoints in order and returns the first response, whatever its status. */
  async #first<T>(
    request: EngineRequest,
    ask: (endpoint: PooledEndpoint, mayLeave: (() => boolean) | undefined) => Promise<T>,
  ): Promise<T> {
    const { suspects, hangs } = this.#health;
    hangs.recheck();
    const course = new Course(this.#endpoints, suspects);
    let sent = 0;
    let isOver = false;
    const mayLeave = (): boolean => {
      if (isOver || !isRepeatable(request) || sent + 1 >= MAX_SENT) return false;
      if (!course.hasUnsuspected) course.add(this.#brokers?.known() ?? []);
      return course.hasUnsuspected;
    };
    for (;;) {
      const endpoint = course.next();
      try {
        const response = await ask(endpoint, this.#isSingle ? undefined : mayLeave);
        isOver = true;
        suspects.clear(endpoint.url);
        return response;
      } catch (error) {
        suspects.note(endpoint.url, error);
        if (!mayTryNext(error, request)) throw error;
        if ((error.reached || error.rejected) && ++sent >= MAX_SENT) throw error;
        // Other brokers know the same credential.
        if (!course.hasNext && !error.rejected) course.add((await this.#brokers?.afterFailure()) ?? []);
        if (!course.hasNext) throw error;
        endpoint.retried(request);
      }
    }
  }
}

/** The endpoints that one request has tried, and those that are left. */
class Course {
  readonly #endpoints: PooledEndpoint[];
  readonly #suspects: Suspects;
  #tried = 0;

  constructor(endpoints: readonly PooledEndpoint[], suspects: Suspects) {
    this.#endpoints = [...endpoints];
    this.#suspects = suspects;
  }

  get hasNext(): boolean {
    return this.#tried < this.#endpoints.length;
  }

  /** Whether one is left that did not fail recently. */
  get hasUnsuspected(): boolean {
    return this.#unsuspected() >= 0;
  }

  add(endpoints: readonly PooledEndpoint[]): void {
    const known = new Set(this.#endpoints);
    this.#endpoints.push(...endpoints.filter((endpoint) => !known.has(endpoint)));
  }

  /** The next endpoint: the first one, but those that failed recently last. Requires `hasNext`. */
  next(): PooledEndpoint {
    const at = Math.max(this.#unsuspected(), this.#tried);
    const next = this.#endpoints[at];
    if (next === undefined) throw new TypeError('no endpoint is left');
    this.#endpoints.copyWithin(this.#tried + 1, this.#tried, at);
    this.#endpoints[this.#tried++] = next;
    return next;
  }

  /** Its position; negative for none. */
  #unsuspected(): number {
    return this.#endpoints.findIndex(({ url }, at) => at >= this.#tried && !this.#suspects.has(url));
  }
}

/** Maximum endpoints that may receive one request: a request that causes one endpoint to fail may cause others to fail. */
const MAX_SENT = 3;

/** A request that was never sent may go to another endpoint; one that may have arrived only if it is repeatable. A stream body cannot be sent twice. */
function mayTryNext(error: unknown, request: EngineRequest): error is EndpointError {
  if (!(error instanceof EndpointError)) return false;
  if (isStream(request.body)) return false;
  if (error.code === 'overloaded') return true;
  return error.code === 'unreachable' && (!error.reached || isRepeatable(request));
}
