import { describe, expect, it } from 'vitest';
import type { ResultStoreUsage } from '../../../web/src/lib/types.ts';
import { limitOf } from '../../../web/src/lib/usage.ts';

const usage = (changes: Partial<ResultStoreUsage>): ResultStoreUsage => ({
  usedBytes: 1,
  capacityBytes: null,
  cleanerEnabled: true,
  quotaBytes: 1024,
  criticalPercent: 90,
  targetPercent: 60,
  ...changes,
});

describe('the limit of stored results', () => {
  it.each([
    ['the quota that the cleaner keeps', usage({}), { limitBytes: 1024, cleaned: true }],
    ['the quota, where the store could hold more', usage({ capacityBytes: 2048 }), { limitBytes: 1024, cleaned: true }],
    [
      'the store, where it holds less than the quota',
      usage({ capacityBytes: 256 }),
      { limitBytes: 256, cleaned: false },
    ],
    [
      'the store, where no cleaner runs',
      usage({ capacityBytes: 2048, cleanerEnabled: false }),
      { limitBytes: 2048, cleaned: false },
    ],
    [
      'nothing, where no cleaner runs and the store knows no bound',
      usage({ cleanerEnabled: false }),
      { limitBytes: undefined, cleaned: false },
    ],
  ])('is %s', (_what, given, bound) => {
    expect(limitOf(given)).toEqual(bound);
  });
});
