import type { CheckStatus, Finding, Severity } from '../resources/health-finding.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';
import { API_VERSION } from '../resources/meta.ts';
import { RUNBOOKS } from './alert-names.ts';
import { findCheck } from './catalogue.ts';
import { isMuted } from './mutes.ts';
import { cut } from './report-findings.ts';

/** Source of all results, by which consumers select them. */
export const OPEN_REPORT_SOURCE = 'olap-warden';

const OUTCOMES = ['pass', 'fail', 'warn', 'error', 'skip'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** The result of one check, as in `results` of a Report of openreports.io/v1alpha1. */
export interface OpenReportResult {
  readonly source: string;
  /** Name of the check. */
  readonly policy: string;
  readonly category?: string;
  readonly result: Outcome;
  readonly severity?: 'critical' | 'medium' | 'low';
  readonly scored: boolean;
  /** Since when the check has its status. */
  readonly timestamp: { readonly seconds: number; readonly nanos: number };
  readonly message: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** The fields of a Report of openreports.io/v1alpha1 beside its metadata. */
export interface OpenReportContent {
  readonly source: string;
  /** The ClusterHealthReport: tables and instances are no objects of Kubernetes. */
  readonly scope: Readonly<Record<'apiVersion' | 'kind' | 'name', string>> & {
    readonly namespace?: string;
    readonly uid?: string;
  };
  readonly summary: Readonly<Record<Outcome, number>>;
  readonly results: readonly OpenReportResult[];
}

const SEVERITIES = { critical: 'critical', warning: 'medium', advice: 'low' } as const satisfies Record<
  Severity,
  OpenReportResult['severity']
>;
/** Findings that the message names. */
const NAMED_FINDINGS = 3;
/** Characters. With 64 checks a Report stays below a quarter of the limit of an object, also in letters of three bytes. */
const MAX_MESSAGE = 1_200;

/**
 * A health report in the format of openreports.io. It changes only with the result of a check, not with each run, so that consumers see no new
 * result where nothing has changed.
 * @returns undefined before the first run
 */
export function openReport({ metadata, status }: ClusterHealthReport): OpenReportContent | undefined {
  if (status?.checks === undefined) return undefined;
  const { name, namespace, uid } = metadata;
  const results = status.checks.map((check) => resultOf(check, status.lastRunTime));
  const counts = OUTCOMES.map((outcome) => [outcome, results.filter(({ result }) => result === outcome).length]);
  return {
    source: OPEN_REPORT_SOURCE,
    scope: {
      apiVersion: API_VERSION,
      kind: 'ClusterHealthReport',
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
    },
    summary: Object.fromEntries(counts) as Record<Outcome, number>,
    results,
  };
}

function resultOf(check: CheckStatus, lastRunTime: string | undefined): OpenReportResult {
  const result = outcomeOf(check);
  const category = findCheck(check.name)?.category;
  const since = Date.parse(check.since ?? lastRunTime ?? '') || 0;
  return {
    source: OPEN_REPORT_SOURCE,
    policy: check.name,
    ...(category === undefined ? {} : { category }),
    result,
    ...(result === 'pass' ? {} : { severity: SEVERITIES[severityOf(check)] }),
    scored: result !== 'warn',
    timestamp: { seconds: Math.floor(since / 1000), nanos: 0 },
    message: cut(
      [check.message, ...(check.findings ?? []).filter(isShown).slice(0, NAMED_FINDINGS).map(line)].join('\n'),
      MAX_MESSAGE,
    ),
    properties: propertiesOf(check),
  };
}

/** Advice is not scored. A check whose faults are all muted counts as left out by its users. */
function outcomeOf(check: CheckStatus): Outcome {
  if (check.status === 'PASS') return 'pass';
  if (check.couldNotEvaluate === true) return 'error';
  if (isMuted(check)) return 'skip';
  return severityOf(check) === 'advice' ? 'warn' : 'fail';
}

function severityOf({ name, severity }: CheckStatus): Severity {
  return severity ?? findCheck(name)?.severity ?? 'warning';
}

function isShown({ mutedBy }: Finding): boolean {
  return mutedBy === undefined;
}

function line({ entityType, entity, message }: Finding): string {
  return `${entityType} ${entity}: ${message}`;
}

function propertiesOf(check: CheckStatus): Record<string, string> {
  const { findingCount, mutedCount, unreadCount, origin, lastEvaluated } = check;
  return {
    ...(findCheck(check.name) === undefined ? {} : { runbook: `${RUNBOOKS}/${check.name}.md` }),
    ...(origin === undefined ? {} : { origin }),
    findings: String(findingCount),
    ...(mutedCount === undefined ? {} : { muted: String(mutedCount) }),
    ...(unreadCount === undefined ? {} : { unread: String(unreadCount) }),
    ...(lastEvaluated === undefined ? {} : { lastEvaluated: lastEvaluated.status }),
  };
}
