import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { authenticatorChain } from '../../access/authenticators/authenticate.ts';
import type { Authenticator } from '../../access/authenticators/authenticator.ts';
import { ServiceTokenAuthenticator } from '../../access/authenticators/service-token.ts';
import { RbacManager } from '../../access/manager/manager.ts';
import { SQL_LIMITS, type SqlLimits } from '../../access/sql/limits.ts';
import { optionProblems } from '../../access/sql/query-options.ts';
import { SettingsError } from '../../config/keys.ts';
import type { Settings } from '../../config/schema.ts';
import { TableSchemas } from '../../pinot/table-schemas.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { type AppLimits, buildApp, type RegisterRoutes } from '../../api/app.ts';
import { LimitMetrics } from '../../api/server/admission/limit-metrics.ts';
import { memoryQueue } from '../../api/server/admission/memory.ts';
import { RequestWork } from '../../api/server/admission/work.ts';
import { clusterHealthRoutes } from '../../api/health/index.ts';
import { runbooks } from '../../api/health/runbooks.ts';
import { engineProxy } from '../../api/proxy/index.ts';
import { gatewayInfo, type GatewayInfoOptions } from '../../api/gateway-info/index.ts';
import { Limits, parseLimits } from '../../api/server/admission/callers.ts';
import { countDecisions, countRejects, observeRequests, observeStore } from '../../api/server/metrics.ts';
import type { QueryService } from './query-service.ts';
import { rbacManager } from '../../api/rbac/index.ts';
import { ui } from '../../api/ui/index.ts';
import type { Directory } from '../../access/directory.ts';
import type { QueueMetrics } from '../../platform/fair-queue.ts';
import { systemClock } from '../../platform/clock.ts';
import { reportOf } from '../../resources/cluster-health-report.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { SharedDocument } from '../../store/shared-document.ts';
import { PROGRAM_FOLDER } from './program-folder.ts';
import { VERSION } from './version.ts';
import { openAuditLog } from './audit.ts';
import { openDirectory } from './access-usage.ts';
import type { Boot } from './boot.ts';
import { readCertificate } from './certificate.ts';
import { oidcAuthenticator, oidcSignIn } from './oidc.ts';
import { protocolOf } from '../../results/stores/result-stores.ts';
import { identityOf, openQueryService } from './queries.ts';
import { openSessions } from './sessions.ts';
import { openTracing } from './tracing.ts';
import { viewProblem } from './view-age.ts';

export interface RestApiDependencies {
  readonly store: ResourceStore;
  readonly storeKind: 'kubernetes' | 'folder';
  readonly engine: Engine & KnownTables;
  /** The file with the session keys where the setting names none; undefined for a key of the process. */
  readonly sessionKeyFile?: string;
  /** Where the record of the use of access is stored. */
  readonly usageDocument: SharedDocument;
  /** Where the sessions of the dashboard are listed that ended by a sign-out. */
  readonly endedSessionsDocument: SharedDocument;
  /** Authenticators that recognise their tokens by form or content; called before OIDC. */
  readonly before?: readonly Authenticator[];
  /** Authenticators that send any token to an authority; called last. */
  readonly after?: readonly Authenticator[];
  /** True when no operator deletes expired results. */
  readonly cleansResults?: boolean;
}

/** Builds the HTTP server of a gateway with all its interfaces; serve() makes it listen. `boot.closers` closes what it opens. */
export async function composeRestApi(boot: Boot, parts: RestApiDependencies): Promise<FastifyInstance> {
  const { settings, log, registry } = boot;
  const { store, engine } = parts;
  const deployment = { environment: settings.environment, cluster: settings.cluster };
  const report = reportOf(settings.cluster, settings['further-cluster']);
  const { directory, usage } = openDirectory(boot, {
    store,
    deployment,
    usageDocument: parts.usageDocument,
  });
  observeStore(registry, () => store.health());
  const oidc = oidcAuthenticator(boot);
  const limitMetrics = new LimitMetrics(registry);
  const queries = await openQueryService(boot, engine, parts.cleansResults ?? false, limitMetrics);
  const json = { maxDepth: settings['max-json-depth'], maxValues: settings['max-json-values'] };
  const memory = memoryQueue(
    { totalBytes: settings['max-answer-bytes'], bytesPerCaller: settings['max-answer-bytes-per-caller'] },
    limitMetrics,
  );
  const schemas = new TableSchemas(engine.controller, () => systemClock.monotonic());
  const callerLimits = limitsOf(settings, directory, limitMetrics);
  const work = new RequestWork({ observer: limitMetrics });
  limitMetrics.watch(memory, ...callerLimits.queues, ...work.queues);
  const plugins: RegisterRoutes[] = [
    (app) =>
      rbacManager(app, {
        manager: new RbacManager({
          store,
          directory,
          clock: systemClock,
          tables: engine,
          schemas,
          otherClusters: settings['other-clusters'],
          usage,
        }),
        queries: { engine, schemas, sqlLimits: sqlLimitsOf(settings) },
      }),
    (app) => clusterHealthRoutes(app, { store, engine, clock: systemClock, report }),
    (app) => runbooks(app, { folder: join(PROGRAM_FOLDER, 'docs/checks') }),
    queries.register,
    (app) => gatewayInfo(app, gatewayInfoOptions(boot, parts, queries)),
    ...(await uiRoutes(boot, directory)),
    // Handles all other paths.
    (app) => engineProxy(app, { engine, json, memory }),
  ];
  return buildApp({
    logger: log,
    version: VERSION,
    authenticator: authenticatorChain([
      new ServiceTokenAuthenticator(directory, systemClock),
      ...(parts.before ?? []),
      ...(oidc ? [oidc] : []),
      ...(parts.after ?? []),
    ]),
    sessions: openSessions(boot, parts),
    viewProblem: viewProblem(() => store.health(), parts.storeKind === 'kubernetes' ? settings['max-view-age'] : 0),
    authorizer: countDecisions(registry, directory),
    audit: openAuditLog(boot, directory, store),
    plugins,
    dataPlane: { ...queries.data, memory, schemas, sqlLimits: sqlLimitsOf(settings) },
    observe: observeRequests(registry),
    tracing: await openTracing(boot),
    limits: { maxFailuresPerMinute: settings['max-failed-attempts'], json, ...connectionLimits(settings) },
    limitMetrics,
    onRejected: countRejects(registry),
    callerLimits,
    work,
    trustProxy: settings['trust-proxy'].length > 0 ? settings['trust-proxy'] : false,
    https: await readCertificate(settings),
  });
}

function connectionLimits(settings: Settings): Pick<AppLimits, 'connections' | 'minRates'> {
  const perAddress = settings['max-connections-per-address'];
  const perCaller = settings['max-connections-per-caller'];
  return {
    connections: {
      total: settings['max-connections'],
      ...(perAddress !== undefined && { perAddress }),
      ...(perCaller !== undefined && { perCaller }),
    },
    minRates: { body: settings['min-body-rate'], reader: settings['min-reader-rate'] },
  };
}

function limitsOf(settings: Settings, directory: Directory, observer: QueueMetrics): Limits {
  return new Limits({
    defaults: {
      requestsPerSecond: settings['max-requests-per-second'],
      concurrentQueries: settings['max-concurrent-queries'],
      concurrentCalls: settings['max-concurrent-calls'],
      queryTimeoutMs: settings['query-timeout'],
      rowsPerQuery: settings['max-rows-per-query'],
    },
    byRole: parseLimits(settings['role-limits'], 'role'),
    byCaller: parseLimits(settings['caller-limits'], 'caller'),
    rolesOf: (principal) => directory.rolesOf(principal),
    clock: systemClock,
    observer,
  });
}

/** @throws {SettingsError} for a query option that cannot be allowed */
function sqlLimitsOf(settings: Settings): SqlLimits {
  const allowed = settings['allowed-query-options'];
  const problems = optionProblems(allowed);
  if (problems.length > 0)
    throw new SettingsError(problems.map((problem) => `invalid \`allowed-query-options\`: ${problem}`));
  return {
    ...SQL_LIMITS,
    bytes: settings['max-sql-bytes'],
    tokens: settings['max-sql-tokens'],
    nesting: settings['max-sql-nesting'],
    tables: settings['max-sql-tables'],
    commonTables: settings['max-sql-common-tables'],
    allowedOptions: new Set(allowed.map((name) => name.toLowerCase())),
  };
}

function gatewayInfoOptions(
  boot: Boot,
  { store, storeKind, engine }: RestApiDependencies,
  queries: QueryService,
): GatewayInfoOptions {
  const self = identityOf(boot);
  return {
    version: VERSION,
    brokerId: self.id,
    startedAt: new Date(systemClock.now()),
    store,
    storeKind,
    engine,
    instances: () => [
      { brokerId: self.id, host: self.host, port: self.port, self: true },
      ...queries.peers().map((peer) => ({ brokerId: peer.id ?? '', host: peer.host, port: peer.port, self: false })),
    ],
    paginationProtocol: () => protocolOf(boot.live.get()),
  };
}

/** Routes of the dashboard, if it was built. */
async function uiRoutes({ settings, log }: Boot, directory: Directory): Promise<RegisterRoutes[]> {
  const folder = settings['ui-folder'] ?? join(PROGRAM_FOLDER, 'web/dist');
  try {
    await access(join(folder, 'index.html'));
  } catch {
    log.warn({ folder }, 'the dashboard is not built and is not served');
    return [];
  }
  const oidc = await oidcSignIn(settings);
  const label = {
    environment: settings.environment,
    cluster: settings.cluster,
    colour: settings['ui-colour'],
    contact: settings['ui-contact'],
  };
  return [(app) => ui(app, { folder, oidc, label, directory })];
}
