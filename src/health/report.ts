import type {
  CheckStatus,
  ClusterHealthReportStatus,
  Finding,
  RunningRun,
} from '../resources/cluster-health-report.ts';
import type { Condition } from '../resources/meta.ts';
import type { CheckResult } from './decisions.ts';
import type { RunResult } from './run.ts';

/** A Kubernetes object may have about 1.5 MiB in all; the report stays far below, whatever the cluster. */
export const MAX_STATUS_BYTES = 512 * 1024;

export interface ReportInput {
  readonly result: RunResult;
  readonly previous: ClusterHealthReportStatus | undefined;
  readonly generation: number | undefined;
  /** The annotation that asked for the run (or was there when it began). */
  readonly runAt: string | undefined;
  readonly maxFindings: number;
  /** What is wrong with the settings. */
  readonly problems: readonly string[];
  /** When the status is written. */
  readonly now: Date;
}

/** The status of the report after a run: complete, never half. */
export function buildStatus(input: ReportInput): ClusterHealthReportStatus {
  const { result, previous, generation, runAt } = input;
  const known = new Map((previous?.checks ?? []).map((check) => [check.name, check]));
  const failed = result.results.filter(({ outcome }) => outcome.status === 'FAIL').length;
  for (let limit = input.maxFindings; ; limit = Math.floor(limit / 2)) {
    const status: ClusterHealthReportStatus = {
      ...(previous?.srn === undefined ? {} : { srn: previous.srn }),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      conditions: conditionsAfter(input, failed),
      lastRunTime: result.startedAt.toISOString(),
      durationMs: Math.round(result.durationMs),
      pass: result.results.length - failed,
      fail: failed,
      ...(runAt === undefined ? {} : { observedRunAt: runAt.slice(0, 128) }),
      checks: result.results.map((check) => checkStatus(check, known.get(check.name), result.startedAt, limit)),
    };
    if (limit === 0 || Buffer.byteLength(JSON.stringify(status)) <= MAX_STATUS_BYTES) return status;
  }
}

function checkStatus(result: CheckResult, before: CheckStatus | undefined, at: Date, limit: number): CheckStatus {
  const { outcome } = result;
  const since = before?.status === outcome.status ? before.since : undefined;
  const findings = outcome.findings.slice(0, limit).map(cutFinding);
  return {
    name: result.name,
    status: outcome.status,
    ...(outcome.couldNotEvaluate ? { couldNotEvaluate: true } : {}),
    since: since ?? at.toISOString(),
    message: cut(outcome.message, 1024),
    findingCount: outcome.findingCount,
    ...(findings.length === 0 ? {} : { findings }),
    durationMs: Math.round(result.durationMs),
  };
}

/** Lengths as the resource's schema allows them. */
function cutFinding(finding: Finding): Finding {
  return {
    entityType: cut(finding.entityType, 32),
    entity: cut(finding.entity, 512),
    message: cut(finding.message, 1024),
    ...(finding.observed === undefined ? {} : { observed: cut(finding.observed, 256) }),
    ...(finding.threshold === undefined ? {} : { threshold: cut(finding.threshold, 256) }),
  };
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

function conditionsAfter(input: ReportInput, failed: number): Condition[] {
  const { result, problems } = input;
  const set = conditionSetter(input.previous?.conditions, input.generation, input.now);
  const conditions = [
    failed === 0
      ? set('Healthy', 'True', 'AllChecksPassed', `all ${result.results.length} checks passed`)
      : set('Healthy', 'False', 'ChecksFailed', `${failed} of ${result.results.length} checks failed`),
    result.unreachable === undefined
      ? set('Ready', 'True', 'Reported', 'the latest run is reported here')
      : set('Ready', 'False', 'EngineUnreachable', cut(`the cluster could not be read: ${result.unreachable}`, 1024)),
  ];
  if (problems.length > 0) conditions.push(set('Stalled', 'True', 'InvalidSettings', stalledMessage(problems)));
  return conditions;
}

function stalledMessage(problems: readonly string[]): string {
  return cut(`${problems.join('; ')}; the defaults are used instead`, 4096);
}

/** Makes conditions that keep the time of their last transition while their status stays. */
export function conditionSetter(
  previous: readonly Condition[] | undefined,
  generation: number | undefined,
  now: Date,
): (type: string, status: Condition['status'], reason: string, message: string) => Condition {
  return (type, status, reason, message) => {
    const before = previous?.find((condition) => condition.type === type);
    return {
      type,
      status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : now.toISOString(),
      reason,
      message,
    };
  };
}

const RUNNING = 'Running';

/** The status while a run is under way: the latest report stays; a condition and a part of the status tell the run and how far it is. */
export function withRunning(
  status: ClusterHealthReportStatus | undefined,
  running: RunningRun,
  generation: number | undefined,
  now: Date,
): ClusterHealthReportStatus {
  const set = conditionSetter(status?.conditions, generation, now);
  const others = (status?.conditions ?? []).filter((condition) => condition.type !== 'Reconciling');
  const { id, done, total, checks, checksTotal } = running;
  const reads = done === undefined || total === undefined ? '' : `: ${done} of ${total} reads done`;
  const decided = reads === '' ? '' : `, ${checks.length} of ${checksTotal} checks decided`;
  const message = `run \`${id}\` is under way${reads}${decided}`;
  return { ...status, running, conditions: [...others, set('Reconciling', 'True', RUNNING, message)] };
}

/** The status without the mark of a run, for a run that ended without a report. */
export function withoutRunning(status: ClusterHealthReportStatus | undefined): ClusterHealthReportStatus {
  const { running: _, ...report } = status ?? {};
  return { ...report, conditions: (status?.conditions ?? []).filter((condition) => condition.type !== 'Reconciling') };
}

/** The id of the run that is under way; undefined where none is. */
export function runningId(status: ClusterHealthReportStatus | undefined): string | undefined {
  return status?.running?.id;
}

export interface Turn {
  readonly name: string;
  readonly status: 'PASS' | 'FAIL';
  readonly message: string;
}

/** Checks whose status differs from the previous report; a check that was never evaluated turns only by failing. */
export function turnedChecks(
  previous: ClusterHealthReportStatus | undefined,
  current: ClusterHealthReportStatus,
): Turn[] {
  const before = new Map((previous?.checks ?? []).map((check) => [check.name, check.status]));
  return (current.checks ?? [])
    .filter((check) => check.status !== (before.get(check.name) ?? 'PASS'))
    .map(({ name, status, message }) => ({ name, status, message }));
}
