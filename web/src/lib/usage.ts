import type { ResultStoreUsage } from './types.ts';

/**
 * The limit of the stored results: the quota while the cleaner is enabled, or the capacity of the store if that is lower.
 * @returns `limitBytes`, undefined without a limit; `cleaned`, true when the limit is the cleaner's quota
 */
export function limitOf(usage: ResultStoreUsage): {
  readonly limitBytes: number | undefined;
  readonly cleaned: boolean;
} {
  const { capacityBytes, cleanerEnabled, quotaBytes } = usage;
  const capacity = capacityBytes ?? undefined;
  if (!cleanerEnabled) return { limitBytes: capacity, cleaned: false };
  const cleaned = capacity === undefined || quotaBytes <= capacity;
  return { limitBytes: cleaned ? quotaBytes : capacity, cleaned };
}
