import { createHash } from 'node:crypto';
import type { Cause } from '../../resources/health-cause.ts';
import type { CheckStatus, LastEvaluated, Severity } from '../../resources/health-finding.ts';
import type { ClusterHealthReportStatus } from '../../resources/health-status.ts';
import {
  alertName,
  CAUSE_TEXTS,
  causeAlertName,
  causeRunbook,
  CRITICAL_NOT_EVALUATED,
  NOT_EVALUATED,
  NOT_EVALUATED_RUNS,
  RUNBOOKS,
} from './alert-names.ts';
import { findCheck } from '../catalogue.ts';
import { isExplained, isMutedCause } from '../report/causes.ts';
import { isMuted } from '../report/mutes.ts';
import { evaluatedResult, unevaluatedRuns } from '../report/report.ts';
import { severityOfEvaluated } from '../report/severity.ts';

type Texts = Readonly<Record<string, string>>;

/** A firing alert, before it is sent. */
export interface HealthAlert {
  readonly labels: Texts;
  readonly annotations: Texts;
  /** RFC 3339. */
  readonly startsAt: string;
  /** Hash of the labels. */
  readonly fingerprint: string;
}

/** An alert in the webhook format of Alertmanager, https://prometheus.io/docs/alerting/latest/configuration/#webhook_config */
export interface WebhookAlert extends HealthAlert {
  readonly status: 'firing' | 'resolved';
  readonly endsAt: string;
  readonly generatorURL: string;
}

/** The body of a webhook of Alertmanager, version 4. */
export interface WebhookPayload {
  readonly version: '4';
  readonly groupKey: string;
  readonly truncatedAlerts: number;
  readonly status: 'firing' | 'resolved';
  readonly receiver: string;
  readonly groupLabels: Texts;
  readonly commonLabels: Texts;
  readonly commonAnnotations: Texts;
  readonly externalURL: string;
  readonly alerts: readonly WebhookAlert[];
}

/** The zero time of Go, which Alertmanager sends for alerts that fire. */
const NOT_ENDED = '0001-01-01T00:00:00Z';
/** A fault must last this long, as in the alerts for Prometheus: a repetition confirms a critical one, a second run the others. */
const FOR_MS: Readonly<Record<'critical' | 'other', number>> = { critical: 60_000, other: 25 * 60_000 };
/** A time that is later than this is from before the clock was set back, and not from a leader whose clock is a little ahead. */
const SET_BACK_MS = 300_000;

/** Where the alerts come from. */
export interface AlertSource {
  /** Name of the report. */
  readonly report: string;
  /** Name of the cluster in resource names. */
  readonly cluster: string;
}

/**
 * The alerts that fire for a report, and when the next one would.
 * @param now milliseconds since the epoch
 * @returns `nextAt` in milliseconds since the epoch; Infinity without pending alerts
 */
export function firingAlerts(
  status: ClusterHealthReportStatus | undefined,
  source: AlertSource,
  now: number,
): { alerts: HealthAlert[]; nextAt: number } {
  const alerts: HealthAlert[] = [];
  let nextAt = Number.POSITIVE_INFINITY;
  const add = (severity: Severity, written: string | undefined, alert: (since: number) => HealthAlert): void => {
    const forMs = severity === 'critical' ? FOR_MS.critical : FOR_MS.other;
    const time = Date.parse(written ?? '') || now;
    // Written before the clock was set back: the alert must not end for as long.
    const since = time > now + SET_BACK_MS ? now - forMs : time;
    const at = since + forMs;
    if (at <= now) alerts.push(alert(since));
    else nextAt = Math.min(nextAt, at);
  };
  for (const cause of status?.causes ?? []) {
    if (!isMutedCause(cause)) add(cause.severity, cause.since, (since) => causeAlert(cause, source, since));
  }
  for (const check of status?.checks ?? []) {
    const evaluated = evaluatedResult(check, undefined);
    if (evaluated?.status !== 'FAIL' || isMuted(evaluated) || isExplained(evaluated)) continue;
    const severity = severityOfEvaluated(check.name, evaluated);
    add(severity, evaluated.since, (since) => checkAlert(check, evaluated, source, since));
  }
  return { alerts: [...alerts, ...notEvaluatedAlerts(status, source)], nextAt };
}

/** One alert for a cause, instead of those of the checks that fail by it. */
function causeAlert(cause: Cause, source: AlertSource, since: number): HealthAlert {
  const { kind, entityType, entity, severity, message, checks } = cause;
  const { title, remedy } = CAUSE_TEXTS[kind];
  return alertOf(
    { alertname: causeAlertName(kind), kind, entity_type: entityType, entity, severity, category: 'cause', ...source },
    {
      summary: `${title}: ${entityType} ${entity}`,
      description: `${message}. Found by: ${checks.join(', ')}. ${remedy}`,
      runbook_url: causeRunbook(kind),
    },
    since,
  );
}

function checkAlert(check: CheckStatus, evaluated: LastEvaluated, source: AlertSource, since: number): HealthAlert {
  const { findingCount, entities = [] } = evaluated;
  const { title = check.name, category = 'health', description = '', remediation = '' } = findCheck(check.name) ?? {};
  const named = entities.map(({ entity }) => entity).join(', ');
  const found = named === '' ? '' : `First found: ${named}. `;
  return alertOf(
    {
      alertname: alertName(check.name),
      check: check.name,
      severity: severityOfEvaluated(check.name, evaluated),
      category,
      ...source,
    },
    {
      summary: `${title}: the health check ${check.name} fails`,
      description: `Findings: ${findingCount}. ${found}${description} ${remediation}`,
      runbook_url: `${RUNBOOKS}/${check.name}.md`,
    },
    since,
  );
}

function notEvaluatedAlerts(status: ClusterHealthReportStatus | undefined, source: AlertSource): HealthAlert[] {
  const blind = (status?.checks ?? []).filter((check) => unevaluatedRuns(check) >= NOT_EVALUATED_RUNS);
  return [true, false].flatMap((critical) => {
    const checks = blind.filter(({ name }) => (findCheck(name)?.severity === 'critical') === critical);
    if (checks.length === 0) return [];
    const since = Math.min(...checks.map((check) => Date.parse(check.since ?? '') || Number.POSITIVE_INFINITY));
    return alertOf(
      {
        alertname: critical ? CRITICAL_NOT_EVALUATED : NOT_EVALUATED,
        severity: critical ? 'critical' : 'warning',
        category: 'task',
        ...source,
      },
      {
        summary: 'Health checks could not be evaluated for three runs',
        description: `${checks.map(({ name }) => name).join(', ')}: data that the checks need could not be read from the cluster.${firstReason(checks)}`,
        runbook_url: `${RUNBOOKS}/README.md#checks-could-not-be-evaluated`,
      },
      Number.isFinite(since) ? since : Date.parse(status?.lastRunTime ?? '') || 0,
    );
  });
}

/** What could not be read first, and why: it names the endpoint and its error. */
function firstReason(checks: readonly CheckStatus[]): string {
  const finding = checks.flatMap(({ findings = [] }) => findings).find(({ couldNotRead }) => couldNotRead === true);
  return finding === undefined ? '' : ` First: ${finding.entity}: ${finding.message}`;
}

function alertOf(labels: Texts, annotations: Texts, startsAt: number): HealthAlert {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const fingerprint = createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
  return { labels, annotations, startsAt: new Date(startsAt).toISOString(), fingerprint };
}

/**
 * The notification of one report: its firing alerts, and those that ended since the last delivered one.
 * @param endedAt milliseconds since the epoch
 */
export function webhookPayload(
  source: AlertSource,
  { firing, resolved, endedAt }: { firing: readonly HealthAlert[]; resolved: readonly HealthAlert[]; endedAt: number },
): WebhookPayload {
  const ended = new Date(endedAt).toISOString();
  const alerts = [
    ...firing.map((alert): WebhookAlert => shown(alert, 'firing', NOT_ENDED)),
    ...resolved.map((alert): WebhookAlert => shown(alert, 'resolved', ended)),
  ];
  const groupLabels = { ...source };
  return {
    version: '4',
    groupKey: `{}:{cluster=${JSON.stringify(source.cluster)}, report=${JSON.stringify(source.report)}}`,
    truncatedAlerts: 0,
    status: firing.length > 0 ? 'firing' : 'resolved',
    receiver: 'olap-warden',
    groupLabels,
    commonLabels: common(alerts.map(({ labels }) => labels)),
    commonAnnotations: common(alerts.map(({ annotations }) => annotations)),
    externalURL: '',
    alerts,
  };
}

function shown(alert: HealthAlert, status: WebhookAlert['status'], endsAt: string): WebhookAlert {
  return { status, ...alert, endsAt, generatorURL: '' };
}

/** The entries that all have. */
function common(texts: readonly Texts[]): Texts {
  const [first = {}, ...others] = texts;
  return Object.fromEntries(
    Object.entries(first).filter(([key, value]) => others.every((text) => text[key] === value)),
  );
}
