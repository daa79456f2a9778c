import { describeTiming, timingProblems } from '../../health/run/schedule.ts';
import { muteProblems } from '../../health/report/mutes.ts';
import { resolveSettings, type ConfiguredSettings } from '../../health/settings.ts';
import { MAX_REPORTS } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { activeReports } from '../health/health-reports.ts';
import type { Outcome } from '../controller/outcome.ts';
import type { Reconciler, ReconciledObject } from '../controller/reconciler.ts';

export interface ReportObserved extends ReconciledObject<'ClusterHealthReport'> {
  /** False when there are more than `MAX_REPORTS` and the checks of this one do not run. */
  readonly active: boolean;
  readonly configured: ConfiguredSettings;
}

/**
 * Validates the settings of each ClusterHealthReport as soon as they change. It does not run the checks: the health task does, and writes the
 * rest of the status.
 * @param configured the settings of the process, which a report overrides; called at each reconciliation
 */
export function clusterHealthReportReconciler(
  configured: () => ConfiguredSettings = () => ({}),
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
      const active = activeReports(store.list('ClusterHealthReport'));
      return {
        object: store.get('ClusterHealthReport', name),
        active: active.some(({ metadata }) => metadata.name === name),
        configured: configured(),
      };
    },
    reconcile({ object, active, configured }, { now }) {
      if (!object) return { actions: [] };
      const { srn: _, observedGeneration: __, conditions: ___, ...fields } = object.status ?? {};
      return { actions: [], status: { outcome: reportOutcome(object, active, configured, now), fields } };
    },
  };
}

function reportOutcome(
  { spec }: ClusterHealthReport,
  active: boolean,
  configured: ConfiguredSettings,
  now: number,
): Outcome {
  if (!active) {
    return {
      class: 'stalled',
      reason: 'TooManyReports',
      message: `the checks of this report do not run: there are more than ${MAX_REPORTS} reports, and others are older; delete one of them`,
    };
  }
  const problems = [
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
