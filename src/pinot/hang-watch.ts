import { withErrorListener } from '../platform/stream-errors.ts';
import type { Clock } from '../platform/clock.ts';
import { HungEndpointError } from './failures.ts';
import type { Suspects } from './suspects.ts';
import { EngineError, type EngineEndpoint } from './types.ts';

/** Time without progress after which an endpoint is probed. Most requests take less, so they cost no probe. */
const PROBE_AFTER_MS = 2_000;
const PROBE_TIMEOUT_MS = 2_000;
/** This part of the request's time-out is waited for, so that half of it is left for another endpoint. */
const SHARE = 0.25;
/** How long others are tried before an endpoint that hangs, unless a later probe gets a response. */
const HUNG_MS = 60_000;
/** Minimum time between two probes of an endpoint that hangs. */
const PROBE_AGAIN_MS = 1_000;

export interface HangWatchOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly suspects: Suspects;
  /**
   * Sends a cheap request over a connection of its own: those for requests may all be waiting. Resolves with any response.
   * @throws {EngineError} as `EngineEndpoint.request`; `timeout` where there is no response in time
   */
  readonly probe: (url: string, timeoutMs: number) => Promise<unknown>;
  /** Milliseconds without progress after which an endpoint is probed; default 2 s. */
  readonly afterMs?: number;
}

/** What the watch knows of an endpoint. */
export interface WatchedEndpoint {
  readonly url: string;
  /** Monotonic time of the last response to any request. */
  respondedAt: number;
}

/** A request in progress. */
export interface WatchedExchange {
  /** Grows with each part of the response. */
  readonly progress: number;
  /** Whether it waits for its reader, and not for the endpoint. */
  readonly isPaused: boolean;
  /** Whether another endpoint can take over, or a failure is better than waiting. Asked each time when the endpoint hangs. */
  mayLeave(): boolean;
  /** Ends the request. */
  leave(error: HungEndpointError): void;
}

/**
 * Finds endpoints that accept connections but do not respond, such as a stopped process, so that their requests go elsewhere within seconds. A slow request
 * to an endpoint that works is not ended: a probe tells the two apart. For controllers, brokers and other gateways alike.
 */
export class HangWatch {
  readonly #options: HangWatchOptions;
  readonly #afterMs: number;
  /** Probes in progress by URL: requests that wait for the same endpoint share one. Resolve to whether it hangs. */
  readonly #probes = new Map<string, Promise<boolean>>();
  /** Endpoints that hang, with the time when their last probe ended. All are suspected; see `recheck`. */
  readonly #hung = new Map<string, number>();

  constructor(options: HangWatchOptions) {
    this.#options = options;
    this.#afterMs = options.afterMs ?? PROBE_AFTER_MS;
  }

  /**
   * Watches a request from now on.
   * @param headersTimeoutMs of the request
   * @returns ends the watch; must be called when the request ends
   */
  follow(endpoint: WatchedEndpoint, exchange: WatchedExchange, headersTimeoutMs: number): () => void {
    const share = headersTimeoutMs * SHARE;
    const afterMs = Math.min(this.#afterMs, share);
    let seen = exchange.progress;
    let isOver = false;
    const check = async (): Promise<void> => {
      const before = exchange.progress;
      const isStill = (): boolean => !isOver && exchange.progress === before;
      if (before === seen && !exchange.isPaused && this.#isSilent(endpoint, afterMs)) {
        const hangs = await this.#hangs(endpoint, Math.min(PROBE_TIMEOUT_MS, share));
        // The response may have begun during the probe.
        if (hangs && isStill() && exchange.mayLeave()) return exchange.leave(new HungEndpointError(endpoint.url));
      }
      seen = before;
      if (!isOver) schedule();
    };
    let cancel: () => void;
    const schedule = (): void => {
      cancel = this.#options.clock.schedule(() => void check(), afterMs);
    };
    schedule();
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** Probes the endpoints that hang again, in the background, to find those that respond again. Call it with each request that could use them. */
  recheck(): void {
    const { clock, suspects } = this.#options;
    for (const [url, probedAt] of this.#hung) {
      if (!suspects.has(url)) this.#hung.delete(url);
      else if (clock.monotonic() - probedAt >= PROBE_AGAIN_MS) void this.#probe({ url, respondedAt: 0 });
    }
  }

  /** Notes the outcome of a request that is as cheap as a probe. @returns whether it shows that the endpoint hangs */
  note(url: string, error: unknown): boolean {
    if (!(error instanceof EngineError) || error.code !== 'timeout') return false;
    this.#options.suspects.suspect(url, HUNG_MS);
    this.#hung.set(url, this.#options.clock.monotonic());
    return true;
  }

  /** Whether an endpoint that hung still does. Probes it unless that was done just now; at once for one that did not hang. */
  async stillHangs(url: string): Promise<boolean> {
    const { clock, suspects } = this.#options;
    const probedAt = this.#hung.get(url);
    if (probedAt === undefined || !suspects.has(url)) return false;
    return clock.monotonic() - probedAt < PROBE_AGAIN_MS || this.#probe({ url, respondedAt: 0 });
  }

  #isSilent({ respondedAt }: WatchedEndpoint, ms: number): boolean {
    return this.#options.clock.monotonic() - respondedAt >= ms;
  }

  /**
   * Whether the endpoint hangs. A probe has a time-out of its own, so that a request with little time does not decide for the others that share it;
   * each waits for it as long as its own time allows.
   * @param limitMs how long this request can wait
   */
  async #hangs(endpoint: WatchedEndpoint, limitMs: number): Promise<boolean> {
    const waited = Promise.withResolvers<boolean>();
    const cancel = this.#options.clock.schedule(() => waited.resolve(true), limitMs);
    try {
      return await Promise.race([this.#probe(endpoint), waited.promise]);
    } finally {
      cancel();
    }
  }

  #probe(endpoint: WatchedEndpoint): Promise<boolean> {
    const { url } = endpoint;
    let probe = this.#probes.get(url);
    if (probe === undefined) {
      probe = this.#probeNow(endpoint).finally(() => this.#probes.delete(url));
      this.#probes.set(url, probe);
    }
    return probe;
  }

  async #probeNow(endpoint: WatchedEndpoint): Promise<boolean> {
    const { clock, suspects, probe } = this.#options;
    const { url } = endpoint;
    try {
      await probe(url, PROBE_TIMEOUT_MS);
      endpoint.respondedAt = clock.monotonic();
    } catch (error) {
      // A refused connection shows no hang: the request itself fails then, too.
      if (this.note(url, error)) return true;
    }
    if (this.#hung.delete(url)) suspects.clear(url);
    return false;
  }
}

/** Sends a probe and discards the response. @throws {EngineError} as `EngineEndpoint.request` */
export async function probeEndpoint(endpoint: EngineEndpoint, path: string, timeoutMs: number): Promise<void> {
  const { body } = await endpoint.request({
    method: 'GET',
    path,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  });
  withErrorListener(body).destroy();
}
