import type { ResultStore } from '../result-store.ts';
import type { StorageCleanerSettings } from '../settings.ts';

const MB = 1024 * 1024;

/** Storage usage of one gateway, and the limits of the storage cleaner. */
export interface StoreUsage {
  readonly usedBytes: number;
  /** Capacity of the store itself; null if it has no limit. */
  readonly capacityBytes: number | null;
  /** Whether the cleaner enforces the quota; nothing else does. */
  readonly cleanerEnabled: boolean;
  readonly quotaBytes: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
}

/**
 * The usage of a gateway's own results; only these count against its quota. In a local store these are all results.
 * @param brokerId of the gateway
 * @throws {QueryError} store-unavailable
 */
export async function usageOf(
  store: Pick<ResultStore, 'list' | 'capacityBytes' | 'local'>,
  brokerId: string,
  { enabled, maxStorageMb, criticalPercent, targetPercent }: StorageCleanerSettings,
  signal: AbortSignal,
): Promise<StoreUsage> {
  let usedBytes = 0;
  for await (const { record, bytes } of store.list(signal)) {
    if (store.local || record.brokerId === brokerId) usedBytes += bytes;
  }
  return {
    usedBytes,
    capacityBytes: store.capacityBytes ?? null,
    cleanerEnabled: enabled,
    quotaBytes: maxStorageMb * MB,
    criticalPercent,
    targetPercent,
  };
}
