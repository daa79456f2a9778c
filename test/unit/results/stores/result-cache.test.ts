import { expect, it } from 'vitest';
import type { ResultRecord } from '../../../../src/results/result-store.ts';
import { type CachedResult, ResultCache } from '../../../../src/results/stores/result-cache.ts';
import { submission } from '../answers.ts';

/** A record with a size of slightly more than 1,512 bytes. */
function cached(requestId: string, checkpoints = 125): CachedResult {
  const empty = {
    version: 1,
    rowCount: 0,
    rowBytes: 0,
    stride: 1,
    dataSchema: '',
    tableFields: [],
    fields: [],
  } as const;
  const record: ResultRecord = { ...submission({ requestId }), ...empty, checkpoints };
  return { record, index: undefined };
}

it('lets go of what was used longest ago', () => {
  const cache = new ResultCache(3 * 1512);
  for (const id of ['a', 'b', 'c']) cache.set(cached(id));
  cache.get('a');
  cache.peek('b');
  cache.set(cached('d'));
  expect(['a', 'b', 'c', 'd'].map((id) => cache.peek(id) !== undefined)).toEqual([true, false, true, true]);
});

it('takes what is offered where there is room, and for nothing else', () => {
  const cache = new ResultCache(2 * 1512);
  cache.offer(cached('a'));
  cache.offer(cached('large', 1000));
  cache.offer(cached('b'));
  cache.offer(cached('c'));
  expect(['a', 'large', 'b', 'c'].map((id) => cache.get(id) !== undefined)).toEqual([true, false, true, false]);
  cache.delete('a');
  cache.offer(cached('c'));
  expect(cache.get('c')).toBeDefined();
});
