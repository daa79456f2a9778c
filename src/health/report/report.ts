import {
  MAX_NAMED_ENTITIES,
  type CheckStatus,
  type Finding,
  type LastEvaluated,
} from '../../resources/health-finding.ts';
import { MAX_CAUSES, type Cause } from '../../resources/health-cause.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReportStatus, RunningRun } from '../../resources/health-status.ts';
import type { Clock } from '../../platform/clock.ts';
import { originOf } from '../catalogue.ts';
import { MAX_FINDINGS } from '../check.ts';
import { DEFAULT_CRITICAL_AFTER_MS } from '../settings.ts';
import type { CheckResult } from '../run/evaluation.ts';
import { causedCount, groupCauses, type CauseFacts, type CausedFindings } from './causes.ts';
import { historyAfter, lastCompleteAfter } from './history.ts';
import { activeMutes, muteFindings, type ActiveMute } from './mutes.ts';
import { decodeIndex, encodeIndex, MAX_INDEXED_TOTAL, type FindingIndex } from './finding-index.ts';
import { carriedFindings, cut, reportedFindings } from './report-findings.ts';
import type { RunResult } from '../run/run.ts';
import { severityOf, severityOfFaults } from './severity.ts';
import { withSummary } from './summary.ts';

/** Findings are dropped until the status fits. Kubernetes limits a whole object to about 1.5 MiB. */
export const MAX_STATUS_BYTES = 512 * 1024;

export interface ReportInput {
  readonly result: RunResult;
  readonly previous: ClusterHealthReportStatus | undefined;
  /** `metadata.generation` of the settings of the run. */
  readonly generation: number | undefined;
  /** Value of the run-at annotation that requested this run. */
  readonly runAt: string | undefined;
  readonly maxFindings: number;
  /** Milliseconds after which lost replicas are critical; one hour by default. */
  readonly criticalAfterMs?: number;
  /** Id of the run, for the history. */
  readonly runId?: string | undefined;
  readonly mutes?: readonly Mute[] | undefined;
  /** True if the run repeated only some checks of the previous status. */
  readonly recheck?: boolean;
  /** Time of the write, milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The status of the report after a run. Replaces the previous status except what the reconciler writes: `observedGeneration` and the
 * conditions about the settings.
 */
export function buildStatus(input: ReportInput): ClusterHealthReportStatus {
  const { result, previous, generation, mutes = [], now } = input;
  const active = activeMutes(mutes, now);
  const unreachable =
    result.unreachable === undefined ? undefined : cut(`the cluster could not be read: ${result.unreachable}`, 1024);
  const index = decodeIndex(previous?.findingIndex ?? '');
  const prepared = checksAfter(input, active, index);
  const findingIndex = indexAfter(result, prepared, index);
  const causes = causesAfter(input, prepared, active);
  for (let limit = input.maxFindings; ; limit = Math.floor(limit / 2)) {
    const checks = prepared.map((check) => withFindings(check, limit));
    const lastComplete = lastCompleteAfter(previous, checks);
    const status: ClusterHealthReportStatus = {
      ...keptOf(previous),
      ...runOf(input),
      checks,
      ...(causes.length === 0 ? {} : { causes }),
      findingIndex,
      ...(lastComplete === undefined ? {} : { lastComplete }),
      history: historyAfter(previous, checks, { startedAt: result.startedAt, id: input.runId }),
    };
    const complete = withSummary(status, active, { generation, now, unreachable });
    if (limit === 0 || Buffer.byteLength(JSON.stringify(complete)) <= MAX_STATUS_BYTES) return complete;
  }
}

/** What a run does not replace. */
function keptOf({ srn, observedGeneration, conditions }: ClusterHealthReportStatus = {}): ClusterHealthReportStatus {
  return {
    ...(srn === undefined ? {} : { srn }),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

/** The times of the latest run of all checks. */
function runOf({ result, previous, runAt, recheck }: ReportInput): ClusterHealthReportStatus {
  const observed = runAt === undefined ? {} : { observedRunAt: runAt.slice(0, 128) };
  if (recheck !== true || previous === undefined) {
    return { lastRunTime: result.startedAt.toISOString(), durationMs: Math.round(result.durationMs), ...observed };
  }
  const { lastRunTime, durationMs } = previous;
  return {
    ...(lastRunTime === undefined ? {} : { lastRunTime }),
    lastRecheckTime: result.startedAt.toISOString(),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...observed,
  };
}

/** The checks of the run. A repetition replaces only the checks that it could evaluate. */
function checksAfter(
  { result, previous, recheck, criticalAfterMs = DEFAULT_CRITICAL_AFTER_MS }: ReportInput,
  active: readonly ActiveMute[],
  index: FindingIndex | undefined,
): PreparedCheck[] {
  const known = new Map((previous?.checks ?? []).map((check) => [check.name, check]));
  const failing = result.results.filter(({ outcome }) => outcome.status === 'FAIL').length;
  // Each check has at least those that a report can list.
  const limit = Math.max(MAX_FINDINGS, Math.floor(MAX_INDEXED_TOTAL / Math.max(1, failing)));
  const prepared = (check: CheckResult) =>
    prepare(check, known.get(check.name), { previous, index, at: result.startedAt, active, limit, criticalAfterMs });
  if (recheck !== true) return result.results.map(prepared);
  const repeated = new Map(
    result.results.filter(({ outcome }) => !outcome.couldNotEvaluate).map((check) => [check.name, check]),
  );
  return (previous?.checks ?? []).map((check) => {
    const result = repeated.get(check.name);
    return result === undefined ? unchanged(check, index) : prepared(result);
  });
}

/** A check of the report, all of its findings, and those of earlier runs. */
interface PreparedCheck {
  readonly status: CheckStatus;
  /** What the report lists the first of. */
  readonly findings: readonly Finding[];
  readonly indexed: readonly Finding[];
  readonly carried: readonly Finding[];
}

/** A check that the run did not repeat. */
function unchanged(status: CheckStatus, index: FindingIndex | undefined): PreparedCheck {
  const { findings = [] } = status;
  const indexed = index?.findings.get(status.name) ?? findings;
  return { status, findings, indexed, carried: index?.carried.get(status.name) ?? [] };
}

/**
 * The causes after a run. A run that could not evaluate a check does not end the causes of what the last evaluation found. A repetition knows only
 * the causes of its checks, and may not have read what they affect.
 */
function causesAfter(
  { result, previous, recheck }: ReportInput,
  prepared: readonly PreparedCheck[],
  active: readonly ActiveMute[],
): Cause[] {
  const before = previous?.causes ?? [];
  const known = new Map<string, CauseFacts>(recheck === true ? before.map((cause) => [cause.id, cause]) : []);
  for (const cause of result.causes ?? []) {
    const { tables, segments, unserved } = known.get(cause.id) ?? cause;
    known.set(cause.id, cause.segments === 0 ? { ...cause, tables, segments, unserved } : cause);
  }
  const checks = prepared.map(({ status, indexed }): CausedFindings => {
    const { name, couldNotEvaluate = false } = status;
    const outcome = { findings: indexed, findingCount: indexed.length, couldNotEvaluate };
    return { name, findings: muteFindings(active, name, outcome).findings };
  });
  const causes = groupCauses([...known.values()], checks, { previous: before, at: result.startedAt });
  const unknown = new Set(
    prepared.filter(({ status }) => (status.lastEvaluated?.causedCount ?? 0) > 0).map(({ status }) => status.name),
  );
  const ids = new Set(causes.map(({ id }) => id));
  const carried = before.filter(({ id, checks: of }) => !ids.has(id) && of.some((name) => unknown.has(name)));
  return [...causes, ...carried].slice(0, MAX_CAUSES);
}

function withFindings({ status, findings: all }: PreparedCheck, limit: number): CheckStatus {
  const { findings: _, durationMs, ...rest } = status;
  const findings = all.slice(0, limit);
  return {
    ...rest,
    ...(findings.length === 0 ? {} : { findings }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}

/** The index of all findings. The names of tables and instances that could not be read are those of the run before. */
function indexAfter(
  { tables, instances }: RunResult,
  prepared: readonly PreparedCheck[],
  before: FindingIndex | undefined,
): string {
  const of = (part: 'indexed' | 'carried') =>
    new Map(prepared.filter((check) => check[part].length > 0).map((check) => [check.status.name, check[part]]));
  return encodeIndex({
    tables: tables ?? before?.tables,
    instances: instances ?? before?.instances,
    findings: of('indexed'),
    carried: of('carried'),
    complete: prepared.every(({ status, indexed }) => indexed.length === status.findingCount),
  });
}

interface CheckStatusInput {
  readonly previous: ClusterHealthReportStatus | undefined;
  readonly index: FindingIndex | undefined;
  readonly at: Date;
  /** Limit of findings in the index. */
  readonly limit: number;
  readonly active: readonly ActiveMute[];
  readonly criticalAfterMs: number;
}

function prepare(
  result: CheckResult,
  before: CheckStatus | undefined,
  { previous, index, at, active, limit, criticalAfterMs }: CheckStatusInput,
): PreparedCheck {
  const { outcome } = result;
  const evaluatedBefore = before === undefined ? undefined : evaluatedResult(before, previous?.lastRunTime);
  // A run that could not evaluate the check does not end what the last evaluation found.
  const kept = outcome.couldNotEvaluate ? before : (evaluatedBefore ?? before);
  const all = [...outcome.findings, ...(outcome.moreFindings ?? [])].slice(0, limit);
  const muted = muteFindings(active, result.name, { ...outcome, findings: all });
  const times = { before, indexBefore: index, timeBefore: previous?.lastRunTime, at, criticalAfterMs };
  const findings = reportedFindings(result.name, muted.findings, times);
  const status: CheckStatus = {
    name: result.name,
    status: outcome.status,
    origin: originOf(result.name),
    severity: severityOf(result.name, { findings, couldNotEvaluate: outcome.couldNotEvaluate }),
    ...(outcome.couldNotEvaluate ? { couldNotEvaluate: true } : {}),
    ...(outcome.couldNotEvaluate ? { unevaluatedRuns: unevaluatedRuns(before) + 1 } : {}),
    ...(outcome.couldNotEvaluate && evaluatedBefore !== undefined ? { lastEvaluated: evaluatedBefore } : {}),
    since: (kept?.status === outcome.status ? kept.since : undefined) ?? at.toISOString(),
    message: cut(outcome.message, 1024),
    findingCount: outcome.findingCount,
    ...muted.counts,
    ...causedCount(findings),
    durationMs: Math.round(result.durationMs),
  };
  return { status, findings, indexed: findings, carried: carriedFindings(result.name, outcome, index) };
}

/** Runs in a row that could not evaluate the check, up to a status. */
export function unevaluatedRuns({ couldNotEvaluate, unevaluatedRuns: runs }: Partial<CheckStatus> = {}): number {
  return couldNotEvaluate === true ? (runs ?? 1) : 0;
}

/** Runs in a row that could evaluate none of their checks, up to a status. */
export function unreadRuns({ checks = [] }: ClusterHealthReportStatus): number {
  return checks.length === 0 ? 0 : Math.min(...checks.map(unevaluatedRuns));
}

/**
 * The latest result of a check that was evaluated: the check's own, or the one that it carries over.
 * @param time start of the run with this status
 * @returns undefined if no run could evaluate the check
 */
export function evaluatedResult(check: CheckStatus, time: string | undefined): LastEvaluated | undefined {
  if (check.couldNotEvaluate === true) return check.lastEvaluated;
  const entities = namedEntities(check.findings ?? []);
  return {
    status: check.status,
    ...(time === undefined ? {} : { time }),
    ...(check.since === undefined ? {} : { since: check.since }),
    ...(check.status === 'PASS' ? {} : { severity: severityOfFaults(check) }),
    findingCount: check.findingCount,
    ...(check.unreadCount === undefined ? {} : { unreadCount: check.unreadCount }),
    ...(check.mutedCount === undefined ? {} : { mutedCount: check.mutedCount }),
    ...(check.causedCount === undefined ? {} : { causedCount: check.causedCount }),
    ...(check.mutes === undefined ? {} : { mutes: check.mutes }),
    ...(entities.length === 0 ? {} : { entities }),
  };
}

/** The first entities with a fault that is not muted, each once. */
function namedEntities(findings: readonly Finding[]): NonNullable<LastEvaluated['entities']> {
  const named = new Map<string, { entityType: string; entity: string }>();
  for (const { entityType, entity, couldNotRead, mutedBy } of findings) {
    if (named.size === MAX_NAMED_ENTITIES) break;
    if (couldNotRead !== true && mutedBy === undefined) named.set(`${entityType} ${entity}`, { entityType, entity });
  }
  return [...named.values()];
}

/** The status during a run: the latest report and the progress of the run. */
export function withRunning(
  status: ClusterHealthReportStatus | undefined,
  running: RunningRun,
): ClusterHealthReportStatus {
  return { ...status, running };
}

/** The status without a running run, after a run that ended without a report. */
export function withoutRunning(status: ClusterHealthReportStatus | undefined): ClusterHealthReportStatus {
  const { running: _, ...report } = status ?? {};
  return report;
}

/** A new id of a run. @param origin `run` for a periodic run, `api` for one that the REST API requests */
export function newRunId(origin: 'run' | 'api', clock: Pick<Clock, 'random'>): string {
  const number = Math.floor(clock.random() * 2 ** 32);
  return `${origin}-${number.toString(16).padStart(8, '0')}`;
}

/** The id of the current run, if any. */
export function runningId(status: ClusterHealthReportStatus | undefined): string | undefined {
  return status?.running?.id;
}
