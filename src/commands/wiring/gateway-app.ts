import { randomBytes } from 'node:crypto';
import { access } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { authenticatorChain } from '../../access/authenticate.ts';
import type { Authenticator } from '../../access/authenticator.ts';
import { ServiceTokenAuthenticator } from '../../access/authenticators/service-token.ts';
import { Directory } from '../../access/directory.ts';
import { RbacManager } from '../../access/manager.ts';
import { tablesOfSql } from '../../access/sql-tables.ts';
import type { Settings } from '../../config/schema.ts';
import type { Engine } from '../../engine/types.ts';
import { buildApp, type RegisterRoutes } from '../../http/app.ts';
import { clusterHealthRoutes } from '../../http/cluster-health/index.ts';
import { gatewayInfo, type GatewayInfoOptions } from '../../http/gateway-info/index.ts';
import { countDecisions, observeRequests, observeStore } from '../../http/metrics.ts';
import { paginatedQueries } from '../../http/query/index.ts';
import { rbacManager } from '../../http/rbac-manager/index.ts';
import { ui } from '../../http/ui/index.ts';
import { PaginatedQueries } from '../../query/paginated-queries.ts';
import { createResultStore } from '../../query/stores/create-store.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { VERSION } from '../version.ts';
import type { Boot } from './boot.ts';
import { readCertificate } from './certificate.ts';
import { oidcAuthenticator, oidcSignIn } from './oidc.ts';
import { mapped, paginationSettings, resultStoreSettings } from './pagination.ts';

export interface GatewayParts {
  readonly store: ResourceStore;
  readonly storeKind: 'kubernetes' | 'folder';
  readonly engine: Engine;
  /** Those that recognise their tokens by form or content; asked before OIDC. */
  readonly before?: readonly Authenticator[];
  /** Those that must ask an authority about any token; asked last. */
  readonly after?: readonly Authenticator[];
}

const now = (): Date => new Date();
const random = Math.random;
/** An object store that does not list its leftovers in this time would not serve queries either. */
const RESULT_STORE_START_MS = 30_000;

/** The gateway's whole interface; does not listen. What it opens is closed by `boot.closers`. */
export async function composeGateway(boot: Boot, parts: GatewayParts): Promise<FastifyInstance> {
  const { settings, log, registry, closers } = boot;
  const { store, engine } = parts;
  const directory = new Directory(store, { environment: settings.environment, cluster: settings.cluster });
  closers.defer('directory', () => directory.close());
  observeStore(registry, () => store.health());
  const oidc = oidcAuthenticator(settings, log);
  const plugins: RegisterRoutes[] = [
    (app) => rbacManager(app, { manager: new RbacManager({ store, directory, now, random }) }),
    (app) => clusterHealthRoutes(app, { store, engine, now, random }),
    await queryRoutes(boot, engine),
    (app) => gatewayInfo(app, gatewayInfoOptions(boot, parts)),
    ...(await uiRoutes(boot)),
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
    observe: observeRequests(registry),
    limits: { maxFailuresPerMinute: settings['max-failed-attempts'] },
    trustProxy: settings['trust-proxy'].length > 0 ? settings['trust-proxy'] : false,
    https: await readCertificate(settings),
  });
}

async function queryRoutes(boot: Boot, engine: Engine): Promise<RegisterRoutes> {
  const { settings, live, log, closers } = boot;
  const properties = live.get();
  const identity = identityOf(settings);
  const store = await createResultStore(resultStoreSettings(properties), {
    gatewayId: identity.id,
    now: Date.now,
    onProblem: (message) => log.warn({ part: 'result store' }, message),
  });
  await store.start(AbortSignal.timeout(RESULT_STORE_START_MS));
  closers.defer('result store', () => store.close());
  const pagination = mapped(() => live.get(), paginationSettings);
  const queries = new PaginatedQueries({
    store,
    settings: pagination,
    identity,
    now: Date.now,
    random: (bytes) => randomBytes(bytes),
  });
  return (app) => paginatedQueries(app, { engine, queries, settings: pagination, tablesOfSql });
}

/** This gateway as the broker of the specification. */
function identityOf(settings: Settings): { id: string; host: string; port: number } {
  const host = settings['advertise-host'] ?? hostname();
  return { id: settings['broker-id'] ?? hostname(), host, port: settings['advertise-port'] ?? settings.port };
}

function gatewayInfoOptions(boot: Boot, { store, storeKind, engine }: GatewayParts): GatewayInfoOptions {
  const { id, host, port } = identityOf(boot.settings);
  return {
    version: VERSION,
    brokerId: id,
    startedAt: now(),
    store,
    storeKind,
    engine,
    instances: () => [{ brokerId: id, host, port, self: true }],
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
