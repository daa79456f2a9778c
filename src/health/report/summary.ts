import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../../resources/health-cause.ts';
import type { CheckStatus } from '../../resources/health-finding.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReportStatus, FailBySeverity } from '../../resources/health-status.ts';
import { updateConditions, type NewCondition } from '../../resources/conditions.ts';
import { causedCount, groupCauses } from './causes.ts';
import { decodeIndex, type FindingIndex } from './finding-index.ts';
import { activeMutes, isMuted, muteFindings, remuteCheck, type ActiveMute } from './mutes.ts';
import { countBySeverity, describeSeverities } from './severity.ts';

/** When a status is written, and for which settings. */
interface WrittenFindings {
  /** `metadata.generation` of the settings; undefined if the store counts none. */
  readonly generation: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const RUN_CONDITIONS: ReadonlySet<string> = new Set(['Healthy']);

/**
 * Applies the current mutes to a stored status.
 * @param now milliseconds since the epoch
 * @returns the same object if they have no other effect than before
 */
export function withMutes(
  status: ClusterHealthReportStatus,
  mutes: readonly Mute[] | undefined,
  { generation, now }: WrittenFindings,
): ClusterHealthReportStatus {
  if (status.checks === undefined) return status;
  const active = activeMutes(mutes, now);
  const index = status.causes === undefined ? undefined : decodeIndex(status.findingIndex ?? '');
  const { checks, causes } = remuted(status, active, index);
  const unreachable = status.conditions?.find(({ reason }) => reason === 'EngineUnreachable')?.message;
  const muted = withSummary({ ...status, checks, ...(causes === undefined ? {} : { causes }) }, active, {
    generation,
    now,
    unreachable,
  });
  return isDeepStrictEqual(muted.checks, status.checks) &&
    isDeepStrictEqual(muted.mutes, status.mutes) &&
    isDeepStrictEqual(muted.causes, status.causes)
    ? status
    : muted;
}

/** The checks and causes with the current mutes. */
function remuted(
  { checks = [], causes }: ClusterHealthReportStatus,
  active: readonly ActiveMute[],
  index: FindingIndex | undefined,
): { readonly checks: CheckStatus[]; readonly causes?: Cause[] } {
  if (causes === undefined || index === undefined) {
    return { checks: checks.map((check) => remuteCheck(active, check)), ...(causes === undefined ? {} : { causes }) };
  }
  const all = checks.map(({ name, couldNotEvaluate = false }) => {
    const findings = index.findings.get(name) ?? [];
    return { name, ...muteFindings(active, name, { findings, findingCount: findings.length, couldNotEvaluate }) };
  });
  const regrouped = groupCauses(causes, all, { previous: causes, at: new Date(0) });
  const known = new Set(regrouped.map(({ id }) => id));
  return {
    checks: checks.map((check, i) => {
      const { causedCount: _, ...rest } = remuteCheck(active, check);
      return { ...rest, ...causedCount(all[i]?.findings ?? []) };
    }),
    // Those of results that are carried over have no finding in the index.
    causes: [...regrouped, ...causes.filter(({ id }) => !known.has(id))],
  };
}

interface SummaryInput extends WrittenFindings {
  /** Message of the condition while the cluster cannot be read. */
  readonly unreachable: string | undefined;
}

/** Adds what follows from the checks: the counts, the mutes in effect, and the condition `Healthy`. */
export function withSummary(
  status: ClusterHealthReportStatus,
  active: readonly ActiveMute[],
  { unreachable, generation, now }: SummaryInput,
): ClusterHealthReportStatus {
  const { failMuted: _, mutes: __, checks = [], ...rest } = status;
  const failing = checks.filter((check) => check.status === 'FAIL');
  const counted = failing.filter((check) => !isMuted(check));
  const failMuted = failing.length - counted.length;
  const failBySeverity = countBySeverity(counted.map(({ severity = 'warning' }) => severity));
  const summary = { total: checks.length, fail: failing.length, failMuted, failBySeverity };
  const mutes = active.map(({ id }) => ({ id, findingCount: findingsOf(id, checks) }));
  return {
    ...rest,
    conditions: updateConditions(status.conditions, {
      conditions: [healthyCondition(summary, unreachable)],
      owned: RUN_CONDITIONS,
      generation,
      now,
    }),
    pass: checks.length - failing.length,
    fail: failing.length,
    ...(failMuted === 0 ? {} : { failMuted }),
    failBySeverity,
    checks,
    ...(mutes.length === 0 ? {} : { mutes }),
  };
}

/** Number of findings of a mute, in the latest results that were evaluated. */
function findingsOf(id: string, checks: readonly CheckStatus[]): number {
  const counts = checks.map(({ mutes, lastEvaluated }) => {
    const count = (mutes ?? lastEvaluated?.mutes ?? []).find((mute) => mute.id === id);
    return count?.findingCount ?? 0;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Summary {
  readonly total: number;
  readonly fail: number;
  readonly failMuted: number;
  readonly failBySeverity: FailBySeverity;
}

/** Whether the cluster is healthy. It does not affect `Ready`: a deployment of the report must not wait for the cluster. */
function healthyCondition(
  { total, fail, failMuted, failBySeverity }: Summary,
  unreachable: string | undefined,
): NewCondition {
  if (unreachable !== undefined) {
    return { type: 'Healthy', status: 'False', reason: 'EngineUnreachable', message: unreachable };
  }
  if (fail === 0) {
    return { type: 'Healthy', status: 'True', reason: 'AllChecksPassed', message: `all ${total} checks passed` };
  }
  const failed = `${fail} of ${total} checks failed`;
  if (fail === failMuted) {
    return { type: 'Healthy', status: 'True', reason: 'FaultsMuted', message: `${failed}: all their faults are muted` };
  }
  const muted = failMuted === 0 ? '' : `; ${failMuted} with only muted faults`;
  return {
    type: 'Healthy',
    status: 'False',
    reason: 'ChecksFailed',
    message: `${failed}: ${describeSeverities(failBySeverity)}${muted}`,
  };
}
