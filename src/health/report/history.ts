import type { CheckStatus } from '../../resources/health-finding.ts';
import {
  MAX_TRANSITIONS,
  type ClusterHealthReportStatus,
  type LastComplete,
  type Transition,
} from '../../resources/health-status.ts';

/** State of a check after a run. */
export type CheckState = Transition['to'];

/** A check whose state changed between two reports. */
export interface StatusChange {
  readonly name: string;
  readonly from: CheckState;
  readonly state: CheckState;
  readonly message: string;
  readonly findingCount: number;
}

/** Checks whose state differs from the previous report. A check without a previous state counts as passed. */
export function changedChecks(
  previous: ClusterHealthReportStatus | undefined,
  current: Pick<ClusterHealthReportStatus, 'checks'>,
): StatusChange[] {
  const before = new Map((previous?.checks ?? []).map((check) => [check.name, stateOf(check)]));
  return (current.checks ?? [])
    .map((check) => ({
      name: check.name,
      from: before.get(check.name) ?? 'PASS',
      state: stateOf(check),
      message: check.message,
      findingCount: check.findingCount,
    }))
    .filter(({ from, state }) => state !== from);
}

function stateOf({ status, couldNotEvaluate }: CheckStatus): CheckState {
  return couldNotEvaluate === true ? 'NOT_EVALUATED' : status;
}

/** The history after a run, newest first. */
export function historyAfter(
  previous: ClusterHealthReportStatus | undefined,
  checks: readonly CheckStatus[],
  run: { readonly startedAt: Date; readonly id: string | undefined },
): Transition[] {
  const time = run.startedAt.toISOString();
  const added = changedChecks(previous, { checks: [...checks] }).map(
    ({ name, from, state, findingCount }): Transition => {
      const transition: Transition = { check: name, from, to: state, time, findingCount };
      if (run.id !== undefined) transition.run = run.id.slice(0, 128);
      return transition;
    },
  );
  return [...added, ...(previous?.history ?? [])].slice(0, MAX_TRANSITIONS);
}

/**
 * Whether a report could be evaluated: some check was, and none lacks a result that an earlier run had. A check that no run could
 * evaluate, such as one that the version of the cluster does not support, does not count.
 */
export function isComplete(checks: readonly CheckStatus[]): boolean {
  const missing = checks.filter(({ couldNotEvaluate }) => couldNotEvaluate === true);
  return missing.length < checks.length && missing.every(({ lastEvaluated }) => lastEvaluated === undefined);
}

/** The last complete report, beside a new one that is not complete. @returns undefined if the new one is, or if there was none */
export function lastCompleteAfter(
  previous: ClusterHealthReportStatus | undefined,
  checks: readonly CheckStatus[],
): LastComplete | undefined {
  if (isComplete(checks) || previous === undefined) return undefined;
  if (previous.lastRunTime === undefined || !isComplete(previous.checks ?? [])) return previous.lastComplete;
  const { lastRunTime: time, pass = 0, fail = 0, failMuted, failBySeverity } = previous;
  return {
    time,
    pass,
    fail,
    ...(failMuted === undefined ? {} : { failMuted }),
    ...(failBySeverity === undefined ? {} : { failBySeverity }),
    checks: (previous.checks ?? []).map(shortCheck),
  };
}

function shortCheck(check: CheckStatus): LastComplete['checks'][number] {
  const { name, status, severity, findingCount, mutedCount } = check;
  return {
    name,
    status,
    ...(severity === undefined ? {} : { severity }),
    findingCount,
    ...(mutedCount === undefined ? {} : { mutedCount }),
  };
}

/** Start of the last complete run, up to a status; undefined before the first one. */
export function lastCompleteTime(status: ClusterHealthReportStatus): string | undefined {
  return isComplete(status.checks ?? []) ? status.lastRunTime : status.lastComplete?.time;
}
