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
  // A failed comparison of such buffers by value would take seconds.
  expect(pool.take(8 * MB + 1) === buffer).toBe(false);
});

it('gives buffers of a power of two, at least 64 KiB, up to 8 MiB', () => {
  const pool = new BufferPool();
  const sizes = [1, 64 * 1024, 64 * 1024 + 1, 4 * MB, 4 * MB + 1, 8 * MB].map((bytes) => pool.take(bytes).length);
  expect(sizes).toEqual([64 * 1024, 64 * 1024, 128 * 1024, 4 * MB, 8 * MB, 8 * MB]);
});

it('has room again for a buffer that was taken', () => {
  const pool = new BufferPool();
  const given = Array.from({ length: 4 }, () => pool.take(8 * MB));
  for (const buffer of given) pool.give(buffer);
  for (let round = 0; round < 5; round++) {
    const buffer = pool.take(8 * MB);
    expect(given.includes(buffer)).toBe(true);
    pool.give(buffer);
  }
});
