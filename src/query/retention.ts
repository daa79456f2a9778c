import type { DeletionReason, QueryMetrics } from './metrics.ts';
import type { ResultStore, StoredResultSummary } from './result-store.ts';
import type { PaginationSettings, StorageCleanerSettings } from './settings.ts';

const MB = 1024 * 1024;

export interface RetentionOptions {
  readonly store: ResultStore;
  /** `brokerId` of this gateway: only its own results count against its quota. */
  readonly gatewayId: string;
  readonly settings: () => PaginationSettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly metrics: QueryMetrics;
  /**
   * Whether every run deletes what has expired, quota or not: where no operator does, and for the memory store, whose room is too dear to wait
   * for the operator.
   */
  readonly deletesExpired: boolean;
  /** True while a page of the result is being sent. */
  readonly isBeingRead: (requestId: string) => boolean;
  /** Told what was deleted for room, and what could not be. */
  readonly onNotice: (message: string) => void;
}

/** What a run found and left, in bytes. */
export interface RetentionOutcome {
  readonly before: number;
  readonly after: number;
  readonly deleted: readonly string[];
}

/**
 * Which results go when the quota is nearly used up: first those that have expired, then the largest, until usage is at the target.
 * Nothing goes while usage is at the critical threshold or below it.
 * @param results those of this gateway
 * @returns in the order of deletion, with the reason
 */
export function chooseForDeletion(
  results: readonly StoredResultSummary[],
  quota: StorageCleanerSettings,
  now: number,
): { readonly result: StoredResultSummary; readonly reason: DeletionReason }[] {
  const limit = quota.maxStorageMb * MB;
  const used = total(results);
  if (!quota.enabled || used <= (limit * quota.criticalPercent) / 100) return [];
  const target = (limit * quota.targetPercent) / 100;
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

/** Keeps the store within its quota, and counts what it holds. */
export class Retention {
  readonly #options: RetentionOptions;
  #running: Promise<RetentionOutcome> | undefined;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** One run; a call during a run joins it. @throws {QueryError} store-unavailable */
  run(signal: AbortSignal): Promise<RetentionOutcome> {
    this.#running ??= this.#run(signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(signal: AbortSignal): Promise<RetentionOutcome> {
    const { metrics, settings, now } = this.#options;
    const results = await this.#own(signal);
    const before = total(results);
    metrics.holds(results.length, before);
    const chosen = [...this.#expired(results), ...chooseForDeletion(results, settings().storageCleaner, now())];
    const gone = new Map<string, number>();
    let failure: { readonly error: unknown } | undefined;
    for (const { result, reason } of chosen) {
      const { requestId } = result.record;
      try {
        if (!gone.has(requestId) && (await this.#remove(result, reason, signal))) gone.set(requestId, result.bytes);
      } catch (error) {
        // One result that cannot be deleted, such as one of a broker that is away, is not in the way of the others.
        failure ??= { error };
        if (signal.aborted) break;
      }
    }
    const after = before - [...gone.values()].reduce((sum, bytes) => sum + bytes, 0);
    metrics.holds(results.length - gone.size, after);
    await this.#options.store.tidy?.(signal);
    if (failure !== undefined) throw failure.error;
    return { before, after, deleted: [...gone.keys()] };
  }

  #expired(results: readonly StoredResultSummary[]): { result: StoredResultSummary; reason: DeletionReason }[] {
    if (!this.#options.deletesExpired) return [];
    const now = this.#options.now();
    return results
      .filter(({ record }) => record.expirationTimeMs <= now)
      .map((result) => ({ result, reason: 'expired' as const }));
  }

  async #remove(result: StoredResultSummary, reason: DeletionReason, signal: AbortSignal): Promise<boolean> {
    const { store, metrics, isBeingRead, onNotice } = this.#options;
    const { requestId } = result.record;
    // INVARIANT: a result is not taken away for room while a page of it is on its way; the next run finds it again.
    if (isBeingRead(requestId)) return false;
    if (!(await store.delete(requestId, signal))) return false;
    metrics.deleted(reason);
    if (reason === 'quota')
      onNotice(`the stored result ${requestId} (${result.bytes} bytes) was deleted to keep the quota`);
    return true;
  }

  async #own(signal: AbortSignal): Promise<StoredResultSummary[]> {
    const own: StoredResultSummary[] = [];
    for await (const summary of this.#options.store.list(signal)) {
      if (summary.record.brokerId === this.#options.gatewayId) own.push(summary);
    }
    return own;
  }
}

function total(results: readonly StoredResultSummary[]): number {
  return results.reduce((sum, { bytes }) => sum + bytes, 0);
}
