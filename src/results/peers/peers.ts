import { errorMessage } from '../../platform/plain-error.ts';
import type { MonotonicClock } from '../../platform/clock.ts';
import { untilAborted } from '../../platform/until-aborted.ts';
import type { GatewayIdentity } from '../submit/options.ts';
import { holderOf, holderTag, isRequestId } from '../request-id.ts';

/** Marks a request from one gateway to another: the receiver must not forward it again. */
export const FORWARDED_HEADER = 'x-olap-warden-forwarded';

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
}

/** Another gateway of this deployment. */
export interface Peer extends GatewayAddress {
  /** Its `brokerId`; undefined until it is known. */
  readonly id: string | undefined;
}

/** Where a request for a stored result is handled. */
export type Route =
  | { readonly kind: 'local' }
  | { readonly kind: 'peer'; readonly peer: GatewayAddress }
  /** The id names another gateway, which is not running now: it restarts, or it was removed. */
  | { readonly kind: 'absent' }
  /** The request names a gateway that is not part of this deployment, and the id names none. */
  | { readonly kind: 'refused'; readonly message: string };

/** `FORWARD_HOST` and `FORWARD_PORT` as received. */
export interface ForwardAddress {
  readonly host?: string;
  readonly port?: string;
}

export interface PeerDirectoryOptions {
  readonly self: GatewayIdentity;
  /** All gateways of the deployment, from the settings or a headless Service; may include this one, or be empty for a single one. */
  readonly addresses: () => Promise<readonly GatewayAddress[]>;
  /** Requests the `brokerId` of a gateway; undefined if it does not report one. */
  readonly identify: (address: GatewayAddress) => Promise<string | undefined>;
  readonly clock: MonotonicClock;
  readonly refreshMs?: number;
  readonly onProblem: (message: string) => void;
}

const REFRESH_MS = 10_000;
/** The same while a gateway did not respond: it may have started. */
const RETRY_MS = 2_000;
/** Time limit of `addresses`: a resolver that does not respond can take much longer. */
const LOOKUP_MS = 3_000;
/** Limits the connections that a wrong DNS name can cause. */
export const MAX_PEERS = 64;
const LOCAL: Route = { kind: 'local' };
const ABSENT: Route = { kind: 'absent' };
const INCOMPLETE =
  '`FORWARD_HOST` and `FORWARD_PORT` must be sent together: the values of `brokerHost` and `brokerPort` in the response to the submission';

/**
 * Gateways that may hold results. Requests are forwarded only to these: an address in a request is only compared with
 * them and never used itself.
 */
export class PeerDirectory {
  readonly #options: PeerDirectoryOptions;
  #peers: readonly Peer[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: PeerDirectoryOptions) {
    this.#options = options;
  }

  /** The other gateways, as of the last refresh. */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /**
   * Finds the gateway of a result: the one encoded in the id, otherwise the one named in the request. The id takes precedence because a
   * restarted gateway has another address.
   */
  async route(requestId: string, forward: ForwardAddress): Promise<Route> {
    const address = addressIn(forward);
    if (address === 'incomplete') return refused(INCOMPLETE);
    if (!isRequestId(requestId)) return address === undefined ? LOCAL : this.#named(address);
    const tag = holderOf(requestId);
    if (tag === holderTag(this.#options.self.id)) return LOCAL;
    const peer = await this.#find((candidate) => candidate.id !== undefined && holderTag(candidate.id) === tag);
    if (peer !== undefined) return { kind: 'peer', peer };
    const named = address === undefined ? ABSENT : await this.#named(address);
    // An address that is unknown now may have belonged to the gateway before it restarted.
    return named.kind === 'refused' ? ABSENT : named;
  }

  /**
   * For gateways that forward nothing.
   * @returns why the address in a request is refused, by the rules of `route`: an id in the form of this deployment takes precedence
   */
  async refusal(requestId: string, forward: ForwardAddress): Promise<string | undefined> {
    const address = addressIn(forward);
    if (address === 'incomplete') return INCOMPLETE;
    if (address === undefined || isRequestId(requestId)) return undefined;
    const route = await this.#named(address);
    return route.kind === 'refused' ? route.message : undefined;
  }

  /** The other gateways, refreshed if they were looked up some time ago. */
  async current(): Promise<readonly Peer[]> {
    if (this.#isDue()) await this.refresh();
    return this.#peers;
  }

  /** Refreshes the addresses and identifies new gateways. Concurrent calls share one run; a failure keeps the known peers. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #named(wanted: GatewayAddress): Promise<Route> {
    if (same(this.#options.self, wanted)) return LOCAL;
    const peer = await this.#find((candidate) => same(candidate, wanted));
    if (peer !== undefined) return { kind: 'peer', peer };
    return refused(
      `\`FORWARD_HOST\` and \`FORWARD_PORT\` are \`${wanted.host.slice(0, 255)}:${wanted.port}\`, which is not a gateway of this deployment`,
    );
  }

  async #find(which: (peer: Peer) => boolean): Promise<Peer | undefined> {
    const known = this.#peers.find(which);
    if (!this.#isDue()) return known;
    const refreshed = this.refresh();
    if (known !== undefined) return known;
    await refreshed;
    return this.#peers.find(which);
  }

  #isDue(): boolean {
    const { clock, refreshMs = REFRESH_MS } = this.#options;
    const isPartial = this.#peers.some(({ id }) => id === undefined);
    return clock.monotonic() - this.#readAt >= (isPartial ? Math.min(RETRY_MS, refreshMs) : refreshMs);
  }

  async #read(): Promise<void> {
    const { self, addresses, identify, clock, onProblem } = this.#options;
    try {
      const addressed = await untilAborted(addresses(), AbortSignal.timeout(LOOKUP_MS));
      const found = addressed.filter((address) => !same(self, address));
      if (found.length > MAX_PEERS) onProblem(`found ${found.length} gateways; only the first ${MAX_PEERS} are used`);
      const peers = await Promise.all(
        found.slice(0, MAX_PEERS).map(async ({ host, port }) => ({ host, port, id: await identify({ host, port }) })),
      );
      this.#peers = peers.filter((peer) => peer.id !== self.id);
    } catch (error) {
      onProblem(`failed to look up the other gateways: ${errorMessage(error)}`);
    } finally {
      this.#readAt = clock.monotonic();
    }
  }
}

function same(a: GatewayAddress, b: GatewayAddress): boolean {
  return a.port === b.port && a.host.toLowerCase() === b.host.toLowerCase();
}

function addressIn({ host, port }: ForwardAddress): GatewayAddress | 'incomplete' | undefined {
  if (host === undefined && port === undefined) return undefined;
  if (host === undefined || port === undefined || !/^\d{1,5}$/.test(port)) return 'incomplete';
  return { host: host.toLowerCase(), port: Number(port) };
}

function refused(message: string): Route {
  return { kind: 'refused', message };
}
