import { expect, it } from 'vitest';
import { Readers } from '../../../src/results/readers.ts';
import type { ResultReader } from '../../../src/results/result-store.ts';
import { submission } from './answers.ts';

const MB = 1024 * 1024;

it('pages in memory may use 64 MiB, 4 MiB each, until their readers are closed', async () => {
  const readers = new Readers();
  const reader = readers.tracked({ record: submission(), close: async () => undefined } as unknown as ResultReader);
  expect(readers.room).toBe(4 * MB);
  readers.hold(reader, 60 * MB);
  expect(readers.room).toBe(4 * MB);
  readers.hold(reader, 63 * MB);
  expect(readers.room).toBe(MB);
  readers.hold(reader, 70 * MB);
  expect(readers.room).toBe(0);
  await reader.close();
  expect(readers.room).toBe(4 * MB);
});
