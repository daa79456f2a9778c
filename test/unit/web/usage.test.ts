import { describe, expect, it } from 'vitest';
import { boundOf, type Usage } from '../../../web/src/lib/usage.ts';

const usage = (changes: Partial<Usage>): Usage => ({
  usedBytes: 1,
  capacityBytes: null,
  cleanerEnabled: true,
  quotaBytes: 1024,
  criticalPercent: 90,
  targetPercent: 60,
  ...changes,
});

describe('what bounds stored results', () => {
  it.each([
    ['the quota that the cleaner keeps', usage({}), { boundBytes: 1024, cleaned: true }],
    ['the quota, where the store could hold more', usage({ capacityBytes: 2048 }), { boundBytes: 1024, cleaned: true }],
    [
      'the store, where it holds less than the quota',
      usage({ capacityBytes: 256 }),
      { boundBytes: 256, cleaned: false },
    ],
    [
      'the store, where no cleaner runs',
      usage({ capacityBytes: 2048, cleanerEnabled: false }),
      { boundBytes: 2048, cleaned: false },
    ],
    [
      'nothing, where no cleaner runs and the store knows no bound',
      usage({ cleanerEnabled: false }),
      { boundBytes: undefined, cleaned: false },
    ],
  ])('is %s', (_what, given, bound) => {
    expect(boundOf(given)).toEqual(bound);
  });
});
