import type { QueueMetrics } from '../../platform/fair-queue.ts';
import type { WallClock } from '../../platform/clock.ts';
import type { QueryMetrics } from '../metrics.ts';
import type { Damages } from '../rows/damages.ts';
import type { HolderAddress } from '../rows/page.ts';
import type { ResultStore } from '../result-store.ts';
import type { PaginationSettings } from '../settings.ts';

/** How this gateway identifies itself in responses (`broker…` fields of the specification). */
export interface GatewayIdentity {
  /** `brokerId`; unique among the gateways and stable across restarts. */
  readonly id: string;
  /** Address of this gateway for other gateways and clients. */
  readonly host: string;
  readonly port: number;
}

export interface PaginationOptions {
  readonly store: ResultStore;
  readonly settings: () => PaginationSettings;
  readonly identity: GatewayIdentity;
  readonly clock: WallClock;
  /** Cryptographically secure bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Damages that are found by reading. Default: those of no other part. */
  readonly damages?: Damages;
  /** Default: no metrics. */
  readonly metrics?: QueryMetrics;
  /** Default: the limits of submissions and downloads have no metrics. */
  readonly limits?: QueueMetrics;
}

/**
 * `brokerHost` and `brokerPort` of responses: undefined if any gateway can serve a page.
 * @returns reads them; the same object while unchanged
 */
export function holderAddress(store: ResultStore, identity: GatewayIdentity): () => HolderAddress | undefined {
  let holder: HolderAddress | undefined;
  return () => {
    if (!store.local) return undefined;
    // The port is known only after the gateway listens.
    const { host, port } = identity;
    if (holder?.port !== port || holder.host !== host) holder = { host, port };
    return holder;
  };
}
