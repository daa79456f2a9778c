import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Engine } from '../../engine/types.ts';
import type { Properties } from '../../config/properties.ts';
import { healthMetrics } from '../../health/metrics.ts';
import { parseThresholds, type ConfiguredSettings, type ThresholdOverrides } from '../../health/settings.ts';
import { createHealthLoop } from '../../operator/health-loop.ts';
import { prometheusMetrics } from '../../operator/metrics.ts';
import { startOperator, type LeaderTask, type Operator } from '../../operator/operator.ts';
import { REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { KubernetesTransport } from '../../store/kubernetes/transport.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Boot } from './boot.ts';
import { administratorsTask, parseSubject } from './first-administrator.ts';

export interface OperatorParts {
  readonly store: ResourceStore;
  readonly engine: Engine;
  /** Absent in standalone. */
  readonly transport?: KubernetesTransport;
  readonly tasks?: readonly LeaderTask[];
}

/** Reconciles, keeps the predefined resources, runs the health checks. Ends with `boot.closers`. */
export function composeOperator(boot: Boot, parts: OperatorParts): Operator {
  const { settings, log, registry, closers } = boot;
  const { store, engine, transport, tasks = [] } = parts;
  const operator: Operator = startOperator({
    store,
    metrics: prometheusMetrics(registry),
    log,
    leaseName: settings['leader-lease'],
    tokenGraceMs: settings['token-grace'],
    tasks: [
      healthTask({
        engine,
        log,
        registry,
        store,
        isLeader: () => operator.isLeader(),
        configured: () => configuredOf(boot.live.get()),
      }),
      administratorsTask(settings['admin-subject'].map(parseSubject), log),
      ...tasks,
    ],
    ...(transport && { transport }),
  });
  closers.defer('operator', () => operator.stop());
  return operator;
}

interface HealthTaskParts {
  readonly engine: Engine;
  readonly log: Logger;
  readonly registry: Registry;
  readonly store: ResourceStore;
  readonly isLeader: () => boolean;
  readonly configured: () => ConfiguredSettings;
}

/** The health checks, on whoever leads; only the leader tells their metrics. */
function healthTask({ engine, log, registry, store, isLeader, configured }: HealthTaskParts): LeaderTask {
  const metrics = healthMetrics(registry, () =>
    isLeader() ? store.get('ClusterHealthReport', REPORT_NAME)?.status : undefined,
  );
  return {
    name: 'health',
    async run(signal, ports) {
      const loop = createHealthLoop({
        store: ports.store,
        engine,
        now: () => new Date(),
        random: Math.random,
        log,
        metrics,
        configured,
        isLeader: () => !signal.aborted,
        events: (report, { name, status, message }) =>
          ports.recorder.record(
            report,
            status === 'FAIL' ? 'Warning' : 'Normal',
            status === 'FAIL' ? 'CheckFailed' : 'CheckPassed',
            `${name}: ${message}`,
          ),
      });
      loop.start();
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await loop.stop();
    },
  };
}

/** What the properties say of the health checks. */
function configuredOf(properties: Properties): ConfiguredSettings {
  return {
    thresholds: thresholdsOf(properties),
    prebuiltSnapshotProperty: properties['controller.cluster.health.prebuiltSnapshotProperty'],
  };
}

/** The thresholds that the properties hold; `controller.replication.threshold` is the older spelling of one of them. */
function thresholdsOf(properties: Properties): ThresholdOverrides {
  const overrides = parseThresholds(properties['controller.cluster.health.thresholds']);
  const minReplication = properties['controller.replication.threshold'];
  if (minReplication === undefined) return overrides;
  return { ...overrides, REPLICATION_CHECK: { minReplication, ...overrides['REPLICATION_CHECK'] } };
}
