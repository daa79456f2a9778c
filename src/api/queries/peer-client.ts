import { systemClock, type Clock } from '../../platform/clock.ts';
import { LruCache } from '../../platform/lru.ts';
import { addressOfUrl, Upstream, type UpstreamObserver } from '../../platform/upstreams.ts';
import { readBody } from '../../pinot/controller.ts';
import { NO_CREDENTIAL } from '../../pinot/credential.ts';
import { PooledEndpoint, type EndpointLimits } from '../../pinot/endpoint.ts';
import { HungEndpointError } from '../../pinot/failures.ts';
import { HangWatch, probeEndpoint } from '../../pinot/hang-watch.ts';
import { Suspects } from '../../pinot/suspects.ts';
import type { EngineResponse } from '../../pinot/types.ts';
import { FORWARDED_HEADER, MAX_PEERS, type GatewayAddress } from '../../results/peers/peers.ts';
import { passedSession } from '../server/authentication/session-cookie.ts';
import type { RequestContext } from '../server/context.ts';
import { printTarget, type RequestTarget } from '../server/request/target.ts';
import { HttpError } from '../server/errors.ts';

export interface PeerClientOptions {
  /** Protocol of the gateways; `http` by default. */
  readonly scheme?: 'http' | 'https';
  /** CA certificates for the gateways' certificates, PEM. */
  readonly ca?: string;
  /** Certificate of this gateway, where the others require one, PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  /** The part of the connections to a gateway that one caller may use: more than 0, at most 1; 0.5 by default. */
  readonly share?: number;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Counts the requests; none where absent. */
  readonly observer?: UpstreamObserver | undefined;
}

const LIMITS = {
  connections: 32,
  queue: 512,
  share: 0.5,
  connectTimeoutMs: 2_000,
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
} satisfies EndpointLimits;
const IDENTIFY_LIMITS = { ...LIMITS, connections: 1, queue: 1, share: 1 };
const IDENTIFY_TIMEOUT_MS = 2_000;
const IDENTITY_PATH = '/query/gateway';
const IDENTITY_BYTES = 4096;
/** A page takes less in general. No other gateway can take over, so the caller learns soon that this one hangs. */
const PROBE_AFTER_MS = 500;
const RETRY_AFTER_SECONDS = '5';

/** Forwarded request headers beside the session: another credential, the headers that dashboard sessions require, and those that select the form and part of a result. */
const PASSED_HEADERS = [
  'authorization',
  'x-olap-warden-ui',
  'sec-fetch-site',
  'accept',
  'accept-encoding',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
] as const;

/** HTTP client for the other gateways. Close it. */
export class PeerClient {
  readonly #scheme: 'http' | 'https';
  readonly #tls: Pick<PeerClientOptions, 'ca' | 'client'>;
  readonly #clock: Clock;
  readonly #share: number;
  readonly #observer: UpstreamObserver | undefined;
  readonly #suspects: Suspects;
  readonly #hangs: HangWatch;
  readonly #endpoints = new LruCache<string, PooledEndpoint>({
    maxWeight: MAX_PEERS,
    isPinned: ({ outstanding }) => outstanding > 0,
    onEvict: (endpoint) => void endpoint.close(),
  });
  /** Gateways that are identified or probed now, on connections of their own: those for requests may all be waiting. */
  readonly #asked = new Set<PooledEndpoint>();

  constructor(options: PeerClientOptions = {}) {
    const { scheme = 'http', ca, client, clock = systemClock, share = LIMITS.share, observer } = options;
    this.#scheme = scheme;
    this.#tls = { ...(ca !== undefined && { ca }), client };
    this.#observer = observer;
    this.#clock = clock;
    this.#share = share;
    this.#suspects = new Suspects(() => clock.monotonic());
    const probe = (url: string, timeoutMs: number): Promise<void> =>
      this.#apart(url, (endpoint) => probeEndpoint(endpoint, IDENTITY_PATH, timeoutMs));
    this.#hangs = new HangWatch({ clock, suspects: this.#suspects, probe, afterMs: PROBE_AFTER_MS });
  }

  /**
   * Forwards a request to a peer, with the caller's credential.
   * @throws {HttpError} 503 where the peer does not respond: at once if it cannot be reached, within three seconds if it hangs
   */
  async forward(
    request: RequestContext,
    target: RequestTarget,
    peer: GatewayAddress,
    signal: AbortSignal,
  ): Promise<EngineResponse> {
    const url = this.#urlOf(peer);
    try {
      if (await this.#hangs.stillHangs(url)) throw new HungEndpointError(url);
      const asked = {
        method: request.method,
        path: printTarget(target),
        headerList: this.#headersOf(request),
        caller: request.principal.srn,
        signal,
        trail: request.trail,
      };
      return await this.#endpoint(url).request(asked, () => true);
    } catch (error) {
      throw new HttpError(503, `the gateway \`${peer.host}:${peer.port}\`, which stores the result, does not respond`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
        cause: error,
      });
    }
  }

  /** Whether a gateway did not respond to requests and probes a short time ago. Probes it in the background. */
  isSuspected(peer: GatewayAddress): boolean {
    this.#hangs.recheck();
    return this.#suspects.has(this.#urlOf(peer));
  }

  /** The `brokerId` of a gateway; undefined where no gateway responds, and at once for a suspected one. */
  async identify(address: GatewayAddress): Promise<string | undefined> {
    if (this.isSuspected(address)) return undefined;
    const url = this.#urlOf(address);
    try {
      return await this.#apart(url, async (endpoint) => {
        endpoint.upstream = this.#endpoint(url).upstream;
        const { status, body } = await endpoint.request({
          method: 'GET',
          path: IDENTITY_PATH,
          headersTimeoutMs: IDENTIFY_TIMEOUT_MS,
          signal: AbortSignal.timeout(2 * IDENTIFY_TIMEOUT_MS),
        });
        const text = (await readBody(body, IDENTITY_BYTES, IDENTITY_PATH)).toString();
        if (status !== 200) return undefined;
        const { brokerId } = JSON.parse(text) as { brokerId?: unknown };
        return typeof brokerId === 'string' ? brokerId : undefined;
      });
    } catch (error) {
      // Not running or not a gateway. The next refresh retries.
      this.#hangs.note(url, error);
      return undefined;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#asked, ...this.#endpoints.values()].map((endpoint) => endpoint.close()));
  }

  #headersOf(request: RequestContext): string[] {
    const list = [FORWARDED_HEADER, '1', 'x-request-id', request.id];
    const session = passedSession(request, this.#scheme);
    if (session !== undefined) list.push('cookie', session);
    for (const name of PASSED_HEADERS) {
      const value = request.headers[name];
      if (typeof value === 'string') list.push(name, value);
    }
    return list;
  }

  #endpoint(url: string): PooledEndpoint {
    const known = this.#endpoints.get(url);
    if (known !== undefined) return known;
    const endpoint = this.#endpointAt(url, { ...LIMITS, share: this.#share });
    const state = () => ({ ...endpoint.load, suspected: this.#suspects.has(url) });
    const [clock, observer] = [this.#clock, this.#observer];
    endpoint.upstream = new Upstream({ role: 'gateway', address: addressOfUrl(url), clock, observer, state });
    this.#endpoints.set(url, endpoint);
    return endpoint;
  }

  #endpointAt(url: string, limits: EndpointLimits): PooledEndpoint {
    return new PooledEndpoint(url, NO_CREDENTIAL, limits, { ...this.#tls, clock: this.#clock, hangs: this.#hangs });
  }

  /** Asks a gateway on a connection of its own, which is closed afterwards. */
  async #apart<T>(url: string, ask: (endpoint: PooledEndpoint) => Promise<T>): Promise<T> {
    const endpoint = this.#endpointAt(url, IDENTIFY_LIMITS);
    this.#asked.add(endpoint);
    try {
      return await ask(endpoint);
    } finally {
      this.#asked.delete(endpoint);
      void endpoint.close();
    }
  }

  #urlOf({ host, port }: GatewayAddress): string {
    return `${this.#scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
}
