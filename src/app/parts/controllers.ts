import type { Logger } from 'pino';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import type { Properties } from '../../config/properties.ts';
import { healthMetrics, type HealthMetrics, type ReportedHealth } from '../../health/metrics.ts';
import type { CheckState } from '../../health/report/history.ts';
import { parseThresholds, type ConfiguredSettings, type ThresholdOverrides } from '../../health/settings.ts';
import { observeExpiries, type Expiring } from '../../operator/reconcilers/expiry-metrics.ts';
import { HealthLoop } from '../../operator/health/health-loop.ts';
import { HealthWebhook } from '../../operator/health/health-webhook.ts';
import { activeReports } from '../../operator/health/health-reports.ts';
import { prometheusMetrics } from '../../operator/metrics.ts';
import { sessionKeyTask } from '../../operator/tokens/session-key.ts';
import { loopTask, startOperator, type LeaderTask, type Operator } from '../../operator/operator.ts';
import { credentialFromFile } from '../../pinot/credential.ts';
import { systemClock } from '../../platform/clock.ts';
import type { KubernetesTransport } from '../../kubernetes/transport.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Boot } from './boot.ts';
import { administratorsBySetting, parseSubject } from './administrators-by-setting.ts';

export interface ControllerDependencies {
  readonly store: ResourceStore;
  readonly engine: Engine & KnownTables;
  /** For the Lease and the Events; absent in standalone. */
  readonly transport?: KubernetesTransport;
  readonly tasks?: readonly LeaderTask[];
}

/** Starts what the operator runs: the reconcilers, the predefined resources, the health checks and further tasks. `boot.closers` stops it. */
export function startControllers(boot: Boot, parts: ControllerDependencies): Operator {
  const { settings, log, registry, closers } = boot;
  const { store, engine, transport, tasks = [] } = parts;
  const metrics = healthMetrics(registry, () =>
    // Only the leader exports them.
    operator.isLeader() ? activeReports(store.list('ClusterHealthReport')).map(reported) : [],
  );
  const operator: Operator = startOperator({
    store,
    metrics: prometheusMetrics(registry),
    log,
    leaseName: settings['leader-lease'],
    policyNames: {
      deployment: { environment: settings.environment, cluster: settings.cluster },
      tableNames: () => engine.tableNames(),
    },
    healthSettings: () => configuredOf(boot.live.get()),
    tokenGraceMs: settings['token-grace'],
    pruneExpiredAfterMs: settings['prune-expired-after'],
    owned: [administratorsBySetting(settings['admin-subject'].map(parseSubject), log)],
    tasks: [
      healthTask({ engine, log, metrics, configured: () => configuredOf(boot.live.get()) }),
      ...healthWebhook(boot, metrics),
      ...(transport ? [sessionKeyTask({ name: settings['session-key-secret'], clock: systemClock, log })] : []),
      ...tasks,
    ],
    ...(transport && { transport }),
  });
  const expiring = (): Expiring => ({ assignments: store.list('RoleAssignment'), tokens: store.list('ServiceToken') });
  observeExpiries(registry, () => (operator.isLeader() ? expiring() : undefined), systemClock);
  closers.defer('operator', () => operator.stop());
  return operator;
}

/** Reasons of the Events about a check. */
const CHECK_EVENTS = {
  PASS: 'CheckPassed',
  FAIL: 'CheckFailed',
  NOT_EVALUATED: 'CheckNotEvaluated',
} as const satisfies Record<CheckState, string>;

interface HealthTaskDependencies {
  readonly engine: Engine;
  readonly log: Logger;
  readonly metrics: HealthMetrics;
  readonly configured: () => ConfiguredSettings;
}

/** Runs the health checks on the leader. */
function healthTask({ engine, log, metrics, configured }: HealthTaskDependencies): LeaderTask {
  return loopTask(
    'health',
    (ports, signal) =>
      new HealthLoop({
        store: ports.store,
        engine,
        clock: systemClock,
        log,
        metrics,
        configured,
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
function healthWebhook({ settings, log }: Boot, metrics: HealthMetrics): LeaderTask[] {
  const url = settings['health-webhook-url'];
  if (url === undefined) return [];
  const file = settings['health-webhook-credential-file'];
  const credential =
    file === undefined
      ? undefined
      : credentialFromFile(file, systemClock, (problem) => log.warn({ problem }, 'webhook credential not read again'));
  const options = { url: new URL(url), cluster: settings.cluster, clock: systemClock, log, metrics };
  const authorization = async () => credential?.current();
  return [loopTask('health-webhook', ({ store }) => new HealthWebhook({ ...options, authorization, store }))];
}

function expiredMute({ id, check = '*', entity, reason, author }: Mute, findingCount: number): string {
  const by = author === undefined ? '' : ` by ${author}`;
  return `the mute \`${id}\`${by} of \`${entity}\` in \`${check}\` expired; ${findingCount} findings count again. Its reason: ${reason}`;
}

function reported({ metadata, status, spec }: ClusterHealthReport): ReportedHealth {
  return { name: metadata.name, status, timing: spec };
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
