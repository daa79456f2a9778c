import { findCheck } from './catalogue.ts';
import type { CheckDefinition, CheckOutcome, Need, Thresholds } from './check.ts';
import { needsOf, type CheckSettings, type ThresholdOverrides } from './settings.ts';
import type { ClusterSnapshot } from './snapshot.ts';

/** What the snapshot must know beside its parts: some are counted against a limit while they stream by. */
export interface GatherRequest {
  readonly needs: ReadonlySet<Need>;
  /** Bytes below which a segment counts as small. */
  readonly smallSegmentBytes: number;
  /** The share of small segments that is allowed: below it, sizes need no closer look. */
  readonly smallSegmentFraction: number;
  /** Aborts every read that is under way; what was not read by then is recorded as such. */
  readonly signal: AbortSignal;
  /** Told how far the reading is. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Reads a cluster. Never rejects: what could not be read is in the snapshot as such. */
export type Gather = (request: GatherRequest) => Promise<ClusterSnapshot>;

export interface CheckResult {
  readonly name: string;
  readonly outcome: CheckOutcome;
  readonly durationMs: number;
}

export interface RunResult {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly clusterName: string;
  readonly engineVersion: string | undefined;
  /** Why the cluster could not be reached at all; undefined where it could. */
  readonly unreachable: string | undefined;
  readonly results: readonly CheckResult[];
}

export interface RunOptions {
  readonly gather: Gather;
  readonly settings: CheckSettings;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  readonly onProgress?: (done: number, total: number) => void;
}

const MB = 1024 * 1024;

/** Reads the cluster once and evaluates the checks on what was read. */
export async function runChecks(options: RunOptions): Promise<RunResult> {
  const { gather, settings, signal, now, onProgress } = options;
  const startedAt = now();
  const snapshot = await gather({
    needs: needsOf(settings.checks),
    ...smallSegments(settings.overrides),
    signal,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const results = settings.checks.map((check): CheckResult => {
    const begun = now().getTime();
    const outcome = evaluateCheck(check, snapshot, settings.overrides[check.name]);
    return { name: check.name, outcome, durationMs: Math.max(0, now().getTime() - begun) };
  });
  return {
    startedAt,
    durationMs: Math.max(0, now().getTime() - startedAt.getTime()),
    clusterName: snapshot.clusterName,
    engineVersion: snapshot.engineVersion,
    unreachable: snapshot.unreachable,
    results,
  };
}

/** One check on a snapshot. An override ranks above what the cluster configures, and that above the default. */
export function evaluateCheck(
  check: CheckDefinition,
  snapshot: ClusterSnapshot,
  overrides: Thresholds = {},
): CheckOutcome {
  const thresholds = { ...check.defaultThresholds, ...check.clusterThresholds?.(snapshot), ...overrides };
  return check.evaluate({ snapshot, thresholds });
}

function smallSegments(
  overrides: ThresholdOverrides,
): Pick<GatherRequest, 'smallSegmentBytes' | 'smallSegmentFraction'> {
  const { minSizeMB = 0, maxSmallFraction = 0 } = {
    ...findCheck('SEGMENT_SIZE_CHECK')?.defaultThresholds,
    ...overrides.SEGMENT_SIZE_CHECK,
  };
  return { smallSegmentBytes: minSizeMB * MB, smallSegmentFraction: maxSmallFraction };
}
