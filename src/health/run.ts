import type { RunningRun } from '../resources/cluster-health-report.ts';
import { findCheck } from './catalogue.ts';
import type { Need } from './check.ts';
import { Decisions, type CheckResult } from './decisions.ts';
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
  /**
   * Told each time a part of the snapshot is complete: it will not change any more, unless tables turn out to be deleted, whose parts are then
   * taken out of the snapshot. Parts that are not in `gathered` are not to be looked at.
   */
  readonly onFacts?: (snapshot: ClusterSnapshot, gathered: ReadonlySet<Need>) => void;
}

/** Reads a cluster. Never rejects: what could not be read is in the snapshot as such. */
export type Gather = (request: GatherRequest) => Promise<ClusterSnapshot>;

export interface RunResult {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly clusterName: string;
  readonly engineVersion: string | undefined;
  /** Why the cluster could not be reached at all; undefined where it could. */
  readonly unreachable: string | undefined;
  readonly results: readonly CheckResult[];
}

/** How far a run is: reads of the cluster, whose total grows while tables are found, and checks in the order in which they were decided. */
export type RunProgress = Required<Omit<RunningRun, 'id'>>;

export interface RunOptions {
  readonly gather: Gather;
  readonly settings: CheckSettings;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  readonly onProgress?: (progress: RunProgress) => void;
}

const MB = 1024 * 1024;

/** Reads the cluster once and evaluates each check on it as soon as all that the check needs was read. */
export async function runChecks(options: RunOptions): Promise<RunResult> {
  const { gather, settings, signal, now, onProgress } = options;
  const startedAt = now();
  let progress: RunProgress = { done: 0, total: 1, checks: [], checksTotal: settings.checks.length };
  const tell = (news: Partial<RunProgress>): void => {
    progress = { ...progress, ...news };
    onProgress?.(progress);
  };
  const decisions = new Decisions(settings, now);
  const snapshot = await gather({
    needs: needsOf(settings.checks),
    ...smallSegments(settings.overrides),
    signal,
    onProgress: (done, total) => tell({ done, total }),
    onFacts: (partial, gathered) => {
      const decided = decisions.decide(partial, gathered);
      if (decided.length > 0) tell({ checks: [...progress.checks, ...decided] });
    },
  });
  const results = decisions.conclude(snapshot);
  return {
    startedAt,
    durationMs: Math.max(0, now().getTime() - startedAt.getTime()),
    clusterName: snapshot.clusterName,
    engineVersion: snapshot.engineVersion,
    unreachable: snapshot.unreachable,
    results,
  };
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
