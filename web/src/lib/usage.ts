/** As `GET /query/resultStore/usage` tells it. */
export interface Usage {
  readonly usedBytes: number;
  /** What the store itself can hold; null where it knows no bound. */
  readonly capacityBytes: number | null;
  readonly cleanerEnabled: boolean;
  readonly quotaBytes: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
}

/**
 * What bounds the stored results: the quota where the cleaner keeps it, or the store itself where that is less.
 * @returns `boundBytes` undefined where nothing does; `cleaned` where it is the cleaner's quota
 */
export function boundOf(usage: Usage): { readonly boundBytes: number | undefined; readonly cleaned: boolean } {
  const { capacityBytes, cleanerEnabled, quotaBytes } = usage;
  const capacity = capacityBytes ?? undefined;
  if (!cleanerEnabled) return { boundBytes: capacity, cleaned: false };
  const cleaned = capacity === undefined || quotaBytes <= capacity;
  return { boundBytes: cleaned ? quotaBytes : capacity, cleaned };
}
