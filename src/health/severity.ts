import { SEVERITIES, type FailBySeverity, type Severity } from '../resources/cluster-health-report.ts';
import { findCheck } from './catalogue.ts';
import type { CheckOutcome } from './check.ts';

/** The severity of an outcome: the worst one of its findings; that of the check if it passed or could not be evaluated. */
export function severityOf(name: string, { findings, couldNotEvaluate }: CheckOutcome): Severity {
  const own = findCheck(name)?.severity ?? 'warning';
  const faults = couldNotEvaluate ? [] : findings.filter(({ couldNotRead }) => couldNotRead !== true);
  if (faults.length === 0) return own;
  const found = new Set(faults.map(({ severity }) => severity ?? own));
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
