import type { GatewayIdentity } from './paginated-queries.ts';
import { holderOf, holderTag, isRequestId } from './request-id.ts';

/** Marks a request that one gateway has sent to another: it is served where it arrives, or not at all. */
export const FORWARDED_HEADER = 'x-olap-warden-forwarded';

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
}

/** Another gateway of this deployment. */
export interface Peer extends GatewayAddress {
  /** Its `brokerId`; undefined until it has said it. */
  readonly id: string | undefined;
}

/** Where a request about a stored result is served. */
export type Route =
  | { readonly kind: 'local' }
  | { readonly kind: 'peer'; readonly peer: GatewayAddress }
  /** The caller named a gateway that is none of this deployment. */
  | { readonly kind: 'refused'; readonly message: string };

export interface PeerDirectoryOptions {
  readonly self: GatewayIdentity;
  /** The gateways of the deployment, from the settings or a headless Service; may hold this one. */
  readonly addresses: () => Promise<readonly GatewayAddress[]>;
  /** Asks a gateway for its `brokerId`; undefined where it does not say. */
  readonly identify: (address: GatewayAddress) => Promise<string | undefined>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly refreshMs?: number;
  readonly onProblem: (message: string) => void;
}

const REFRESH_MS = 10_000;
/** A wrong DNS name must not make a gateway call half the network. */
const MAX_PEERS = 64;
const LOCAL: Route = { kind: 'local' };

/**
 * The gateways that results may lie on. Requests are only ever sent to one of these: an address in a request is compared with them,
 * never followed.
 */
export class PeerDirectory {
  readonly #options: PeerDirectoryOptions;
  #peers: readonly Peer[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: PeerDirectoryOptions) {
    this.#options = options;
  }

  /** The other gateways, as last seen. */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /**
   * Where the result of `requestId` is: the gateway that the caller named, or the one that the id tells of.
   * @param forward `FORWARD_HOST` and `FORWARD_PORT` as they came
   */
  async route(requestId: string, forward: { readonly host?: string; readonly port?: string }): Promise<Route> {
    const { host, port } = forward;
    if (host !== undefined || port !== undefined) return this.#named(host, port);
    const tag = isRequestId(requestId) ? holderOf(requestId) : undefined;
    if (tag === undefined || tag === holderTag(this.#options.self.id)) return LOCAL;
    const peer = await this.#find((candidate) => candidate.id !== undefined && holderTag(candidate.id) === tag);
    return peer === undefined ? LOCAL : { kind: 'peer', peer };
  }

  /** Reads the addresses again and asks new ones who they are. Runs once at a time; a failure keeps what was known. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #named(host: string | undefined, port: string | undefined): Promise<Route> {
    const { self } = this.#options;
    if (host === undefined || port === undefined || !/^\d{1,5}$/.test(port)) {
      return refused(
        '`FORWARD_HOST` and `FORWARD_PORT` go together: send `brokerHost` and `brokerPort` of the submission',
      );
    }
    const wanted = { host: host.toLowerCase(), port: Number(port) };
    if (same(self, wanted)) return LOCAL;
    const peer = await this.#find((candidate) => same(candidate, wanted));
    return peer === undefined
      ? refused(
          `\`FORWARD_HOST\` and \`FORWARD_PORT\` name \`${host.slice(0, 255)}:${port}\`, which is no gateway of this deployment`,
        )
      : { kind: 'peer', peer };
  }

  async #find(which: (peer: Peer) => boolean): Promise<Peer | undefined> {
    const known = this.#peers.find(which);
    const age = this.#options.now() - this.#readAt;
    if (age < (this.#options.refreshMs ?? REFRESH_MS)) return known;
    const refreshed = this.refresh();
    if (known !== undefined) return known;
    await refreshed;
    return this.#peers.find(which);
  }

  async #read(): Promise<void> {
    const { self, addresses, identify, now, onProblem } = this.#options;
    try {
      const found = (await addresses()).filter((address) => !same(self, address));
      if (found.length > MAX_PEERS)
        onProblem(`${found.length} gateways were found; only the first ${MAX_PEERS} are used`);
      const peers = await Promise.all(
        found.slice(0, MAX_PEERS).map(async ({ host, port }) => ({ host, port, id: await identify({ host, port }) })),
      );
      this.#peers = peers.filter((peer) => peer.id !== self.id);
    } catch (error) {
      onProblem(`the other gateways could not be looked up: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#readAt = now();
    }
  }
}

function same(a: GatewayAddress, b: GatewayAddress): boolean {
  return a.port === b.port && a.host.toLowerCase() === b.host.toLowerCase();
}

function refused(message: string): Route {
  return { kind: 'refused', message };
}
