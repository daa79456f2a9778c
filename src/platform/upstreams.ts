import type { MonotonicClock } from './clock.ts';
import type { TraceSpan } from './tracing.ts';
import type { Trail } from './trail.ts';

/** The servers that this process sends requests to. */
export type UpstreamRole = 'controller' | 'broker' | 'gateway' | 'store';

/** How a request to an upstream ended. */
export const UPSTREAM_OUTCOMES = [
  /** A complete response with a status below 400. */
  'ok',
  /** A complete response with a status from 400 to 499. */
  'client-error',
  'server-error',
  /** No connection. */
  'refused',
  /** No response in time, or none to a probe either. */
  'timeout',
  /** The connection was lost. */
  'reset',
  /** The response is not valid, or another failure. */
  'bad-response',
  /** Not sent, because too many requests wait for a connection. */
  'overloaded',
  /** The caller of this process has gone, or no longer needs the response. */
  'aborted',
] as const;
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

/** The state of the connections to an address. */
export interface UpstreamState {
  readonly used: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
  /** Whether other addresses are tried first. */
  readonly suspected: boolean;
}

/** Counts the requests to one address. */
export interface UpstreamCounts {
  began(): void;
  /** @param seconds until the response began or the request failed */
  ended(outcome: UpstreamOutcome, seconds: number): void;
  retried(): void;
}

/** Keeps the counts of all addresses. */
export interface UpstreamObserver {
  countsOf(upstream: Upstream): UpstreamCounts;
}

export const NO_OBSERVER: UpstreamObserver = {
  countsOf: () => ({ began: () => undefined, ended: () => undefined, retried: () => undefined }),
};

export interface UpstreamOptions {
  readonly role: UpstreamRole;
  /** `host:port`, an IPv6 host in brackets. */
  readonly address: string;
  readonly clock: MonotonicClock;
  readonly observer?: UpstreamObserver | undefined;
  /** Default: the requests in progress. */
  readonly state?: (() => UpstreamState) | undefined;
}

/** One address that requests are sent to. */
export class Upstream {
  readonly role: UpstreamRole;
  readonly address: string;
  readonly state: (() => UpstreamState) | undefined;
  readonly #clock: MonotonicClock;
  readonly #observer: UpstreamObserver;

  constructor({ role, address, clock, observer = NO_OBSERVER, state }: UpstreamOptions) {
    this.role = role;
    this.address = address;
    this.state = state;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** A request begins. `end` of the result must be called once. @param name of its span, such as `POST /query/sql` */
  begin(name: () => string, method: string, trail: Trail | undefined): UpstreamCall {
    const span = trail?.span?.child(name(), 'client', {
      ...(method !== '' && { 'http.request.method': method }),
      'server.address': this.#host,
      'server.port': this.#port,
      'peer.service': this.role,
      ...SYSTEMS[this.role],
    });
    return new UpstreamCall({ upstream: this, counts: this.#observer.countsOf(this), clock: this.#clock, trail, span });
  }

  /** A request to this address failed and is sent again, here or elsewhere. */
  retried(trail: Trail | undefined): void {
    this.#observer.countsOf(this).retried();
    if (trail !== undefined) trail.retries++;
  }

  get #host(): string {
    return this.address.slice(0, this.address.lastIndexOf(':'));
  }

  get #port(): number {
    return Number(this.address.slice(this.address.lastIndexOf(':') + 1));
  }
}

const SYSTEMS: Readonly<Record<UpstreamRole, Readonly<Record<string, string>>>> = {
  controller: { 'db.system.name': 'pinot' },
  broker: { 'db.system.name': 'pinot' },
  gateway: {},
  store: {},
};

interface CallDependencies {
  readonly upstream: Upstream;
  readonly counts: UpstreamCounts;
  readonly clock: MonotonicClock;
  readonly trail: Trail | undefined;
  readonly span: TraceSpan | undefined;
}

/** One request to an upstream. */
export class UpstreamCall {
  readonly #parts: CallDependencies;
  readonly #startedAt: number;
  #waitedMs: number | undefined;
  #status: number | undefined;
  #resent = 0;
  #isOver = false;

  constructor(parts: CallDependencies) {
    this.#parts = parts;
    this.#startedAt = parts.clock.monotonic();
    parts.counts.began();
  }

  /** Headers that continue the trace at the upstream; undefined where traces are off. */
  get headers(): Readonly<Record<string, string>> | undefined {
    return this.#parts.span?.headers;
  }

  /** The headers of the response arrived. */
  answered(status: number): void {
    this.#status = status;
    this.#stopWaiting();
  }

  /** The request is sent again on another connection to the same address. */
  resent(): void {
    const { upstream, trail } = this.#parts;
    this.#resent++;
    upstream.retried(trail);
  }

  /** The response is complete, or the request failed. Further calls do nothing. @param failure undefined: by the status of the response */
  end(failure?: UpstreamOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const outcome = failure ?? outcomeOfStatus(this.#status);
    this.#parts.counts.ended(outcome, this.#stopWaiting() / 1000);
    this.#endSpan(outcome);
  }

  #stopWaiting(): number {
    if (this.#waitedMs !== undefined) return this.#waitedMs;
    const { upstream, clock, trail } = this.#parts;
    this.#waitedMs = clock.monotonic() - this.#startedAt;
    if (trail !== undefined) {
      trail.upstream = upstream.address;
      trail.upstreamMs += this.#waitedMs;
    }
    return this.#waitedMs;
  }

  #endSpan(outcome: UpstreamOutcome): void {
    const { span } = this.#parts;
    if (span === undefined) return;
    if (this.#status !== undefined) span.set({ 'http.response.status_code': this.#status });
    if (this.#resent > 0) span.set({ 'http.request.resend_count': this.#resent });
    if (outcome !== 'ok') span.fail(outcome.endsWith('-error') ? String(this.#status) : outcome);
    span.end();
  }
}

function outcomeOfStatus(status: number | undefined): UpstreamOutcome {
  if (status === undefined || status < 400) return 'ok';
  return status < 500 ? 'client-error' : 'server-error';
}

/** `host:port` of a base URL. */
export function addressOfUrl(url: string): string {
  const { host, port, protocol } = new URL(url);
  return port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
}
