import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { authenticatorChain } from '../../access/authenticate.ts';
import type { Authenticator } from '../../access/authenticator.ts';
import { ServiceTokenAuthenticator } from '../../access/authenticators/service-token.ts';
import { Directory } from '../../access/directory.ts';
import { RbacManager } from '../../access/manager.ts';
import type { Engine, KnownTables } from '../../engine/types.ts';
import { buildApp, type RegisterRoutes } from '../../http/app.ts';
import { clusterHealthRoutes } from '../../http/cluster-health/index.ts';
import { runbooks } from '../../http/cluster-health/runbooks.ts';
import { engineProxy } from '../../http/engine-proxy/index.ts';
import { loadFileSender, type FileSender } from '../../http/front/file-sender.ts';
import { gatewayInfo, type GatewayInfoOptions } from '../../http/gateway-info/index.ts';
import { Limits, parseLimits } from '../../http/limits.ts';
import { countDecisions, observeRequests, observeStore } from '../../http/metrics.ts';
import type { QueryService } from '../../http/query/service.ts';
import { rbacManager } from '../../http/rbac-manager/index.ts';
import { ui } from '../../http/ui/index.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { VERSION } from '../version.ts';
import type { Boot } from './boot.ts';
import { readCertificate } from './certificate.ts';
import { oidcAuthenticator, oidcSignIn } from './oidc.ts';
import { identityOf, openQueryService } from './queries.ts';

export interface GatewayParts {
  readonly store: ResourceStore;
  readonly storeKind: 'kubernetes' | 'folder';
  readonly engine: Engine & KnownTables;
  /** Those that recognise their tokens by form or content; asked before OIDC. */
  readonly before?: readonly Authenticator[];
  /** Those that must ask an authority about any token; asked last. */
  readonly after?: readonly Authenticator[];
  /** True where no operator deletes expired results. */
  readonly cleansResults?: boolean;
}

const now = (): Date => new Date();
const random = Math.random;

/** The gateway's whole interface; does not listen. What it opens is closed by `boot.closers`. */
export async function composeGateway(boot: Boot, parts: GatewayParts): Promise<FastifyInstance> {
  const { settings, log, registry, closers } = boot;
  const { store, storeKind, engine } = parts;
  const deployment = { environment: settings.environment, cluster: settings.cluster };
  const directory = new Directory(store, deployment, { ownersByName: storeKind === 'folder' });
  closers.defer('directory', () => directory.close());
  observeStore(registry, () => store.health());
  const oidc = oidcAuthenticator(settings, log);
  const queries = await openQueryService(boot, engine, parts.cleansResults ?? false);
  const plugins: RegisterRoutes[] = [
    (app) => rbacManager(app, { manager: new RbacManager({ store, directory, now, random }) }),
    (app) => clusterHealthRoutes(app, { store, engine, now, random }),
    (app) => runbooks(app, { folder: join(import.meta.dirname, '../../../docs/checks') }),
    queries.register,
    (app) => gatewayInfo(app, gatewayInfoOptions(boot, parts, queries)),
    ...(await uiRoutes(boot)),
    // Takes every path that is left.
    (app) => engineProxy(app, { engine }),
  ];
  return buildApp({
    logger: log,
    version: VERSION,
    authenticator: authenticatorChain([
      new ServiceTokenAuthenticator(directory, now),
      ...(parts.before ?? []),
      ...(oidc ? [oidc] : []),
      ...(parts.after ?? []),
    ]),
    authorizer: countDecisions(registry, directory),
    plugins,
    queryLane: { engine, uncounted: directory },
    pageLane: { ...queries.pages, uncounted: directory },
    fileSender: await fileSenderOf(boot),
    observe: observeRequests(registry),
    limits: { maxFailuresPerMinute: settings['max-failed-attempts'] },
    callerLimits: new Limits({
      defaults: {
        requestsPerSecond: settings['max-requests-per-second'],
        concurrentQueries: settings['max-concurrent-queries'],
        queryTimeoutMs: settings['query-timeout'],
        rowsPerQuery: settings['max-rows-per-query'],
      },
      byRole: parseLimits(settings['role-limits'], 'role'),
      byCaller: parseLimits(settings['caller-limits'], 'caller'),
      rolesOf: (principal) => directory.rolesOf(principal),
      now: () => performance.now(),
    }),
    trustProxy: settings['trust-proxy'].length > 0 ? settings['trust-proxy'] : false,
    https: await readCertificate(settings),
  });
}

/** Only what lies in files here can be sent from there, and only where it need not be encrypted. */
async function fileSenderOf({ settings, live, log }: Boot): Promise<FileSender | undefined> {
  const properties = live.get();
  if (settings['tls-cert-file'] !== undefined) return undefined;
  if (properties['olap.broker.pagination.protocol'] !== 'file' || !properties['olap.broker.pagination.file.sendfile'])
    return undefined;
  try {
    return await loadFileSender();
  } catch (error) {
    log.warn({ err: error }, 'files cannot be sent by the system: large pages are copied through memory');
    return undefined;
  }
}

function gatewayInfoOptions(
  boot: Boot,
  { store, storeKind, engine }: GatewayParts,
  queries: QueryService,
): GatewayInfoOptions {
  const self = identityOf(boot);
  return {
    version: VERSION,
    brokerId: self.id,
    startedAt: now(),
    store,
    storeKind,
    engine,
    instances: () => [
      { brokerId: self.id, host: self.host, port: self.port, self: true },
      ...queries.peers().map((peer) => ({ brokerId: peer.id ?? '', host: peer.host, port: peer.port, self: false })),
    ],
    paginationProtocol: () => boot.live.get()['olap.broker.pagination.protocol'],
  };
}

/** The dashboard, where it was built. */
async function uiRoutes({ settings, log }: Boot): Promise<RegisterRoutes[]> {
  const folder = settings['ui-folder'] ?? join(import.meta.dirname, '../../../web/dist');
  try {
    await access(join(folder, 'index.html'));
  } catch {
    log.warn({ folder }, 'there is no built dashboard: it is not served');
    return [];
  }
  const oidc = await oidcSignIn(settings);
  return [(app) => ui(app, { folder, oidc })];
}
