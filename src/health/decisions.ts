import type { RunningRun } from '../resources/cluster-health-report.ts';
import {
  PREBUILT_SNAPSHOT_PROPERTY,
  type CheckDefinition,
  type CheckOutcome,
  type Need,
  type Thresholds,
} from './check.ts';
import type { CheckSettings } from './settings.ts';
import type { ClusterSnapshot } from './snapshot.ts';

export interface CheckResult {
  readonly name: string;
  readonly outcome: CheckOutcome;
  readonly durationMs: number;
}

/** A check that a run under way has decided. */
export type DecidedCheck = RunningRun['checks'][number];

interface Decision {
  readonly result: CheckResult;
  readonly tables: number;
}

/**
 * Evaluates checks while the snapshot grows, each once and on complete parts alone, so that the results are those of evaluating all checks
 * in the end.
 */
export class Decisions {
  readonly #settings: CheckSettings;
  readonly #now: () => Date;
  readonly #decided = new Map<CheckDefinition, Decision>();

  constructor(settings: CheckSettings, now: () => Date) {
    this.#settings = settings;
    this.#now = now;
  }

  /** Evaluates the checks that can be now and could not be before; in the order of the catalogue. */
  decide(snapshot: ClusterSnapshot, gathered: ReadonlySet<Need>): DecidedCheck[] {
    return this.#settings.checks
      .filter((check) => !this.#decided.has(check) && check.needs.every((need) => gathered.has(need)))
      .map((check) => {
        const { name, outcome } = this.#evaluate(check, snapshot);
        return { name, status: outcome.status };
      });
  }

  /** All results, on the whole snapshot. */
  conclude(snapshot: ClusterSnapshot): CheckResult[] {
    const tables = tableCount(snapshot);
    return this.#settings.checks.map((check) => {
      const decision = this.#decided.get(check);
      // A table that was deleted meanwhile is not judged, nor what others were judged by while it was there.
      return decision?.tables === tables ? decision.result : this.#evaluate(check, snapshot);
    });
  }

  #evaluate(check: CheckDefinition, snapshot: ClusterSnapshot): CheckResult {
    const begun = this.#now().getTime();
    const { overrides, prebuiltSnapshotProperty } = this.#settings;
    const outcome = evaluateCheck(check, snapshot, overrides[check.name], prebuiltSnapshotProperty);
    const result = { name: check.name, outcome, durationMs: Math.max(0, this.#now().getTime() - begun) };
    this.#decided.set(check, { result, tables: tableCount(snapshot) });
    return result;
  }
}

function tableCount({ tables }: ClusterSnapshot): number {
  return tables.ok ? tables.value.length : -1;
}

/** One check on a snapshot. An override ranks above what the cluster configures, and that above the default. */
export function evaluateCheck(
  check: CheckDefinition,
  snapshot: ClusterSnapshot,
  overrides: Thresholds = {},
  prebuiltSnapshotProperty: string = PREBUILT_SNAPSHOT_PROPERTY,
): CheckOutcome {
  const thresholds = { ...check.defaultThresholds, ...check.clusterThresholds?.(snapshot), ...overrides };
  return check.evaluate({ snapshot, thresholds, prebuiltSnapshotProperty });
}
