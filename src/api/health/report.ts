import { CATALOGUE, originOf } from '../../health/catalogue.ts';
import type { CheckStatus, Finding } from '../../resources/health-finding.ts';
import type { Cause } from '../../resources/health-cause.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReportStatus } from '../../resources/health-status.ts';
import { isMuted } from '../../health/report/mutes.ts';
import { countBySeverity, isAtLeast } from '../../health/report/severity.ts';
import { asksForEntity, indexOf, isSameTable, withAllFindings } from './indexed-findings.ts';
import type { ClusterHealth, HealthCheckEntry, HealthQuery } from './schemas.ts';

/** Entity types that the `instance` filter matches. */
const INSTANCE_TYPES = new Set(['server', 'broker', 'controller', 'minion', 'instance']);
const EMPTY: ClusterHealth = {
  runTimestamp: null,
  durationMs: null,
  status: null,
  summary: { pass: 0, fail: 0, failMuted: 0, failBySeverity: countBySeverity([]) },
  causes: [],
  checks: [],
  healthCheckResult: {},
  running: null,
  lastComplete: null,
};

/**
 * The API response: the stored status, with titles and remediation from the catalogue.
 * @param now milliseconds since the epoch @param mutes of the report
 */
export function clusterHealth(
  status: ClusterHealthReportStatus | undefined,
  query: HealthQuery,
  now: number,
  mutes?: readonly Mute[],
): ClusterHealth {
  const running = runningPart(status);
  if (status?.lastRunTime === undefined || status.checks === undefined) return { ...EMPTY, running };
  const checks = CATALOGUE.flatMap(({ name, title, category, severity, remediation }): HealthCheckEntry[] => {
    const check = status.checks?.find((candidate) => candidate.name === name);
    return check === undefined
      ? []
      : [{ severity, ...entry(check), origin: originOf(name), title, category, remediation }];
  });
  const index = asksForEntity(query) ? indexOf(status) : undefined;
  const selected = checks
    .map((check) => withAllFindings(check, index, { mutes, now }))
    .filter((check) => matches(check, query))
    .map((check) => filterFindings(check, query));
  const failing = checks.filter((check) => check.status === 'FAIL');
  const fail = failing.length;
  const counted = failing.filter(({ muted }) => muted !== true);
  return {
    runTimestamp: Date.parse(status.lastRunTime),
    durationMs: status.durationMs ?? null,
    status: fail === 0 ? 'PASS' : 'FAIL',
    summary: {
      pass: checks.length - fail,
      fail,
      failMuted: fail - counted.length,
      failBySeverity: countBySeverity(counted.map(({ severity }) => severity)),
    },
    causes: causesOf(status, selected, query),
    checks: selected,
    healthCheckResult: byEntity(selected),
    running,
    lastComplete: lastCompletePart(status, now),
  };
}

/** All causes; with a filter those behind the selected findings. */
function causesOf(
  { causes = [] }: ClusterHealthReportStatus,
  selected: readonly HealthCheckEntry[],
  query: HealthQuery,
): Cause[] {
  if (Object.values(query).every((value) => value === undefined)) return [...causes];
  const ids = new Set(selected.flatMap(({ findings }) => findings.map(({ cause }) => cause)));
  return causes.filter(({ id }) => ids.has(id));
}

function lastCompletePart({ lastComplete }: ClusterHealthReportStatus, now: number): ClusterHealth['lastComplete'] {
  if (lastComplete === undefined) return null;
  const { time, ...report } = lastComplete;
  const runTimestamp = Date.parse(time);
  return { runTimestamp, ageMs: Math.max(0, now - runTimestamp), ...report };
}

function runningPart(status: ClusterHealthReportStatus | undefined): ClusterHealth['running'] {
  if (status?.running === undefined) return null;
  const { id, ...progress } = status.running;
  return { taskId: id, step: progress.done === undefined ? 'begins' : 'reads the cluster', ...progress };
}

type DescribedField = 'origin' | 'title' | 'category' | 'remediation' | 'severity';

function entry(check: CheckStatus): Omit<HealthCheckEntry, DescribedField> & Pick<CheckStatus, 'severity'> {
  return {
    name: check.name,
    status: check.status,
    ...(check.severity === undefined ? {} : { severity: check.severity }),
    ...(check.couldNotEvaluate === undefined ? {} : { couldNotEvaluate: check.couldNotEvaluate }),
    ...(check.unevaluatedRuns === undefined ? {} : { unevaluatedRuns: check.unevaluatedRuns }),
    ...(check.lastEvaluated === undefined ? {} : { lastEvaluated: check.lastEvaluated }),
    ...(check.since === undefined ? {} : { since: check.since }),
    message: check.message,
    findings: [...(check.findings ?? [])],
    findingCount: check.findingCount,
    ...(check.unreadCount === undefined ? {} : { unreadCount: check.unreadCount }),
    ...(check.mutedCount === undefined ? {} : { mutedCount: check.mutedCount }),
    ...(check.causedCount === undefined ? {} : { causedCount: check.causedCount }),
    ...(check.mutes === undefined ? {} : { mutes: check.mutes }),
    ...(isMuted(check) ? { muted: true } : {}),
    durationMs: check.durationMs ?? 0,
  };
}

function matches(check: HealthCheckEntry, query: HealthQuery): boolean {
  if (query.check !== undefined && query.check.toUpperCase() !== check.name) return false;
  if (query.severity !== undefined && !isAtLeast(check.severity, query.severity)) return false;
  if (query.status !== undefined && query.status !== check.status) return false;
  if (!asksForEntity(query)) return true;
  return check.findings.some((finding) => concerns(finding, query));
}

function filterFindings(check: HealthCheckEntry, query: HealthQuery): HealthCheckEntry {
  if (!asksForEntity(query)) return check;
  return { ...check, findings: check.findings.filter((finding) => concerns(finding, query)) };
}

function concerns({ entityType, entity }: Finding, { table, instance }: HealthQuery): boolean {
  if (table !== undefined && entityType === 'table' && isSameTable(entity, table)) return true;
  return instance !== undefined && INSTANCE_TYPES.has(entityType) && entity === instance;
}

function byEntity(checks: readonly HealthCheckEntry[]): ClusterHealth['healthCheckResult'] {
  const result: Record<string, Record<string, Record<string, { pass: boolean }>>> = {};
  const put = (entityType: string, entity: string, check: string, pass: boolean): void => {
    ((result[entityType] ??= {})[entity] ??= {})[check] = { pass };
  };
  for (const check of checks.filter(({ origin }) => origin === 'specification')) {
    if (check.findings.length === 0) put('cluster', 'cluster', check.name, check.status === 'PASS');
    for (const { entityType, entity } of check.findings) put(entityType, entity, check.name, false);
  }
  return result;
}
