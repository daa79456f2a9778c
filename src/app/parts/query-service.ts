import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Clock } from '../../platform/clock.ts';
import type { QueueMetrics } from '../../platform/fair-queue.ts';
import type { UpstreamObserver } from '../../platform/upstreams.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { observeSpace, prometheusQueryMetrics } from '../../results/metrics.ts';
import type { GatewayIdentity } from '../../results/submit/options.ts';
import { SubmissionKeys } from '../../results/submit/submission-keys.ts';
import { PaginatedQueries } from '../../results/submit/paginated-queries.ts';
import { QueryRuns } from '../../results/runs/runs.ts';
import { type GatewayAddress, type Peer, PeerDirectory } from '../../results/peers/peers.ts';
import { Damages } from '../../results/rows/damages.ts';
import { Retention } from '../../results/retention/retention.ts';
import { startRetention } from '../../results/retention/retention-loop.ts';
import type { PaginationSettings } from '../../results/settings.ts';
import type { PropertyValues } from '../../platform/setting-schema.ts';
import { createResultStore } from '../../results/stores/result-stores.ts';
import { measuredStore } from '../../results/stores/measured.ts';
import type { RegisterRoutes } from '../../api/app.ts';
import type { DataPlaneDependencies } from '../../api/queries/data-plane/dependencies.ts';
import { paginatedQueries } from '../../api/queries/index.ts';
import { PeerClient, type PeerClientOptions } from '../../api/queries/peer-client.ts';
import type { PeerRouting } from '../../api/queries/peer-routing.ts';

export interface QueryServiceOptions {
  readonly engine: Engine & KnownTables;
  readonly identity: GatewayIdentity;
  /** Valid values of `RESULT_STORE_PROPERTIES`. */
  readonly store: PropertyValues;
  readonly settings: () => PaginationSettings;
  /** The gateways of the deployment; absent for a single gateway. */
  readonly gateways?: () => Promise<readonly GatewayAddress[]>;
  readonly peerClient?: PeerClientOptions;
  /** True where no operator deletes expired results. */
  readonly cleansItself?: boolean;
  readonly registry: Registry;
  /** Default: the limits of queries have no metrics. */
  readonly limits?: QueueMetrics;
  readonly log: Logger;
  readonly clock: Clock;
  /** Cryptographically secure bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Counts the requests to other gateways and to buckets. */
  readonly observer?: UpstreamObserver | undefined;
}

export interface QueryService {
  readonly register: RegisterRoutes;
  /** For the data plane. */
  readonly data: Omit<DataPlaneDependencies, 'memory'>;
  /** The other gateways, as of the last refresh. */
  readonly peers: () => readonly Peer[];
  close(): Promise<void>;
}

/** Time-out of the first listing of an object store. A slower store could not serve queries either. */
const STORE_START_MS = 30_000;
const INSTANCE_BYTES = 12;
/** Time-out of looking up a result in a local store. */
const LOOKUP_MS = 5_000;

/**
 * Creates the paginated queries of one gateway: result store, retention, peer routing and routes.
 * @throws {TypeError} for invalid store settings; {QueryError} where the store cannot be used
 */
export async function createQueryService(options: QueryServiceOptions): Promise<QueryService> {
  const { engine, identity, settings, gateways, log, clock, observer } = options;
  const metrics = prometheusQueryMetrics(options.registry);
  const limits = options.limits && { limits: options.limits };
  const onProblem = (message: string): void => log.warn({ part: 'result store' }, message);
  const plain = await createResultStore(options.store, { gatewayId: identity.id, clock, onProblem, observer });
  await plain.start(AbortSignal.timeout(STORE_START_MS));
  observeSpace(options.registry, () => plain.space?.());
  const store = measuredStore(plain, metrics, clock);
  const damages = new Damages();
  const queries = new PaginatedQueries({
    damages,
    store,
    settings,
    identity,
    clock,
    random: options.random,
    metrics,
    ...limits,
  });
  const process = {
    store,
    clock,
    newId: () => queries.submissions.newId(),
    instance: Buffer.from(options.random(INSTANCE_BYTES)).toString('hex'),
    onProblem,
  };
  const runs = new QueryRuns({ ...process, settings, gatewayId: identity.id, damages, metrics, ...limits });
  const keys = new SubmissionKeys({ ...process, isKnown: (requestId, signal) => runs.isKnown(requestId, signal) });
  const retention = new Retention({
    store,
    gatewayId: identity.id,
    settings,
    clock,
    metrics,
    deletesExpired: options.cleansItself === true || plain.capacityBytes !== undefined,
    isBeingRead: (requestId) => queries.isBeingRead(requestId),
    onNotice: (message) => log.info({ part: 'result store' }, message),
  });
  const stopRetention = startRetention(retention, clock, (error) =>
    log.error({ err: error }, 'failed to check the quota of stored results; retrying'),
  );
  const client = new PeerClient({ ...options.peerClient, clock, observer });
  const directory = new PeerDirectory({
    self: identity,
    addresses: gateways ?? (async () => []),
    identify: (address) => client.identify(address),
    clock,
    onProblem: (message) => log.warn({ part: 'gateways' }, message),
  });
  const forwarding = {
    client,
    isStoredHere: async (requestId: string) => {
      const signal = AbortSignal.timeout(LOOKUP_MS);
      const reader = await store.open(requestId, signal);
      await reader?.close();
      return reader !== undefined || runs.isKnown(requestId, signal);
    },
  };
  // With a shared store every gateway can serve every page, so nothing is forwarded.
  const forwards = gateways !== undefined && store.local;
  const peers: PeerRouting = { directory, forwarding: forwards ? forwarding : undefined };
  return {
    register: (app) =>
      paginatedQueries(app, { queries, peers, runs: { runs, store, settings, clock, damages, ...limits } }),
    data: { engine, queries, runs, keys, settings, peers },
    peers: () => (forwards ? directory.peers : []),
    async close() {
      await runs.close();
      await keys.close();
      await stopRetention();
      await client.close();
      await store.close();
    },
  };
}
