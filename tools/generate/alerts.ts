import { stringify } from 'yaml';
import {
  alertName,
  CAUSE_TEXTS,
  causeAlertName,
  causeRunbook,
  CRITICAL_NOT_EVALUATED,
  NOT_EVALUATED,
  NOT_EVALUATED_RUNS,
  RUNBOOKS,
} from '../../src/health/alerts/alert-names.ts';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import { CAUSE_KINDS, type CauseKind } from '../../src/resources/health-cause.ts';
import type { Severity } from '../../src/resources/health-finding.ts';
import { operationsRunbook, SATURATION_ALERTS } from './alerts/saturation.ts';
import type { GeneratedFiles } from './generator.ts';

const HEADER = '# Generated from src/health/checks/ and tools/generate/alerts.ts by `make generate`; do not edit.\n';

/**
 * Aggregates over processes. With these labels, a change of the leader would create a new alert with a new waiting time. The value of the last
 * leader is used until the next one is scraped.
 */
const ANY_PROCESS = 'without (instance, pod, container, endpoint, node)';

/** Selects the series of one check in the report of the alert. An absent namespace is an empty one. */
const ofAlert = (check: string): string => `{check="${check}",report=%q,namespace=%q}`;
const query = (expr: string): string => `with printf \`${expr}\` $labels.report $labels.namespace | query`;

/** The number of findings, if the latest run could evaluate the check, and the first entities. */
function foundBy(check: string): string {
  const series = (name: string) => `olap_warden_health_check_${name}${ofAlert(check)}`;
  // Each series is selected twice in the format, so `printf` needs its arguments twice.
  const count = `with printf \`max(${series('findings')} and ${series('evaluated')} == 1)\` $labels.report $labels.namespace $labels.report $labels.namespace | query`;
  const entities = query(`max by (position, entity) (${series('entity_info')})`);
  return [
    `{{ ${count} }}Findings: {{ . | first | value | printf "%.0f" }}. {{ end }}`,
    `{{ ${entities} }}First found: {{ range $i, $found := sortByLabel "position" . }}{{ if $i }}, {{ end }}{{ $found.Labels.entity }}{{ end }}. {{ end }}`,
  ].join('');
}

type Check = (typeof CATALOGUE)[number];

const latest = (metric: string, check: Check): string =>
  `max ${ANY_PROCESS} (last_over_time(olap_warden_health_check_${metric}{check="${check.name}"}[5m])) == 1`;

/** Where causes are behind all faults, their alerts fire instead. */
const APART = ['muted', 'explained'] as const;

/**
 * One stable series per check and report, from the leader. A run that could not evaluate the check keeps the alert as it is: nothing is known
 * about the fault. Without faults that are not muted there is nothing to do. When a mute expires, the operator updates the metric.
 */
function conditionOf(check: Check, severity: Severity): string {
  if (check.otherSeverity !== undefined && severity === 'critical') return latest('critical', check);
  const apart = check.otherSeverity === undefined ? APART : ([...APART, 'critical'] as const);
  return [latest('failing', check), ...apart.map((metric) => latest(metric, check))].join(' unless ');
}

/** The alert of a check for one severity. Critical ones do not wait for a second run, because runs are 20 minutes apart. */
function checkAlert(check: Check, severity: Severity) {
  const { name, title, category, description, remediation } = check;
  const condition =
    severity === check.severity
      ? `The check fails on this condition, unless the thresholds of the report differ: ${description}`
      : `The worst fault that is not muted is of the severity ${severity}.`;
  return {
    alert: alertName(name),
    expr: conditionOf(check, severity),
    for: severity === 'critical' ? '1m' : '25m',
    labels: { severity, category },
    annotations: {
      summary: `${title}: the health check ${name} fails`,
      description: `${foundBy(name)}${condition} ${remediation}`,
      runbook_url: `${RUNBOOKS}/${name}.md`,
    },
  };
}

const checkAlerts = CATALOGUE.flatMap((check) => {
  const { severity, otherSeverity } = check;
  return [severity, ...(otherSeverity === undefined ? [] : [otherSeverity])].map((of) => checkAlert(check, of));
});

/** Selects the series of the cause of the alert. */
const effectOf = (effect: string): string =>
  `with printf \`max(olap_warden_health_cause_effect{entity_type=%q,entity=%q,report=%q,namespace=%q,effect="${effect}"}) > 0\` $labels.entity_type $labels.entity $labels.report $labels.namespace | query`;
const numberOf = (effect: string, before: string, after: string): string =>
  `{{ ${effectOf(effect)} }}${before}{{ . | first | value | printf "%.0f" }}${after}{{ end }}`;

/** What a cause affects, in numbers. */
const EFFECT = [
  numberOf('checks', 'Checks that fail by it: ', '. '),
  numberOf('segments', 'Segments that have lost a replica: ', `${numberOf('tables', ', of tables: ', '')}. `),
  numberOf('unserved', 'Segments without any replica, whose rows queries do not return: ', '. '),
].join('');

/**
 * The causes of a kind by report and entity, from the leader. The series of a cause ends with the cause: the value of the last leader is used
 * only where nobody exports the report.
 */
function causesOf(kind: CauseKind): string {
  const causes = `olap_warden_health_cause_critical{kind="${kind}"}`;
  const reports = `max ${ANY_PROCESS} (olap_warden_health_last_run_timestamp_seconds)`;
  const last = `max ${ANY_PROCESS} (last_over_time(${causes}[5m])) unless ignoring (kind, entity_type, entity) ${reports}`;
  return `(max ${ANY_PROCESS} (${causes}) or (${last}))`;
}

/** The alert of a kind of cause: one for each entity, instead of those of the checks that fail by it. */
function causeAlert(kind: CauseKind, severity: 'critical' | 'warning') {
  const { title, remedy } = CAUSE_TEXTS[kind];
  const value = severity === 'critical' ? 1 : 0;
  return {
    alert: causeAlertName(kind),
    expr: `${causesOf(kind)} == ${value}`,
    for: severity === 'critical' ? '1m' : '25m',
    labels: { severity, category: 'cause' },
    annotations: {
      summary: `${title}: {{ $labels.entity_type }} {{ $labels.entity }}`,
      description: `${EFFECT}${remedy}`,
      runbook_url: causeRunbook(kind),
    },
  };
}

const causeAlerts = CAUSE_KINDS.flatMap((kind) => [causeAlert(kind, 'critical'), causeAlert(kind, 'warning')]);

const CRITICAL_CHECKS = CATALOGUE.filter(({ severity }) => severity === 'critical')
  .map(({ name }) => name)
  .join('|');

/** @param selector selects the checks by their label */
function notEvaluatedAlert(alert: string, severity: string, selector: string, consequence: string) {
  const notEvaluated = (labels: string) => `olap_warden_health_check_unevaluated_runs{${labels}}`;
  const names = query(
    `max by (check) (${notEvaluated(`${selector},report=%q,namespace=%q`)}) >= ${NOT_EVALUATED_RUNS}`,
  );
  return {
    alert,
    // One alert for each report: a cluster that cannot be read concerns all its checks.
    expr: `count without (check) (max ${ANY_PROCESS} (last_over_time(${notEvaluated(selector)}[5m])) >= ${NOT_EVALUATED_RUNS})`,
    // Longer than a restart of the controller.
    for: '10m',
    labels: { severity, category: 'task' },
    annotations: {
      summary: `Health checks could not be evaluated for three runs`,
      description: `{{ ${names} }}{{ range $i, $found := sortByLabel "check" . }}{{ if $i }}, {{ end }}{{ $found.Labels.check }}{{ end }}: {{ end }}data that the checks need could not be read from the cluster. ${consequence} The findings of the report name what could not be read and why.`,
      runbook_url: `${RUNBOOKS}/README.md#checks-could-not-be-evaluated`,
    },
  };
}

const notEvaluatedAlerts = [
  notEvaluatedAlert(
    CRITICAL_NOT_EVALUATED,
    'critical',
    `check=~"${CRITICAL_CHECKS}"`,
    'These checks find faults that make data or queries unavailable, and would not find them now.',
  ),
  notEvaluatedAlert(
    NOT_EVALUATED,
    'warning',
    `check!~"${CRITICAL_CHECKS}"`,
    'Their alerts stay as they were after the last run that could evaluate them.',
  ),
];

const nextRun = (range: string): string =>
  `max ${ANY_PROCESS} (last_over_time(olap_warden_health_next_run_timestamp_seconds[${range}]))`;

const taskAlerts = [
  {
    alert: 'OlapHealthReportStale',
    // Over a day, because the metric is absent without a leader. Relative to the schedule of each report, which may be weekly.
    // Where there are metrics of other reports, a report without them was deleted.
    expr: `(time() - ${nextRun('1d')} > 2400) unless (${nextRun('1d')} and on (namespace) ${nextRun('5m')} unless ${nextRun('5m')})`,
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
    // Not the counter of runs: failures are repeated within minutes, and the alert must end with the first complete run.
    expr: `max ${ANY_PROCESS} (last_over_time(olap_warden_health_failed_runs[5m])) > 1`,
    for: '5m',
    labels: { severity: 'warning', category: 'task' },
    annotations: {
      summary: 'Runs of ClusterHealthCheckTask fail',
      description:
        'At least two runs in a row failed, and none succeeded since, most often because the controller cannot be reached. See the log of the leading operator.',
      runbook_url: `${RUNBOOKS}/README.md#the-task-fails`,
    },
  },
];

const accessAlerts = [
  {
    alert: 'OlapAccessExpiring',
    // Only the leader exports it; the value of the last one is used until the next one is scraped.
    expr: ['role_assignment_subjects', 'service_tokens']
      .map((what) => `max ${ANY_PROCESS} (last_over_time(olap_warden_${what}_expiring[5m])) > 0`)
      .join(' or '),
    for: '5m',
    labels: { severity: 'info', category: 'access' },
    annotations: {
      summary: 'Subjects lose a role, or service tokens expire, within 24 hours',
      description:
        'At least one assignment or service token has an `expiresAt` within 24 hours. Renew it if the access is still needed: the page Access, Review of the dashboard and the Events AssignmentExpiring and Expiring name them.',
      runbook_url: 'https://github.com/olap-warden/olap-warden/blob/main/docs/rbac.md#access-expires-soon',
    },
  },
];

/** Leadership of the operators alone: client-go's metric has the same name in every controller. */
const LEADS = 'leader_election_master_status and on (namespace, pod, instance) olap_warden_info{command="operator"}';

/** The operator counts the runs of each cluster. The ServiceMonitor gives the metrics of gateways the label; without it, nothing is known. */
const CLUSTER_WITHOUT_GATEWAY =
  'max by (namespace, cluster) (olap_warden_health_runs_total{cluster!=""}) and on (namespace) max by (namespace) (olap_warden_info{command="gateway",cluster!=""}) unless on (namespace, cluster) max by (namespace, cluster) (olap_warden_info{command="gateway"})';

const operationAlerts = [
  {
    alert: 'OlapWardenViewStale',
    // Without contact the age grows; otherwise it is up to 25 s.
    expr: 'olap_warden_store_age_seconds > 60',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A process of olap-warden has no contact to the Kubernetes API',
      description:
        'Its view of roles, policies, assignments and tokens is more than a minute old, so it does not know what was granted or revoked since then. Check the Kubernetes API, the network policies and the rights of the service account.',
      runbook_url: operationsRunbook('the-view-is-stale'),
    },
  },
  {
    alert: 'OlapWardenNoLeader',
    // Also where no operator ever came up: gateways are enough. Without either, OlapWardenMetricsAbsent fires.
    expr: `max by (namespace) (olap_warden_info{command=~"operator|gateway"}) unless (max by (namespace) (${LEADS}) == 1)`,
    for: '2m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'No operator leads',
      description:
        'No resource is reconciled, no health check runs and no expired result is deleted. Gateways continue to decide and to serve. Check the pods of the operator and the Lease.',
      runbook_url: operationsRunbook('no-operator-leads'),
    },
  },
  {
    alert: 'OlapWardenNoGateway',
    // The name of the job, and so `up`, depends on the configuration of Prometheus.
    expr: `max by (namespace) (olap_warden_info{command="operator"}) unless max by (namespace) (olap_warden_info{command="gateway"}) or ${CLUSTER_WITHOUT_GATEWAY}`,
    for: '2m',
    labels: { severity: 'critical', category: 'operations' },
    annotations: {
      summary: 'No gateway is up',
      description:
        'Prometheus reads the metrics of an operator in this namespace, and of no gateway (of the cluster in the label `cluster`, if there is one). No query, and no call of the REST API or the dashboard, is answered. Check the pods of the gateway.',
      runbook_url: operationsRunbook('no-gateway-is-up'),
    },
  },
  {
    alert: 'OlapWardenReconcileErrors',
    expr: `max ${ANY_PROCESS} (olapwarden_operator_failing_objects) > 0`,
    for: '5m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'The operator cannot reconcile objects',
      description:
        'The reconciliation of these objects failed at least ten times in a row. The log of the leading operator has the kind, the name and the error.',
      runbook_url: operationsRunbook('reconciliations-fail'),
    },
  },
  {
    alert: 'OlapWardenConfigRejected',
    expr: 'olap_warden_config_rejected == 1',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A process of olap-warden rejects its configuration file',
      description:
        'The properties from before the last change are in effect, and a restart would fail. The log has the problem.',
      runbook_url: operationsRunbook('the-configuration-is-rejected'),
    },
  },
  {
    alert: 'OlapWardenDefinitionsOutdated',
    expr: `max ${ANY_PROCESS} (olapwarden_operator_definitions_outdated) == 1`,
    for: '5m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A custom resource definition is older than the operator',
      description:
        'The Kubernetes API drops the fields that the definition lacks, without an error. Apply the definitions of this version; the log of the operator names the fields.',
      runbook_url: operationsRunbook('definitions-are-outdated'),
    },
  },
  {
    alert: 'OlapWardenAsyncQueriesWait',
    expr: 'olap_warden_pagination_async_queries_waiting > 0',
    for: '15m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'Asynchronous queries wait for a free place',
      description:
        'For 15 minutes this gateway has had more asynchronous queries than it runs at once. Check how long the queries run, and `olap.broker.pagination.async.max.running`.',
      runbook_url: operationsRunbook('asynchronous-queries-wait'),
    },
  },
  {
    alert: 'OlapWardenUnhandledErrors',
    expr: 'sum without (origin) (increase(olap_warden_unhandled_errors_total[15m])) > 0',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A process of olap-warden went on after an error that nothing handled',
      description:
        'Within 15 minutes an exception or a rejection reached no handler, which is a defect. The process serves as before, but the work that failed may have left something behind. The log has the error with its stack.',
      runbook_url: operationsRunbook('errors-that-nothing-handles'),
    },
  },
  {
    alert: 'OlapWardenLogLinesDropped',
    expr: 'increase(olap_warden_log_dropped_total[15m]) > 0',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A process of olap-warden drops log lines',
      description:
        'Its standard output cannot be written, for example because the disk is full or the reader of a pipe stands still. The process serves as before, and writes the number of missing lines when there is room again.',
      runbook_url: operationsRunbook('log-lines-are-dropped'),
    },
  },
  {
    alert: 'OlapWardenAuditFailures',
    expr: 'increase(olap_warden_audit_failures_total[15m]) > 0',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A gateway of olap-warden cannot write its audit file',
      description:
        'Records of changes and denied calls wait in its memory, and are in its log. With `audit-required` it refuses changes. Check the disk of the audit file and the rights on its folder.',
      runbook_url: operationsRunbook('the-audit-file-cannot-be-written'),
    },
  },
  {
    alert: 'OlapWardenAuditRecordsLeftOut',
    expr: 'increase(olap_warden_audit_left_out_total[15m]) > 0',
    for: '1m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A gateway of olap-warden leaves audit records of a caller out',
      description:
        'A caller exceeds its share of the audit files: with many different refused calls, or with calls that change something at the engine. A record with `leftOut` names the caller and the number. Changes of access are never left out.',
      runbook_url: operationsRunbook('audit-records-are-left-out'),
    },
  },
  {
    alert: 'OlapWardenOidcKeysStale',
    expr: 'olap_warden_oidc_keys_stale == 1',
    for: '5m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'A gateway of olap-warden cannot read the keys of the OIDC issuer',
      description:
        'Tokens with known keys are accepted for the time of `oidc-keys-max-stale`. Tokens with new keys get 503, and a key that the issuer has withdrawn is accepted meanwhile. Check the identity provider and the way to it.',
      runbook_url: operationsRunbook('the-keys-of-the-oidc-issuer-are-stale'),
    },
  },
  {
    alert: 'OlapWardenMetricsAbsent',
    // Without metrics no other alert fires.
    expr: 'absent(olap_warden_info)',
    for: '15m',
    labels: { severity: 'warning', category: 'operations' },
    annotations: {
      summary: 'Prometheus has no metrics of this release of olap-warden',
      description:
        'No other alert of the release can fire. Check whether its pods run, whether Prometheus reads their metrics, and whether the metrics have the labels that the alerts select (`metrics.alerts.selector` of the chart).',
      runbook_url: operationsRunbook('metrics-are-absent'),
    },
  },
];

/** Selects every namespace, also an absent one. The chart replaces it by the labels of the release. */
const ALL_NAMESPACES = 'namespace=~".*"';
const METRICS = /\b((?:olap_warden|olapwarden|leader_election|nodejs)_\w+)(?:\{([^}]*)\})?/g;

/** The expression with a matcher for the release in each selector. */
function scoped(expr: string): string {
  return expr.replaceAll(METRICS, (_, metric: string, matchers = '') => {
    return `${metric}{${matchers === '' ? '' : `${matchers},`}${ALL_NAMESPACES}}`;
  });
}

const GROUPS = [
  { name: 'olap-warden-causes', rules: causeAlerts },
  { name: 'olap-warden-health', rules: checkAlerts },
  { name: 'olap-warden-task', rules: [...taskAlerts, ...notEvaluatedAlerts] },
  { name: 'olap-warden-access', rules: accessAlerts },
  { name: 'olap-warden-saturation', rules: SATURATION_ALERTS },
  { name: 'olap-warden-operations', rules: operationAlerts },
];

/** The names of all alerts, sorted. */
export function alertNames(): readonly string[] {
  return Array.from(new Set(GROUPS.flatMap(({ rules }) => rules.map(({ alert }) => alert)))).sort();
}

/** The alerts as a file of Prometheus rules, from which the chart renders a PrometheusRule. */
export function generateAlerts(): GeneratedFiles {
  const groups = GROUPS.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({ ...rule, expr: scoped(rule.expr) })),
  }));
  return new Map([['charts/olap-warden/files/alerts.yaml', HEADER + stringify({ groups }, { lineWidth: 0 })]]);
}
