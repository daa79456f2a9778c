import { Agent } from 'undici';
import { type MonotonicClock, systemClock } from '../../platform/clock.ts';
import { LruCache } from '../../platform/lru.ts';
import { withErrorListener } from '../../platform/stream-errors.ts';
import { Upstream, type UpstreamCall, type UpstreamObserver } from '../../platform/upstreams.ts';
import { outcomeOfError } from '../../pinot/failures.ts';
import type { EngineResponse } from '../../pinot/types.ts';
import { FORWARDED_HEADER, type GatewayAddress } from '../../results/peers/peers.ts';
import { passedSession } from '../ui/session-cookie.ts';
import type { RequestContext } from '../server/context.ts';
import { printTarget, type Target } from '../server/request/target.ts';
import { HttpError } from '../server/errors.ts';

export interface PeerClientOptions {
  /** Protocol of the gateways; `http` by default. */
  readonly scheme?: 'http' | 'https';
  /** CA certificates for the gateways' certificates, PEM. */
  readonly ca?: string;
  /** The system clock by default. */
  readonly clock?: MonotonicClock;
  /** Counts the requests; none where absent. */
  readonly observer?: UpstreamObserver | undefined;
}

const CONNECTIONS = 32;
/** Gateways with counts; one that starts again may have another address. */
const MAX_UPSTREAMS = 256;
const CONNECT_TIMEOUT_MS = 2_000;
const HEADERS_TIMEOUT_MS = 60_000;
const BODY_TIMEOUT_MS = 60_000;
const IDENTIFY_TIMEOUT_MS = 2_000;
const IDENTITY_BYTES = 4096;

/** Forwarded request headers beside the session: another credential, the headers that dashboard sessions require, and those that select the form and part of a result. */
const PASSED_HEADERS = [
  'authorization',
  'x-olap-warden-ui',
  'sec-fetch-site',
  'accept',
  'accept-encoding',
  'range',
  'if-range',
] as const;

/** HTTP client for the other gateways. Close it. */
export class PeerClient {
  readonly #agent: Agent;
  readonly #scheme: 'http' | 'https';
  readonly #options: PeerClientOptions;
  readonly #upstreams = new LruCache<string, Upstream>({ maxWeight: MAX_UPSTREAMS });

  constructor(options: PeerClientOptions = {}) {
    this.#options = options;
    this.#scheme = options.scheme ?? 'http';
    this.#agent = new Agent({
      connections: CONNECTIONS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(options.ca === undefined ? {} : { ca: options.ca }) },
    });
  }

  /**
   * Forwards a request to a peer, with the caller's credential.
   * @throws {HttpError} 503 where the peer does not respond
   */
  async forward(
    request: RequestContext,
    target: Target,
    peer: GatewayAddress,
    signal: AbortSignal,
  ): Promise<EngineResponse> {
    const { headers: received, id, method } = request;
    const headers: Record<string, string> = { [FORWARDED_HEADER]: '1', 'x-request-id': id };
    const session = passedSession(request, this.#scheme);
    if (session !== undefined) headers['cookie'] = session;
    for (const name of PASSED_HEADERS) {
      const value = received[name];
      if (typeof value === 'string') headers[name] = value;
    }
    const call = this.#upstream(peer).begin(`${method} gateway`, method, request.trail);
    try {
      const options = {
        origin: this.#origin(peer),
        path: printTarget(target),
        method: method as 'GET' | 'DELETE',
        headers: { ...headers, ...call.headers },
        signal,
      };
      const { statusCode: status, headers: responseHeaders, body } = await this.#agent.request(options);
      call.answered(status);
      return { status, headers: responseHeaders, body: endingCall(withErrorListener(body), call, signal) };
    } catch (error) {
      call.end(signal.aborted ? 'aborted' : outcomeOfError(error));
      throw new HttpError(503, `the gateway \`${peer.host}:${peer.port}\`, which stores the result, does not respond`, {
        headers: { 'retry-after': '5' },
        cause: error,
      });
    }
  }

  /** The `brokerId` of a gateway; undefined where no gateway responds. */
  async identify(address: GatewayAddress): Promise<string | undefined> {
    const call = this.#upstream(address).begin('GET gateway', 'GET', undefined);
    try {
      const { statusCode, body } = await this.#agent.request({
        origin: this.#origin(address),
        path: '/query/gateway',
        method: 'GET',
        signal: AbortSignal.timeout(IDENTIFY_TIMEOUT_MS),
      });
      call.answered(statusCode);
      const text = Buffer.from(await withErrorListener(body).arrayBuffer()).toString('utf8', 0, IDENTITY_BYTES);
      call.end();
      if (statusCode !== 200) return undefined;
      const { brokerId } = JSON.parse(text) as { brokerId?: unknown };
      return typeof brokerId === 'string' ? brokerId : undefined;
    } catch (error) {
      call.end(outcomeOfError(error));
      // Not running or not a gateway. The next refresh retries.
      return undefined;
    }
  }

  #upstream({ host, port }: GatewayAddress): Upstream {
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    let upstream = this.#upstreams.get(address);
    if (upstream === undefined) {
      const { clock = systemClock, observer } = this.#options;
      upstream = new Upstream({ role: 'gateway', address, clock, observer });
      this.#upstreams.set(address, upstream);
    }
    return upstream;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #origin({ host, port }: GatewayAddress): string {
    return `${this.#scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
}

/** Ends the call with the body, however that ends. */
function endingCall(body: EngineResponse['body'], call: UpstreamCall, signal: AbortSignal): EngineResponse['body'] {
  return body
    .once('end', () => call.end())
    .once('error', () => call.end(signal.aborted ? 'aborted' : 'reset'))
    .once('close', () => call.end('aborted'));
}
