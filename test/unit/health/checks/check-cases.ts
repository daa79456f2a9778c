import { globSync } from 'node:fs';
import { findCheck } from '../../../../src/health/catalogue.ts';
import type { CheckOutcome, Thresholds } from '../../../../src/health/check.ts';
import { evaluateCheck } from '../../../../src/health/run/evaluation.ts';
import type { ClusterSnapshot } from '../../../../src/health/snapshot.ts';

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
  /** Part of the outcome's message, or its pattern. Begins with `not applicable` exactly where the check says that it does not apply. */
  readonly message?: string | RegExp;
  /** Part of the first finding's message, or its pattern. */
  readonly finding?: string | RegExp;
  /** The values of the first finding. */
  readonly observed?: string;
  readonly threshold?: string;
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
/** What a check finds on recorded clusters: the entities of its findings. It passes on a cluster that is absent. */
export interface Recorded {
  /** Clusters of Pinot 0.11 and 1.5.1 with three realtime tables and one offline table: test/unit/health/checks/recorded.test.ts. */
  readonly streams?: readonly string[];
  /** A cluster of Pinot 1.5.1 with offline tables in two databases: test/unit/pinot/recorded/health.test.ts. */
  readonly databases?: readonly string[];
}
export const recordedFindings = new Map<string, Recorded>();

/** The tables of the cluster `databases`. */
export const TABLES_OF_DATABASES: readonly string[] = [
  ...['customers_OFFLINE', 'log_a_OFFLINE', 'log_b_OFFLINE', 'orders_OFFLINE'],
  ...['sales.customers_OFFLINE', 'sales.deals_OFFLINE', 'types_OFFLINE'],
];

/** Adds cases of a check. */
export function cases(check: string, rows: readonly Case[], recorded?: Recorded): void {
  checkCases.set(check, [...(checkCases.get(check) ?? []), ...rows]);
  if (recorded !== undefined) recordedFindings.set(check, recorded);
}

/** Loads the cases of all files. */
export async function loadCases(): Promise<void> {
  const files = globSync('cases-*.ts', { cwd: import.meta.dirname }).toSorted();
  for (const file of files) await import(`./cases-${file.slice('cases-'.length, -'.ts'.length)}.ts`);
}
