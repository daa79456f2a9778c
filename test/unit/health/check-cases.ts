import { findCheck } from '../../../src/health/catalogue.ts';
import type { CheckOutcome, Thresholds } from '../../../src/health/check.ts';
import { evaluateCheck } from '../../../src/health/evaluation.ts';
import type { ClusterSnapshot } from '../../../src/health/snapshot.ts';

/** One row of a table test: a cluster, and the outcome of the check on it. */
export interface Case {
  readonly name: string;
  readonly snapshot: ClusterSnapshot;
  readonly thresholds?: Thresholds;
  readonly prebuiltSnapshotProperty?: string;
  /** Entities of the findings; none means PASS. */
  readonly entities?: readonly string[];
  /** Severities of the findings; undefined for that of the check. */
  readonly severities?: readonly (string | undefined)[];
  readonly couldNotEvaluate?: boolean;
  /** Part of the outcome's message. */
  readonly message?: string;
  /** Part of the first finding's message. */
  readonly finding?: string;
}

/** The time of the run in all cases. */
export const NOW = Date.parse('2026-11-21T10:00:00Z');

export function evaluate(
  name: string,
  snapshot: ClusterSnapshot,
  thresholds: Thresholds = {},
  prebuiltSnapshotProperty?: string,
): CheckOutcome {
  const check = findCheck(name);
  if (check === undefined) throw new Error(`there is no check ${name}`);
  return evaluateCheck(check, snapshot, { overrides: thresholds, prebuiltSnapshotProperty, now: NOW });
}

/** The cases of all checks by name; a test asserts that every check has some. */
export const checkCases = new Map<string, readonly Case[]>();

export function cases(check: string, rows: readonly Case[]): void {
  checkCases.set(check, rows);
}
