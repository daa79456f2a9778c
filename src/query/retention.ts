import type { DeletionReason, QueryMetrics } from './metrics.ts';
import type { ResultStore, StoredResultSummary } from './result-store.ts';
import type { PaginationSettings, StorageCleanerSettings } from './settings.ts';

const MB = 1024 * 1024;
/** How long after its end a result in a shared store waits for the gateway that stored it, which may be gone for good. */
const HOLDER_PATIENCE_MS = 10 * 60_000;

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
 * Nothing goes while usage is at the critical threshold or below it, unless an earlier run could not come to its end.
 * @param results those of this gateway
 * @param resumes whether an earlier run left what it had chosen: then usage goes on down to the target
 * @returns in the order of deletion, with the reason
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

/** Keeps the store within its quota, and counts what it holds. */
export class Retention {
  readonly #options: RetentionOptions;
  #running: Promise<RetentionOutcome> | undefined;
  /** Whether something was chosen for room and is still there: it was being read, or could not be deleted. */
  #unfinished = false;

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
    const { own, left } = await this.#results(signal);
    const before = total(own);
    metrics.holds(own.length, before);
    const quota = chooseForDeletion(own, settings().storageCleaner, now(), this.#unfinished);
    const { gone, failure } = await this.#removeAll([...this.#expired(own), ...this.#expired(left), ...quota], signal);
    this.#unfinished = quota.some(({ result }) => !gone.has(result.record.requestId));
    const kept = own.filter(({ record }) => !gone.has(record.requestId));
    const after = total(kept);
    metrics.holds(kept.length, after);
    await this.#options.store.tidy?.(signal);
    if (failure !== undefined) throw failure.error;
    return { before, after, deleted: [...gone] };
  }

  /** @returns ids of what went; results that are being read, and those that cannot be deleted, are not in the way of the others */
  async #removeAll(
    chosen: ReturnType<typeof chooseForDeletion>,
    signal: AbortSignal,
  ): Promise<{ gone: Set<string>; failure: { readonly error: unknown } | undefined }> {
    const gone = new Set<string>();
    let failure: { readonly error: unknown } | undefined;
    for (const { result, reason } of chosen) {
      const { requestId } = result.record;
      try {
        if (!gone.has(requestId) && (await this.#remove(result, reason, signal))) gone.add(requestId);
      } catch (error) {
        failure ??= { error };
        if (signal.aborted) break;
      }
    }
    return { gone, failure };
  }

  #expired(results: readonly StoredResultSummary[]): ReturnType<typeof chooseForDeletion> {
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

  /** This gateway's results; and, in a shared store, those whose time is long over: their gateway may never come back. */
  async #results(signal: AbortSignal): Promise<{ own: StoredResultSummary[]; left: StoredResultSummary[] }> {
    const { store, gatewayId, now } = this.#options;
    const own: StoredResultSummary[] = [];
    const left: StoredResultSummary[] = [];
    for await (const summary of store.list(signal)) {
      const { brokerId, expirationTimeMs } = summary.record;
      if (brokerId === gatewayId) own.push(summary);
      else if (!store.local && now() - expirationTimeMs > HOLDER_PATIENCE_MS) left.push(summary);
    }
    return { own, left };
  }
}

function total(results: readonly StoredResultSummary[]): number {
  return results.reduce((sum, { bytes }) => sum + bytes, 0);
}
