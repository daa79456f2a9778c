import { expect, it } from 'vitest';
import { BufferPool } from '../../../../../src/results/stores/file/buffer-pool.ts';

const MB = 1024 * 1024;

it('keeps buffers for the next pages, at most 32 MiB', () => {
  const pool = new BufferPool();
  const given = Array.from({ length: 5 }, () => pool.take(8 * MB));
  for (const buffer of given) pool.give(buffer);
  const taken = Array.from({ length: 5 }, () => pool.take(8 * MB));
  expect(taken.filter((buffer) => given.includes(buffer))).toHaveLength(4);
  expect(new Set(taken).size).toBe(5);
});

it('keeps none that is larger than 8 MiB', () => {
  const pool = new BufferPool();
  const buffer = pool.take(8 * MB + 1);
  expect(buffer.length).toBe(8 * MB + 1);
  pool.give(buffer);
  expect(pool.take(8 * MB + 1)).not.toBe(buffer);
});
