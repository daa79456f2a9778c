import { withErrorListener } from '../platform/stream-errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { PooledEndpoint } from './endpoint.ts';
import { EndpointError } from './failures.ts';
import { EngineError, type EngineRequest } from './types.ts';

/** Time without a response after which an endpoint is probed. Ordinary calls take less, so they cost no probe. */
const PROBE_AFTER_MS = 2_000;
const PROBE_TIMEOUT_MS = 2_000;
/** Of the request's time-out, so that half of it is left for another endpoint. */
const SHARE = 0.25;

/** The endpoint accepts connections, but responds neither to the request nor to `GET /health`. */
export class HungEndpointError extends EndpointError {
  constructor(url: string) {
    super('unreachable', `${url} accepts connections but does not respond, not even to \`GET /health\``, {
      reached: true,
    });
    this.name = 'HungEndpointError';
  }
}

/**
 * Ends requests to endpoints that hang, such as a stopped process whose port still accepts connections, so that another one can be tried
 * within the request's time-out. A slow request to an endpoint that works is not ended: `GET /health` tells the two apart.
 */
export class HangWatch {
  readonly #clock: Pick<Clock, 'schedule'>;
  readonly #probed: ReadonlyMap<string, PooledEndpoint>;
  /** Probes in progress by URL: requests that wait for the same endpoint share one. */
  readonly #probes = new Map<string, Promise<boolean>>();

  /** @param probed the endpoints by URL, with connections of their own: those for requests may all be waiting */
  constructor(clock: Pick<Clock, 'schedule'>, probed: readonly PooledEndpoint[]) {
    this.#clock = clock;
    this.#probed = new Map(probed.map((endpoint) => [endpoint.url, endpoint]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#probed.values()].map((endpoint) => endpoint.close()));
  }

  /**
   * @param ask sends the request that it is given, which has another signal
   * @throws {HungEndpointError} if the endpoint hangs; otherwise as `ask`
   */
  async ask<T>(
    endpoint: PooledEndpoint,
    request: EngineRequest,
    ask: (request: EngineRequest) => Promise<T>,
  ): Promise<T> {
    const { signal, headersTimeoutMs = Number.POSITIVE_INFINITY } = request;
    const ending = new AbortController();
    const share = headersTimeoutMs * SHARE;
    let answered = false;
    const probe = async (): Promise<void> => {
      const responds = await this.#responds(endpoint.url, Math.min(PROBE_TIMEOUT_MS, share));
      // The response may have begun during the probe.
      if (!responds && !answered) ending.abort(new HungEndpointError(endpoint.url));
    };
    const cancel = this.#clock.schedule(() => void probe(), Math.min(PROBE_AFTER_MS, share));
    try {
      const either = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
      const answer = await ask({ ...request, signal: either });
      answered = true;
      return answer;
    } catch (error) {
      throw ending.signal.aborted ? ending.signal.reason : error;
    } finally {
      cancel();
    }
  }

  /**
   * Whether the endpoint responds to `GET /health`, with any status. A probe has a time-out of its own, so that a request with little time does
   * not decide for the others that share it; each waits for it as long as its own time allows.
   * @param limitMs how long this request can wait
   */
  async #responds(url: string, limitMs: number): Promise<boolean> {
    let probe = this.#probes.get(url);
    if (probe === undefined) {
      probe = this.#probe(url).finally(() => this.#probes.delete(url));
      this.#probes.set(url, probe);
    }
    const waited = Promise.withResolvers<boolean>();
    const cancel = this.#clock.schedule(() => waited.resolve(false), limitMs);
    try {
      return await Promise.race([probe, waited.promise]);
    } finally {
      cancel();
    }
  }

  async #probe(url: string): Promise<boolean> {
    try {
      const timeouts = { headersTimeoutMs: PROBE_TIMEOUT_MS, bodyTimeoutMs: PROBE_TIMEOUT_MS };
      const answer = await this.#probed.get(url)?.request({ method: 'GET', path: '/health', ...timeouts });
      if (answer !== undefined) withErrorListener(answer.body).resume();
      return true;
    } catch (error) {
      // A refused connection shows no hang: the request itself fails then, too.
      return !(error instanceof EngineError && error.code === 'timeout');
    }
  }
}
