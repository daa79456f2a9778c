import type { Clock } from '../../platform/clock.ts';
import type { RunningRun } from '../../resources/health-status.ts';
import {
  PREBUILT_SNAPSHOT_PROPERTY,
  type CheckDefinition,
  type CheckOutcome,
  type Need,
  type Thresholds,
} from '../check.ts';
import type { CheckSettings } from '../settings.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

export interface CheckResult {
  readonly name: string;
  readonly outcome: CheckOutcome;
  readonly durationMs: number;
}

/** Name and status of a check that the current run has evaluated. */
export type EvaluatedCheck = RunningRun['checks'][number];

interface Evaluation {
  readonly result: CheckResult;
  readonly tableCount: number;
}

/**
 * Evaluates the checks of one run while the snapshot is being read. Each check is evaluated on complete parts only, so the results
 * equal those of evaluating all checks at the end.
 */
export class CheckEvaluator {
  readonly #settings: CheckSettings;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds since the epoch. */
  readonly #now: number;
  readonly #evaluations = new Map<CheckDefinition, Evaluation>();

  constructor(settings: CheckSettings, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#settings = settings;
    this.#clock = clock;
    this.#now = clock.now();
  }

  /** Evaluates the checks whose needs have become complete, in the order of the catalogue. */
  evaluateReady(snapshot: ClusterSnapshot, complete: ReadonlySet<Need>): EvaluatedCheck[] {
    return this.#settings.checks
      .filter((check) => !this.#evaluations.has(check) && check.needs.every((need) => complete.has(need)))
      .map((check) => {
        const { name, outcome } = this.#evaluate(check, snapshot);
        return { name, status: outcome.status };
      });
  }

  /** The results of all checks on the complete snapshot. */
  finish(snapshot: ClusterSnapshot): CheckResult[] {
    const tableCount = countTables(snapshot);
    return this.#settings.checks.map((check) => {
      const evaluation = this.#evaluations.get(check);
      // A table that was deleted during the run changes averages too, so the check is evaluated again without it.
      return evaluation?.tableCount === tableCount ? evaluation.result : this.#evaluate(check, snapshot);
    });
  }

  #evaluate(check: CheckDefinition, snapshot: ClusterSnapshot): CheckResult {
    const startedAt = this.#clock.monotonic();
    const { overrides, prebuiltSnapshotProperty } = this.#settings;
    const options = { overrides: overrides[check.name], prebuiltSnapshotProperty, now: this.#now };
    const outcome = evaluateCheck(check, snapshot, options);
    const result = { name: check.name, outcome, durationMs: this.#clock.monotonic() - startedAt };
    this.#evaluations.set(check, { result, tableCount: countTables(snapshot) });
    return result;
  }
}

function countTables({ tables }: ClusterSnapshot): number {
  return tables.ok ? tables.value.length : -1;
}

export interface EvaluationOptions {
  readonly overrides?: Thresholds | undefined;
  readonly prebuiltSnapshotProperty?: string | undefined;
  /** Start of the run, milliseconds since the epoch. */
  readonly now: number;
}

/** Evaluates one check. Precedence of thresholds, highest first: overrides, the cluster's configuration, the check's defaults. */
export function evaluateCheck(
  check: CheckDefinition,
  snapshot: ClusterSnapshot,
  { overrides = {}, prebuiltSnapshotProperty = PREBUILT_SNAPSHOT_PROPERTY, now }: EvaluationOptions,
): CheckOutcome {
  const thresholds = { ...check.defaultThresholds, ...check.clusterThresholds?.(snapshot), ...overrides };
  const overridden = new Set(Object.keys(overrides));
  return check.evaluate({ snapshot, thresholds, overridden, now, prebuiltSnapshotProperty });
}
