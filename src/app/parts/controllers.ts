import type { Logger } from 'pino';
import { tableNameOf } from '../../pinot/table-name.ts';
import { TableSchemas } from '../../pinot/table-schemas.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { SettingsError } from '../../config/keys.ts';
import type { Properties } from '../../config/properties.ts';
import { healthMetrics, type ClusterMetrics, type HealthMetrics, type ReportedHealth } from '../../health/metrics.ts';
import type { CheckState } from '../../health/report/history.ts';
import { parseThresholds, type ConfiguredSettings, type ThresholdOverrides } from '../../health/settings.ts';
import { observeExpiries, type Expiring } from '../../operator/reconcilers/expiry-metrics.ts';
import { observeConditions } from '../../operator/reconcilers/conditions-metric.ts';
import { policyConditionsOf } from '../../operator/health/policy-conditions.ts';
import { HealthLoop, RunTurns } from '../../operator/health/health-loop.ts';
import { HealthWebhook } from '../../operator/health/health-webhook.ts';
import { activeReports, clusterOf, type ReportedClusters } from '../../operator/health/health-reports.ts';
import { prometheusMetrics } from '../../operator/metrics.ts';
import { sessionKeyTask } from '../../operator/tokens/session-key.ts';
import { loopTask, startOperator, type LeaderTask, type Operator } from '../../operator/operator.ts';
import { credentialFromFile } from '../../pinot/credential.ts';
import { systemClock } from '../../platform/clock.ts';
import type { KubernetesTransport } from '../../kubernetes/transport.ts';
import { REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Boot } from './boot.ts';
import { administratorsBySetting, parseSubject } from './administrators-by-setting.ts';
import type { FurtherCluster } from './further-clusters.ts';

export interface ControllerDependencies {
  readonly store: ResourceStore;
  readonly engine: Engine & KnownTables;
  /** For the Lease and the Events; absent in standalone. */
  readonly transport?: KubernetesTransport;
  readonly tasks?: readonly LeaderTask[];
  /** The other clusters of the environment. */
  readonly furtherClusters?: readonly FurtherCluster[];
}

/** Of the list of tables with which the conditions of policies are compared. */
const TABLES_MAX_AGE_MS = 30_000;

/** A cluster whose health checks this process runs. */
type CheckedCluster = Pick<FurtherCluster, 'name' | 'report' | 'engine' | 'properties'>;

/**
 * Starts what the operator runs: the reconcilers, the predefined resources, the health checks and further tasks. `boot.closers` stops it.
 * @throws {SettingsError} when the configuration is that of a gateway of a further cluster
 */
export function startControllers(boot: Boot, parts: ControllerDependencies): Operator {
  const { settings, log, registry, closers } = boot;
  const { store, engine, transport, tasks = [], furtherClusters = [] } = parts;
  if (settings['further-cluster'])
    throw new SettingsError([
      '`further-cluster` is set: it is only for gateways, whose file the operator reads by `cluster-files`',
    ]);
  const schemas = new TableSchemas(engine.controller, () => systemClock.monotonic());
  const first = { name: settings.cluster, report: REPORT_NAME, engine, properties: () => boot.live.get() };
  const clusters: readonly [CheckedCluster, ...CheckedCluster[]] = [first, ...furtherClusters];
  const activeHealth = (): ReportedHealth[] =>
    activeReports(store.list('ClusterHealthReport'), clusters).map((report) => reported(report, clusters));
  // Only the leader exports them.
  const metrics = healthMetrics(registry, () => (operator.isLeader() ? activeHealth() : []), first.name);
  const operator: Operator = startOperator({
    store,
    metrics: prometheusMetrics(registry),
    log,
    leaseName: settings['leader-lease'],
    policyNames: {
      deployment: { environment: settings.environment, cluster: settings.cluster },
      tableNames: () => engine.tableNames(),
      otherClusters: furtherClusters.map((other) => ({
        cluster: other.name,
        tableNames: () => other.engine.tableNames(),
      })),
      schemas: {
        tableNames: (signal) => engine.currentTables(TABLES_MAX_AGE_MS, signal),
        columnsOf: (table, signal) => schemas.columnsOf(tableNameOf(table), signal),
      },
    },
    clusters,
    healthSettings: (name) => configuredOf((clusters.find((cluster) => cluster.name === name) ?? first).properties()),
    tokenGraceMs: settings['token-grace'],
    pruneExpiredAfterMs: settings['prune-expired-after'],
    owned: [administratorsBySetting(settings['admin-subject'].map(parseSubject), log)],
    tasks: [
      ...healthTasks(clusters, metrics, log),
      ...healthWebhook(boot, metrics, clusters),
      ...(transport ? [sessionKeyTask({ name: settings['session-key-secret'], clock: systemClock, log })] : []),
      ...tasks,
    ],
    ...(transport && { transport }),
  });
  const expiring = (): Expiring => ({ assignments: store.list('RoleAssignment'), tokens: store.list('ServiceToken') });
  observeExpiries(registry, () => (operator.isLeader() ? expiring() : undefined), systemClock);
  observeConditions(registry, () => (operator.isLeader() ? store.list('Policy') : undefined));
  closers.defer('operator', () => operator.stop());
  return operator;
}

/** Reasons of the Events about a check. */
const CHECK_EVENTS = {
  PASS: 'CheckPassed',
  FAIL: 'CheckFailed',
  NOT_EVALUATED: 'CheckNotEvaluated',
} as const satisfies Record<CheckState, string>;

/** Run the health checks of each cluster on the leader. */
function healthTasks(
  clusters: readonly [CheckedCluster, ...CheckedCluster[]],
  metrics: ClusterMetrics,
  log: Logger,
): LeaderTask[] {
  const turns = new RunTurns();
  return clusters.map((cluster, index) =>
    healthTask({
      clusters,
      cluster,
      turns,
      log,
      metrics: index === 0 ? metrics : metrics.ofCluster(cluster.name, cluster.report),
    }),
  );
}

interface HealthTaskDependencies {
  readonly clusters: readonly [CheckedCluster, ...CheckedCluster[]];
  readonly cluster: CheckedCluster;
  readonly turns: RunTurns;
  readonly log: Logger;
  readonly metrics: HealthMetrics;
}

function healthTask({ clusters, cluster, turns, log, metrics }: HealthTaskDependencies): LeaderTask {
  return loopTask(
    clusters[0] === cluster ? 'health' : `health of ${cluster.name}`,
    (ports, signal) =>
      new HealthLoop({
        store: ports.store,
        engine: cluster.engine,
        clusters,
        cluster,
        turns,
        clock: systemClock,
        log,
        metrics,
        configured: () => configuredOf(cluster.properties()),
        // Policies are of all clusters; their status is compared with the tables of the first one.
        ...(clusters[0] === cluster && { policies: () => policyConditionsOf(ports.store.list('Policy')) }),
        isLeader: () => !signal.aborted,
        onStatusChange: (report, { name, state, message }) =>
          ports.recorder.record(
            report,
            state === 'PASS' ? 'Normal' : 'Warning',
            CHECK_EVENTS[state],
            `${name}: ${message}`,
          ),
        onMuteExpired: (report, mute, findingCount) =>
          ports.recorder.record(
            report,
            findingCount > 0 ? 'Warning' : 'Normal',
            'MuteExpired',
            expiredMute(mute, findingCount),
          ),
      }),
  );
}

/** Sends the alerts of the health checks to the webhook of the settings, on the leader. */
function healthWebhook({ settings, log }: Boot, metrics: HealthMetrics, clusters: ReportedClusters): LeaderTask[] {
  const url = settings['health-webhook-url'];
  if (url === undefined) return [];
  const file = settings['health-webhook-credential-file'];
  const credential =
    file === undefined
      ? undefined
      : credentialFromFile(file, systemClock, (problem) => log.warn({ problem }, 'webhook credential not read again'));
  const options = { url: new URL(url), clusters, clock: systemClock, log, metrics };
  const authorization = async () => credential?.current();
  return [loopTask('health-webhook', ({ store }) => new HealthWebhook({ ...options, authorization, store }))];
}

function expiredMute({ id, check = '*', entity, reason, author }: Mute, findingCount: number): string {
  const by = author === undefined ? '' : ` by ${author}`;
  return `the mute \`${id}\`${by} of \`${entity}\` in \`${check}\` expired; ${findingCount} findings count again. Its reason: ${reason}`;
}

function reported(report: ClusterHealthReport, clusters: ReportedClusters): ReportedHealth {
  const { metadata, status, spec } = report;
  return { name: metadata.name, cluster: (clusterOf(report, clusters) ?? clusters[0]).name, status, timing: spec };
}

/** The settings of the health checks in the properties. */
function configuredOf(properties: Properties): ConfiguredSettings {
  return {
    thresholds: thresholdsOf(properties),
    prebuiltSnapshotProperty: properties['controller.cluster.health.prebuiltSnapshotProperty'],
    extensionChecks: properties['controller.cluster.health.extensionChecks'],
    instanceScheme: properties['controller.cluster.health.instanceScheme'],
  };
}

/** The thresholds in the properties. `controller.replication.threshold` is an older name of one of them. */
function thresholdsOf(properties: Properties): ThresholdOverrides {
  const overrides = parseThresholds(properties['controller.cluster.health.thresholds']);
  const minReplication = properties['controller.replication.threshold'];
  if (minReplication === undefined) return overrides;
  return { ...overrides, REPLICATION_CHECK: { minReplication, ...overrides['REPLICATION_CHECK'] } };
}
