import { expect, it } from 'vitest';
import { BufferPool } from '../../../../../src/results/stores/file/buffer-pool.ts';

const MB = 1024 * 1024;

it('keeps at most 32 MiB of memory between pages, and uses it again', () => {
  const pool = new BufferPool();
  const given = Array.from({ length: 5 }, () => pool.take(8 * MB));
  for (const buffer of given) pool.give(buffer);
  const taken = Array.from({ length: 5 }, () => pool.take(8 * MB));
  expect(taken.filter((buffer) => given.includes(buffer))).toHaveLength(4);
  for (const buffer of taken) pool.give(buffer);
  for (let round = 0; round < 5; round++) {
    const buffer = pool.take(8 * MB);
    // A failed comparison of such buffers by value would take seconds.
    expect(taken.includes(buffer)).toBe(true);
    pool.give(buffer);
  }
});
