import { describeTiming, timingProblems } from '../../health/run/schedule.ts';
import { muteProblems } from '../../health/report/mutes.ts';
import { resolveSettings, type ConfiguredSettings } from '../../health/settings.ts';
import { MAX_REPORTS } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import {
  activeReports,
  clusterOf,
  ONE_CLUSTER,
  type ReportedCluster,
  type ReportedClusters,
} from '../health/health-reports.ts';
import type { Outcome } from '../controller/outcome.ts';
import type { Reconciler, ReconciledObject } from '../controller/reconciler.ts';

export interface ReportObserved extends ReconciledObject<'ClusterHealthReport'> {
  /** False when there are more than `MAX_REPORTS` and the checks of this one do not run. */
  readonly active: boolean;
  readonly configured: ConfiguredSettings;
  /** Undefined if the environment does not have the cluster that the report names. */
  readonly cluster: ReportedCluster | undefined;
}

/**
 * Validates the settings of each ClusterHealthReport as soon as they change. It does not run the checks: the health task does, and writes the
 * rest of the status.
 * @param configured the settings of the process for a cluster, which a report overrides; called at each reconciliation
 */
export function clusterHealthReportReconciler(
  configured: (cluster: string) => ConfiguredSettings = () => ({}),
  clusters: ReportedClusters = ONE_CLUSTER,
): Reconciler<'ClusterHealthReport', ReportObserved> {
  const names = new Set<string>();
  return {
    kind: 'ClusterHealthReport',
    onOwnEvent({ type, object }) {
      if (type === 'deleted') names.delete(object.metadata.name);
      else names.add(object.metadata.name);
    },
    watches: [
      {
        kind: 'ClusterHealthReport',
        // Another report may take the place of a deleted one.
        keysOf: ({ type }) => (type !== 'modified' && names.size >= MAX_REPORTS ? names : []),
      },
    ],
    observe(store, name) {
      const object = store.get('ClusterHealthReport', name);
      const cluster = object && clusterOf(object, clusters);
      const active = activeReports(store.list('ClusterHealthReport'), clusters);
      return {
        object,
        cluster,
        active: active.some(({ metadata }) => metadata.name === name),
        configured: cluster === undefined ? {} : configured(cluster.name),
      };
    },
    reconcile({ object, cluster, active, configured }, { now }) {
      if (!object) return { actions: [] };
      const { srn: _, observedGeneration: __, conditions: ___, ...fields } = object.status ?? {};
      return {
        actions: [],
        status: {
          outcome:
            cluster === undefined
              ? unknownCluster(object, clusters)
              : reportOutcome(object, cluster, { active, configured, now }),
          fields,
        },
      };
    },
  };
}

interface Circumstances extends Pick<ReportObserved, 'active' | 'configured'> {
  readonly now: number;
}

function reportOutcome(
  { metadata, spec }: ClusterHealthReport,
  cluster: ReportedCluster,
  { active, configured, now }: Circumstances,
): Outcome {
  if (!active) {
    return {
      class: 'stalled',
      reason: 'TooManyReports',
      message: `the checks of this report do not run: there are more than ${MAX_REPORTS} reports, and others are older; delete one of them`,
    };
  }
  const problems = [
    ...otherCluster(metadata.name, spec.cluster, cluster),
    ...resolveSettings(spec, configured).problems,
    ...timingProblems(spec, now),
    ...muteProblems(spec.mutes, now),
  ];
  if (problems.length > 0) {
    const message = `${problems.join('; ').slice(0, 4096)}; the defaults are used instead`;
    return { class: 'stalled', reason: 'InvalidSettings', message };
  }
  if (spec.suspend === true) {
    return {
      class: 'ready',
      reason: 'Suspended',
      message: 'the periodic runs are suspended; runs on demand still work',
    };
  }
  return { class: 'ready', reason: 'Scheduled', message: `the checks run ${describeTiming(spec)}` };
}

function unknownCluster({ spec }: ClusterHealthReport, clusters: ReportedClusters): Outcome {
  const known = clusters.map(({ name }) => `\`${name}\``).join(', ');
  return {
    class: 'stalled',
    reason: 'UnknownCluster',
    message: `the checks of this report do not run: spec.cluster is \`${spec.cluster}\`, but this environment has ${known}`,
  };
}

/** The report of a cluster cannot be given to another one: its gateways would show that one. */
function otherCluster(report: string, given: string | undefined, cluster: ReportedCluster): string[] {
  if (given === undefined || given === cluster.name) return [];
  return [`spec.cluster is \`${given}\`, but the report \`${report}\` is that of the cluster \`${cluster.name}\``];
}
