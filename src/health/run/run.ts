import type { Clock } from '../../platform/clock.ts';
import type { RunningRun } from '../../resources/health-status.ts';
import type { Need } from '../check.ts';
import type { CauseFacts } from '../report/causes.ts';
import { explain } from '../report/explain.ts';
import { segmentSize } from '../checks/segment-size.ts';
import { CheckEvaluator, type CheckResult } from './evaluation.ts';
import { needsOf, type CheckSettings, type ThresholdOverrides } from '../settings.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

/** What to read, and the limits that are applied while documents stream in. */
export interface GatherRequest {
  readonly needs: ReadonlySet<Need>;
  /** Segments below this many bytes are small. */
  readonly smallSegmentBytes: number;
  /** Allowed fraction of small segments; sizes of tables that are surely below it are not read in detail. */
  readonly smallSegmentFraction: number;
  /** Age in milliseconds from which an unchanged reading of an earlier run is read again; see `KeptReadings`. */
  readonly fullReadMs?: number;
  /** True to read everything, also what is unchanged since an earlier run. */
  readonly fresh?: boolean;
  /** Aborts all reads. Parts that were not read by then are failed reads. */
  readonly signal: AbortSignal;
  /** Called after each read. @param total number of reads known so far; grows while tables are found */
  readonly onProgress?: (done: number, total: number) => void;
  /**
   * Called each time parts of the snapshot become complete. Complete parts no longer change, except that deleted tables are
   * removed at the end. Other parts must not be used.
   */
  readonly onComplete?: (snapshot: ClusterSnapshot, complete: ReadonlySet<Need>) => void;
}

/** Reads a cluster. Never rejects: failures are recorded in the snapshot. */
export type Gather = (request: GatherRequest) => Promise<ClusterSnapshot>;

export interface RunResult {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly clusterName: string;
  readonly engineVersion: string | undefined;
  /** Why the cluster could not be reached; undefined if it was reached. */
  readonly unreachable: string | undefined;
  /** Names of the tables with type suffix; undefined if they could not be read. */
  readonly tables?: readonly string[] | undefined;
  /** Ids of the instances; undefined if they could not be read. */
  readonly instances?: readonly string[] | undefined;
  readonly results: readonly CheckResult[];
  /** What is behind the findings. */
  readonly causes?: readonly CauseFacts[];
}

/** Progress of a run: reads done of those known so far, and the evaluated checks in the order of their evaluation. */
export type RunProgress = Required<Omit<RunningRun, 'id'>>;

export interface RunOptions {
  readonly gather: Gather;
  readonly settings: CheckSettings;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** See `GatherRequest`. */
  readonly fresh?: boolean;
  readonly onProgress?: (progress: RunProgress) => void;
}

const MB = 1024 * 1024;

/** Reads the cluster once and evaluates each check as soon as the parts that it needs are read. */
export async function runChecks(options: RunOptions): Promise<RunResult> {
  const { gather, settings, signal, clock, onProgress } = options;
  const startedAt = new Date(clock.now());
  const start = clock.monotonic();
  let progress: RunProgress = { done: 0, total: 1, checks: [], checksTotal: settings.checks.length };
  const update = (change: Partial<RunProgress>): void => {
    progress = { ...progress, ...change };
    onProgress?.(progress);
  };
  const evaluator = new CheckEvaluator(settings, clock);
  const snapshot = await gather({
    needs: needsOf(settings.checks),
    ...smallSegmentLimits(settings.overrides),
    fullReadMs: settings.fullReadMs,
    fresh: options.fresh ?? false,
    signal,
    onProgress: (done, total) => update({ done, total }),
    onComplete: (partial, complete) => {
      const evaluated = evaluator.evaluateReady(partial, complete);
      if (evaluated.length > 0) update({ checks: [...progress.checks, ...evaluated] });
    },
  });
  const { results, causes } = explain(snapshot, evaluator.finish(snapshot), startedAt.getTime());
  return {
    startedAt,
    durationMs: clock.monotonic() - start,
    clusterName: snapshot.clusterName,
    engineVersion: snapshot.engineVersion,
    unreachable: snapshot.unreachable,
    tables: snapshot.tables.ok ? snapshot.tables.value.map(({ name }) => name) : undefined,
    instances: snapshot.instances.ok ? snapshot.instances.value.map(({ id }) => id) : undefined,
    results,
    causes,
  };
}

function smallSegmentLimits(
  overrides: ThresholdOverrides,
): Pick<GatherRequest, 'smallSegmentBytes' | 'smallSegmentFraction'> {
  const { minSizeMB, maxSmallFraction } = {
    ...segmentSize.defaultThresholds,
    ...overrides.SEGMENT_SIZE_CHECK,
  };
  return { smallSegmentBytes: minSizeMB * MB, smallSegmentFraction: maxSmallFraction };
}
