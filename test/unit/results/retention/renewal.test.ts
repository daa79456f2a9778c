import { beforeEach, describe, expect, it } from 'vitest';
import { Renewal } from '../../../../src/results/retention/renewal.ts';
import type { ResultRecord } from '../../../../src/results/result-store.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { submission } from '../answers.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let clock: FakeClock;
let start: number;
let settings: { expirationMs: number; maxExpirationMs: number };
/** The expirations that were written, since the submission. */
let written: number[];
let fails: boolean;
let renewal: Renewal;
beforeEach(() => {
  clock = new FakeClock();
  start = clock.now();
  settings = { expirationMs: HOUR_MS, maxExpirationMs: 24 * HOUR_MS };
  written = [];
  fails = false;
  renewal = new Renewal({
    store: {
      renew: async ({ expirationTimeMs }) => {
        written.push(expirationTimeMs - start);
        if (fails) throw new Error('the store is away');
      },
    },
    settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, ...settings }),
    clock,
  });
});

/** A result that was submitted at the start. */
const record = (afterMs = HOUR_MS, requestId = 'r1'): ResultRecord =>
  submission({ requestId, submissionTimeMs: start, expirationTimeMs: start + afterMs }) as ResultRecord;

describe('the expiration of a result that is read', () => {
  it('is renewed by the time of a result, at most every five minutes', async () => {
    clock.jump(5 * MINUTE_MS - 1);
    await renewal.renew(record());
    expect(written).toEqual([]);
    clock.jump(1);
    await renewal.renew(record());
    expect(written).toEqual([HOUR_MS + 5 * MINUTE_MS]);
  });

  it('is renewed after a quarter of a short time', async () => {
    settings.expirationMs = 8 * MINUTE_MS;
    clock.jump(2 * MINUTE_MS - 1);
    await renewal.renew(record(8 * MINUTE_MS));
    expect(written).toEqual([]);
    clock.jump(1);
    await renewal.renew(record(8 * MINUTE_MS));
    expect(written).toEqual([10 * MINUTE_MS]);
  });

  it('ends at the longest time after the submission', async () => {
    settings.maxExpirationMs = 2 * HOUR_MS;
    clock.jump(HOUR_MS + 30 * MINUTE_MS);
    await renewal.renew(record());
    expect(written).toEqual([2 * HOUR_MS]);
    await renewal.renew(record(2 * HOUR_MS));
    expect(written).toHaveLength(1);
  });

  it('is not tried again at once where the store fails, which no reader notices', async () => {
    fails = true;
    clock.jump(30 * MINUTE_MS);
    await renewal.renew(record());
    await renewal.renew(record());
    expect(written).toEqual([HOUR_MS + 30 * MINUTE_MS]);
    await renewal.renew(record(HOUR_MS, 'r2'));
    expect(written).toHaveLength(2);
    clock.jump(5 * MINUTE_MS);
    await renewal.renew(record());
    expect(written.slice(2)).toEqual([HOUR_MS + 35 * MINUTE_MS]);
  });

  it('is not renewed where another gateway has done so', async () => {
    clock.jump(30 * MINUTE_MS);
    await renewal.renew(record(HOUR_MS + 30 * MINUTE_MS));
    expect(written).toEqual([]);
  });

  it.each([0, HOUR_MS - 1, HOUR_MS])('is not renewed where the longest time is %i ms', async (maxExpirationMs) => {
    settings.maxExpirationMs = maxExpirationMs;
    clock.jump(30 * MINUTE_MS);
    await renewal.renew(record(MINUTE_MS));
    expect(written).toEqual([]);
  });
});
