import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../config/schema.ts';
import { credentialFromFile } from '../../pinot/credential.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import type { PeerClientOptions } from '../../api/queries/peer-client.ts';
import { createQueryService, type QueryService } from './query-service.ts';
import type { LeaderTask } from '../../operator/operator.ts';
import { resultCleanerMetrics, resultCleanerTask } from '../../operator/result-cleaner.ts';
import type { QueueMetrics } from '../../platform/fair-queue.ts';
import { systemClock } from '../../platform/clock.ts';
import { gatewaysOfList, gatewaysOfService } from '../../results/peers/discovery.ts';
import { inFolder } from '../../results/stores/result-stores.ts';
import { createGatewayClient } from '../../results/peers/gateway-client.ts';
import type { GatewayIdentity } from '../../results/submit/options.ts';
import type { GatewayAddress } from '../../results/peers/peers.ts';
import type { Boot } from './boot.ts';
import { mapped, paginationSettings } from './pagination.ts';

/** This gateway as a broker of the specification. Its port is known once it listens: read it at each use. */
export function identityOf({ settings, listener }: Pick<Boot, 'settings' | 'listener'>): GatewayIdentity {
  return {
    id: settings['broker-id'] ?? hostname(),
    host: settings['advertise-host'] ?? hostname(),
    get port() {
      return settings['advertise-port'] ?? listener.port;
    },
  };
}

/**
 * Opens the paginated queries of this process.
 * @param cleansItself true when no operator calls this gateway to delete expired results
 */
export async function openQueryService(
  boot: Boot,
  engine: Engine & KnownTables,
  cleansItself: boolean,
  limits: QueueMetrics,
): Promise<QueryService> {
  const { settings, live, log, registry, closers } = boot;
  const gateways = gatewaysOf(settings);
  const service = await createQueryService({
    engine,
    identity: identityOf(boot),
    // A store that several clusters share has a folder for each further one.
    store: settings['further-cluster'] ? inFolder(live.get(), settings.cluster) : live.get(),
    settings: mapped(() => live.get(), paginationSettings),
    cleansItself,
    registry,
    limits,
    log,
    clock: systemClock,
    random: (bytes) => randomBytes(bytes),
    peerClient: { ...(await transportOf(settings)), share: settings['max-pool-share'] / 100 },
    observer: boot.upstreams,
    ...(gateways && { gateways }),
  });
  closers.defer('paginated queries', () => service.close());
  return service;
}

/**
 * The periodic cleaners of expired results, one for the gateways of each cluster; none without configured gateways.
 * @param furtherClusters the other clusters of the environment
 */
export async function resultCleaner(
  boot: Boot,
  furtherClusters: readonly { readonly settings: Settings }[] = [],
): Promise<readonly LeaderTask[]> {
  const { settings, live, log, registry, closers } = boot;
  const clusters = [{ settings }, ...furtherClusters].flatMap((cluster) => gatewaysOf(cluster.settings) ?? []);
  if (clusters.length === 0) return [];
  const url = live.get()['controller.admin.auth.url'];
  if (url === undefined) {
    log.info('`controller.admin.auth.url` is not set: each gateway deletes its own expired results');
    return [];
  }
  const credential = credentialOf(url, boot);
  const client = createGatewayClient({ ...(await transportOf(settings)), credential });
  closers.defer('result cleaner', () => client.close());
  const metrics = resultCleanerMetrics(registry);
  const cleanerSettings = () => {
    const properties = live.get();
    return {
      frequencyMs: properties['controller.cluster.pagination.cleaner.frequencyPeriod'],
      initialDelayMs: properties['controller.cluster.pagination.cleaner.initialDelay'],
    };
  };
  return clusters.map((gateways) =>
    resultCleanerTask({ gateways, client, settings: cleanerSettings, clock: systemClock, log, metrics }),
  );
}

function credentialOf(url: string, { log }: Boot): () => Promise<string> {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const credential = credentialFromFile(path, systemClock, (message) => log.warn({ part: 'result cleaner' }, message));
  return () => credential.current();
}

function gatewaysOf(settings: Settings): (() => Promise<readonly GatewayAddress[]>) | undefined {
  const service = settings['peers-service'];
  if (service !== undefined) return gatewaysOfService(service);
  return settings.peers.length > 0 ? gatewaysOfList(settings.peers) : undefined;
}

/**
 * With HTTPS, gateways trust each other's certificate: it is the same, or has the same CA in its chain. Where clients need a certificate, it is the
 * gateway's own.
 */
async function transportOf(settings: Settings): Promise<PeerClientOptions> {
  const certFile = settings['tls-cert-file'];
  const keyFile = settings['tls-key-file'];
  if (certFile === undefined || keyFile === undefined) return { scheme: 'http' };
  const cert = await readFile(certFile, 'utf8');
  if (settings['tls-client-ca-file'] === undefined) return { scheme: 'https', ca: cert };
  return { scheme: 'https', ca: cert, client: { cert, key: await readFile(keyFile, 'utf8') } };
}
