import {
  SEVERITIES,
  type CheckStatus,
  type Finding,
  type LastEvaluated,
  type Severity,
} from '../../resources/health-finding.ts';
import type { FailBySeverity } from '../../resources/health-status.ts';
import { findCheck } from '../catalogue.ts';
import type { CheckOutcome } from '../check.ts';

/** The severity of an outcome: the worst one of its findings; that of the check if it passed or could not be evaluated. */
export function severityOf(
  name: string,
  { findings, couldNotEvaluate }: Pick<CheckOutcome, 'findings' | 'couldNotEvaluate'>,
): Severity {
  const own = ownSeverity(name);
  const faults = couldNotEvaluate ? [] : findings.filter(({ couldNotRead }) => couldNotRead !== true);
  return worstOf(faults, own);
}

/**
 * The severity of a failed check of a report for its alerts: the worst one of the listed faults that are neither muted nor those of a cause, which
 * has an alert of its own. A report lists faults that are not muted first, the worst ones before the others. Without any, for example with `spec.maxFindings: 0`, the severity of the check.
 */
export function severityOfFaults({ name, severity, findings = [] }: CheckStatus): Severity {
  const own = ownSeverity(name);
  const faults = findings.filter(
    ({ couldNotRead, mutedBy, cause }) => couldNotRead !== true && mutedBy === undefined && cause === undefined,
  );
  return faults.length === 0 ? (severity ?? own) : worstOf(faults, own);
}

/** The severity of the latest result that was evaluated. Earlier versions did not store it. */
export function severityOfEvaluated(name: string, { severity }: LastEvaluated): Severity {
  return severity ?? ownSeverity(name);
}

function ownSeverity(name: string): Severity {
  return findCheck(name)?.severity ?? 'warning';
}

function worstOf(findings: readonly Pick<Finding, 'severity'>[], own: Severity): Severity {
  const found = new Set(findings.map(({ severity }) => severity ?? own));
  return SEVERITIES.find((severity) => found.has(severity)) ?? own;
}

/** Whether `severity` is as bad as `limit` or worse. */
export function isAtLeast(severity: Severity, limit: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(limit);
}

/** Counts the severities of failed checks. */
export function countBySeverity(severities: readonly Severity[]): FailBySeverity {
  const count = (of: Severity): number => severities.filter((severity) => severity === of).length;
  return { critical: count('critical'), warning: count('warning'), advice: count('advice') };
}

/** `2 critical, 1 warning`; empty without any. */
export function describeSeverities(counts: FailBySeverity): string {
  return SEVERITIES.filter((severity) => counts[severity] > 0)
    .map((severity) => `${counts[severity]} ${severity}`)
    .join(', ');
}
