import { stringify } from 'yaml';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import type { GeneratedFiles } from './generator.ts';

const RUNBOOKS = 'https://github.com/olap-warden/olap-warden/blob/main/docs/checks';
const HEADER = '# Generated from src/health/checks/ and tools/generate/alerts.ts by `make generate`; do not edit.\n';

/** `IDEAL_STATE_EV_MISMATCH_CHECK` → `OlapIdealStateEvMismatch`. */
export function alertName(check: string): string {
  const words = check.replace(/(_HEALTH)?_CHECK$/, '').split('_');
  return `Olap${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}`;
}

/**
 * Aggregates over processes. With these labels, a change of the leader would create a new alert with a new waiting time. The value of the last
 * leader is used until the next one is scraped.
 */
const ANY_PROCESS = 'without (instance, pod, container, endpoint, node)';

const checkAlerts = CATALOGUE.map((check) => ({
  alert: alertName(check.name),
  // One stable series per check and report, from the leader. Critical alerts do not wait for a second run, because runs are 20 minutes apart.
  expr: `min ${ANY_PROCESS} (last_over_time(olap_warden_health_check_status{check="${check.name}"}[5m])) == 0`,
  for: check.severity === 'critical' ? '1m' : '25m',
  labels: { severity: check.severity, category: check.category },
  annotations: {
    summary: `${check.title}: the health check ${check.name} fails`,
    description: `${check.description} ${check.remediation}`,
    runbook_url: `${RUNBOOKS}/${check.name}.md`,
  },
}));

const taskAlerts = [
  {
    alert: 'OlapHealthReportStale',
    // Over a day, because the metric is absent without a leader. Relative to the schedule of each report, which may be weekly.
    expr: `time() - max ${ANY_PROCESS} (last_over_time(olap_warden_health_next_run_timestamp_seconds[1d])) > 2400`,
    for: '5m',
    labels: { severity: 'warning', category: 'task' },
    annotations: {
      summary: 'A cluster health report is out of date',
      description:
        'A run of the health checks has been due for 40 minutes, so the other alerts of this report are out of date. Check whether an operator leads, whether the report is suspended, and the log of the operator.',
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
        'More than one run failed within an hour, most often because the controller cannot be reached. See the log of the leading operator.',
      runbook_url: `${RUNBOOKS}/README.md#the-task-fails`,
    },
  },
];

const accessAlerts = [
  {
    alert: 'OlapAccessExpiring',
    // Only the leader exports it; the value of the last one is used until the next one is scraped.
    expr: `max ${ANY_PROCESS} (last_over_time(olap_warden_role_assignment_subjects_expiring[5m])) > 0`,
    for: '5m',
    labels: { severity: 'info', category: 'access' },
    annotations: {
      summary: 'Subjects of role assignments lose their role within 24 hours',
      description:
        'At least one assignment has an `expiresAt` within 24 hours. Renew it if the access is still needed: the page Access review of the dashboard and the Events AssignmentExpiring name the subjects.',
      runbook_url: 'https://github.com/olap-warden/olap-warden/blob/main/docs/rbac.md#access-expires-soon',
    },
  },
];

/** The alerts as a file of Prometheus rules, from which the chart renders a PrometheusRule. */
export function generateAlerts(): GeneratedFiles {
  const rules = {
    groups: [
      { name: 'olap-warden-health', rules: checkAlerts },
      { name: 'olap-warden-task', rules: taskAlerts },
      { name: 'olap-warden-access', rules: accessAlerts },
    ],
  };
  return new Map([['charts/olap-warden/files/alerts.yaml', HEADER + stringify(rules, { lineWidth: 0 })]]);
}
