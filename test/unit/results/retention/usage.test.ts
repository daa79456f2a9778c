import { expect, it } from 'vitest';
import type { ResultRecord, ResultStore, StoredResultSummary } from '../../../../src/results/result-store.ts';
import { usageOf } from '../../../../src/results/retention/usage.ts';
import { submission } from '../answers.ts';

const signal = new AbortController().signal;
const QUOTA = { enabled: true, maxStorageMb: 3, criticalPercent: 90, targetPercent: 60 };

const summary = (brokerId: string, bytes: number): StoredResultSummary => ({
  record: submission({ brokerId }) as ResultRecord,
  bytes,
  dataFile: '',
  metadataFile: '',
});

type Storage = Pick<ResultStore, 'list' | 'capacityBytes' | 'local'>;

function storeOf(local: boolean, more: Partial<Storage> = {}): Storage {
  return {
    local,
    async *list() {
      yield* [summary('gw-0', 5), summary('gw-1', 70), summary('gw-0', 600)];
    },
    ...more,
  };
}

it('the usage of a gateway is that of its results, and of all in a local store', async () => {
  expect(await usageOf(storeOf(false), 'gw-0', QUOTA, signal)).toEqual({
    usedBytes: 605,
    capacityBytes: null,
    cleanerEnabled: true,
    quotaBytes: 3 * 1024 * 1024,
    criticalPercent: 90,
    targetPercent: 60,
  });
  expect((await usageOf(storeOf(false), 'gw-1', QUOTA, signal)).usedBytes).toBe(70);
  expect((await usageOf(storeOf(false), 'gw-2', QUOTA, signal)).usedBytes).toBe(0);
  expect((await usageOf(storeOf(true), 'gw-2', QUOTA, signal)).usedBytes).toBe(675);
});

it('the usage has the capacity of a store that has one', async () => {
  const usage = await usageOf(storeOf(true, { capacityBytes: 900 }), 'gw-0', { ...QUOTA, enabled: false }, signal);
  expect(usage).toMatchObject({ capacityBytes: 900, cleanerEnabled: false });
});
