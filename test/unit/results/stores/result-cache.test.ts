import { expect, it } from 'vitest';
import type { ResultRecord } from '../../../../src/results/result-store.ts';
import { createRecordCache } from '../../../../src/results/stores/result-cache.ts';
import { submission } from '../answers.ts';

const MB = 1024 * 1024;

function record(requestId: string, over: Partial<ResultRecord>): ResultRecord {
  const empty = {
    version: 1,
    rowCount: 0,
    rowBytes: 0,
    stride: 1,
    dataSchema: '',
    tableFields: [],
    fields: [],
  } as const;
  return { ...submission({ requestId }), ...empty, checkpoints: 0, ...over };
}

it('holds at most 16 MB', () => {
  const cache = createRecordCache();
  for (let i = 0; i < 40; i++) {
    const requestId = String(i);
    cache.set(requestId, { record: record(requestId, { dataSchema: 'x'.repeat(MB / 2) }), index: undefined });
  }
  expect(cache.weight).toBeLessThanOrEqual(16 * MB);
  expect([cache.size, cache.peek('39') !== undefined]).toEqual([15, true]);
});
