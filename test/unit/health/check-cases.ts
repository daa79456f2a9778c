import { findCheck } from '../../../src/health/catalogue.ts';
import type { CheckOutcome, Thresholds } from '../../../src/health/check.ts';
import { evaluateCheck } from '../../../src/health/decisions.ts';
import type { ClusterSnapshot } from '../../../src/health/snapshot.ts';

/** One row of a table of cases: what the cluster is like, and what the check says. */
export interface Case {
  readonly is: string;
  readonly snapshot: ClusterSnapshot;
  /** Entities of the findings; none means PASS. */
  readonly finds?: readonly string[];
  /** True where the FAIL is one of reading. */
  readonly unread?: boolean;
  readonly thresholds?: Thresholds;
  readonly prebuiltSnapshotProperty?: string;
  /** Part of the outcome's message. */
  readonly says?: string;
  /** Part of the first finding's message. */
  readonly tells?: string;
}

export function evaluate(
  name: string,
  snapshot: ClusterSnapshot,
  thresholds: Thresholds = {},
  prebuiltSnapshotProperty?: string,
): CheckOutcome {
  const check = findCheck(name);
  if (check === undefined) throw new Error(`there is no check ${name}`);
  return evaluateCheck(check, snapshot, thresholds, prebuiltSnapshotProperty);
}

/** Every case of every check goes through here: {@link checkCases} collects them so that a test can hold that no check lacks any. */
export const checkCases = new Map<string, readonly Case[]>();

export function cases(name: string, rows: readonly Case[]): void {
  checkCases.set(name, rows);
}
