import { stringify } from 'yaml';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import type { GeneratedFiles } from './generator.ts';

const RUNBOOKS = 'https://github.com/olap-warden/olap-warden/blob/main/docs/checks';
const HEADER = '# Generated from src/health/catalogue.ts by `make generate`; do not edit.\n';

/** What data or queries are at risk right now; everything else is a warning about what will hurt later. */
const CRITICAL: ReadonlySet<string> = new Set([
  'IDEAL_STATE_EV_MISMATCH_CHECK',
  'INSTANCE_HEALTH_API_CHECK',
  'QUERY_HEALTH_CHECK',
  'BROKER_RESOURCE_CHECK',
]);
/** Advice on how a cluster is set up; nobody needs to be woken. */
const ADVICE: ReadonlySet<string> = new Set([
  'TIME_COLUMN_GRANULARITY_CHECK',
  'INSTANCE_POOLS_CHECK',
  'INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK',
  'PREBUILT_SNAPSHOT_CHECK',
  'TABLE_COLUMN_COUNT_CHECK',
]);

export function severity(check: string): string {
  if (CRITICAL.has(check)) return 'critical';
  return ADVICE.has(check) ? 'info' : 'warning';
}

/** `IDEAL_STATE_EV_MISMATCH_CHECK` → `OlapIdealStateEvMismatch`. */
export function alertName(check: string): string {
  const words = check.replace(/(_HEALTH)?_CHECK$/, '').split('_');
  return `Olap${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}`;
}

/**
 * Of whoever tells it: with these labels an alert would be another one after each change of leader, and begin to wait anew. What the last leader
 * said counts until the next one is scraped.
 */
const ANY_PROCESS = 'without (instance, pod, container, endpoint, node)';

const checkAlerts = CATALOGUE.map((check) => ({
  alert: alertName(check.name),
  // One stable series a check, from the leader alone. Critical ones fire at the next evaluation: a run is 20 minutes away from the next.
  expr: `min ${ANY_PROCESS} (last_over_time(olap_warden_health_check_status{check="${check.name}"}[5m])) == 0`,
  for: CRITICAL.has(check.name) ? '1m' : '25m',
  labels: { severity: severity(check.name), category: check.category },
  annotations: {
    summary: `${check.title}: the health check ${check.name} fails`,
    description: `${check.description} ${check.remediation}`,
    runbook_url: `${RUNBOOKS}/${check.name}.md`,
  },
}));

const taskAlerts = [
  {
    alert: 'OlapHealthReportStale',
    // Looked for over a day, since nobody tells the time of the last run where nobody leads.
    expr: `time() - max ${ANY_PROCESS} (max_over_time(olap_warden_health_last_run_timestamp_seconds[1d])) > 3600`,
    for: '5m',
    labels: { severity: 'warning', category: 'task' },
    annotations: {
      summary: 'The cluster health report is more than an hour old',
      description:
        'No run of ClusterHealthCheckTask has ended for an hour, so the other alerts say nothing about now. See whether an operator leads, whether the task is suspended, and its log.',
      runbook_url: `${RUNBOOKS}/README.md#the-report-is-stale`,
    },
  },
  {
    alert: 'OlapHealthTaskFailing',
    expr: `sum ${ANY_PROCESS} (increase(olap_warden_health_runs_total{result!="success"}[1h])) > 1`,
    for: '5m',
    labels: { severity: 'warning', category: 'task' },
    annotations: {
      summary: 'Runs of ClusterHealthCheckTask fail',
      description:
        'More than one run failed within an hour, most often because the controller cannot be reached. See the log of the operator that leads.',
      runbook_url: `${RUNBOOKS}/README.md#the-task-fails`,
    },
  },
];

/** The alerts as a file of Prometheus rules; the chart makes a PrometheusRule of it. */
export function generateAlerts(): GeneratedFiles {
  const rules = {
    groups: [
      { name: 'olap-warden-health', rules: checkAlerts },
      { name: 'olap-warden-task', rules: taskAlerts },
    ],
  };
  return new Map([['charts/olap-warden/files/alerts.yaml', HEADER + stringify(rules, { lineWidth: 0 })]]);
}
