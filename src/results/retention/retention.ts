import type { WallClock } from '../../platform/clock.ts';
import type { DeletionReason, QueryMetrics } from '../metrics.ts';
import type { ResultStore, StoredResultSummary } from '../result-store.ts';
import type { PaginationSettings, StorageCleanerSettings } from '../settings.ts';

const MB = 1024 * 1024;
/** Time after the expiration until a result is deleted, where reading renews it. Longer than a renewal that was begun before the expiration. */
export const RENEWAL_GRACE_MS = 15_000;
/** Grace period after expiration before another gateway deletes a result from a shared store, in case the owning gateway no longer exists. */
const OWNER_GRACE_MS = 10 * 60_000;

export interface RetentionOptions {
  readonly store: ResultStore;
  /** `brokerId` of this gateway: only its own results count against its quota. */
  readonly gatewayId: string;
  readonly settings: () => PaginationSettings;
  readonly clock: WallClock;
  readonly metrics: QueryMetrics;
  /**
   * Whether every run deletes expired results, regardless of the quota. True without an operator, and for a store with a capacity of its own,
   * which is too scarce to wait for the operator.
   */
  readonly deletesExpired: boolean;
  /** True while a page of the result is being sent. */
  readonly isBeingRead: (requestId: string) => boolean;
  /** Called with messages about results deleted for the quota and failed deletions. */
  readonly onNotice: (message: string) => void;
}

/** Usage before and after a run, in bytes, and the deleted results. */
export interface RetentionOutcome {
  readonly before: number;
  readonly after: number;
  readonly deleted: readonly string[];
}

/**
 * Selects results to delete when the critical threshold is exceeded: expired results first, then the largest, until usage reaches the target.
 * Selects nothing at or below the threshold, unless an earlier run could not finish.
 * @param results results of this gateway
 * @param resumes whether an earlier run was unfinished: the threshold is then the target
 * @returns the results in order of deletion, with the reason
 */
export function chooseForDeletion(
  results: readonly StoredResultSummary[],
  quota: StorageCleanerSettings,
  now: number,
  resumes = false,
): { readonly result: StoredResultSummary; readonly reason: DeletionReason }[] {
  const limit = quota.maxStorageMb * MB;
  const used = total(results);
  const target = (limit * quota.targetPercent) / 100;
  const threshold = resumes ? target : (limit * quota.criticalPercent) / 100;
  if (!quota.enabled || used <= threshold) return [];
  const expired = results.filter(({ record }) => record.expirationTimeMs <= now);
  const others = results.filter(({ record }) => record.expirationTimeMs > now).sort((a, b) => b.bytes - a.bytes);
  const chosen: { result: StoredResultSummary; reason: DeletionReason }[] = expired.map((result) => ({
    result,
    reason: 'expired',
  }));
  let left = used - total(expired);
  for (const result of others) {
    if (left <= target) break;
    chosen.push({ result, reason: 'quota' });
    left -= result.bytes;
  }
  return chosen;
}

/** Enforces the storage quota and updates the usage metrics. */
export class Retention {
  readonly #options: RetentionOptions;
  #running: Promise<RetentionOutcome> | undefined;
  /** Whether a result selected for the quota still exists because it was being read or its deletion failed. */
  #unfinished = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Runs once; concurrent calls share the run. @throws {QueryError} store-unavailable */
  run(signal: AbortSignal): Promise<RetentionOutcome> {
    this.#running ??= this.#run(signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(signal: AbortSignal): Promise<RetentionOutcome> {
    const { metrics, settings, clock } = this.#options;
    const { own, abandoned } = await this.#results(signal);
    const before = total(own);
    metrics.holds(own.length, before);
    const quota = chooseForDeletion(own, settings().storageCleaner, clock.now(), this.#unfinished);
    const { deletedIds, failure } = await this.#removeAll(
      [...this.#expired(own), ...this.#expired(abandoned), ...quota],
      signal,
    );
    this.#unfinished = quota.some(({ result }) => !deletedIds.has(result.record.requestId));
    const kept = own.filter(({ record }) => !deletedIds.has(record.requestId));
    const after = total(kept);
    metrics.holds(kept.length, after);
    await this.#options.store.tidy?.(signal);
    if (failure !== undefined) throw failure.error;
    return { before, after, deleted: [...deletedIds] };
  }

  /** Continues after results that are in use or whose deletion fails. @returns ids of the deleted results */
  async #removeAll(
    chosen: ReturnType<typeof chooseForDeletion>,
    signal: AbortSignal,
  ): Promise<{ deletedIds: Set<string>; failure: { readonly error: unknown } | undefined }> {
    const deletedIds = new Set<string>();
    let failure: { readonly error: unknown } | undefined;
    for (const { result, reason } of chosen) {
      const { requestId } = result.record;
      try {
        if (!deletedIds.has(requestId) && (await this.#remove(result, reason, signal))) deletedIds.add(requestId);
      } catch (error) {
        failure ??= { error };
        if (signal.aborted) break;
      }
    }
    return { deletedIds, failure };
  }

  #expired(results: readonly StoredResultSummary[]): ReturnType<typeof chooseForDeletion> {
    if (!this.#options.deletesExpired) return [];
    const grace = this.#options.settings().maxExpirationMs > 0 ? RENEWAL_GRACE_MS : 0;
    const latest = this.#options.clock.now() - grace;
    return results
      .filter(({ record }) => record.expirationTimeMs <= latest)
      .map((result) => ({ result, reason: 'expired' as const }));
  }

  async #remove(result: StoredResultSummary, reason: DeletionReason, signal: AbortSignal): Promise<boolean> {
    const { store, metrics, isBeingRead, onNotice } = this.#options;
    const { requestId } = result.record;
    // INVARIANT: the quota never deletes a result while one of its pages is being sent; the next run selects it again.
    if (isBeingRead(requestId)) return false;
    if (!(await store.delete(requestId, signal))) return false;
    metrics.deleted(reason);
    if (reason === 'quota')
      onNotice(`deleted the stored result ${requestId} (${result.bytes} bytes) to stay within the quota`);
    return true;
  }

  /** This gateway's results, which are all results of a local store, whatever `brokerId` an earlier process had; and, in a shared store, results of other gateways that expired long ago: their gateway may no longer exist. */
  async #results(signal: AbortSignal): Promise<{ own: StoredResultSummary[]; abandoned: StoredResultSummary[] }> {
    const { store, gatewayId, clock } = this.#options;
    const own: StoredResultSummary[] = [];
    const abandoned: StoredResultSummary[] = [];
    for await (const summary of store.list(signal)) {
      const { brokerId, expirationTimeMs } = summary.record;
      if (store.local || brokerId === gatewayId) own.push(summary);
      else if (clock.now() - expirationTimeMs > OWNER_GRACE_MS) abandoned.push(summary);
    }
    return { own, abandoned };
  }
}

function total(results: readonly StoredResultSummary[]): number {
  return results.reduce((sum, { bytes }) => sum + bytes, 0);
}
