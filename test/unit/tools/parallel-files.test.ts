import { expect, test } from 'vitest';
import { parallelFiles } from '../../support/parallel-files.ts';

const GIB = 2 ** 30;

test.each([
  [2, 24, 3],
  [2, 8, 1],
  [2, 13, 2],
  [1, 24, 2],
  [1, 2, 1],
  [16, 64, 10],
])('%i cores and %i GiB run %i files at once', (cores, gib, files) => {
  expect(parallelFiles({}, { cores, memory: gib * GIB })).toBe(files);
});

test('one file at a time uses a cluster that all would share', () => {
  expect(parallelFiles({ TEST_CONTROLLER: 'http://127.0.0.1:9000' }, { cores: 2, memory: 24 * GIB })).toBe(1);
});

test('TEST_WORKERS overrides the machine', () => {
  expect(parallelFiles({ TEST_WORKERS: '5', TEST_CONTROLLER: 'http://127.0.0.1:9000' })).toBe(5);
  for (const wrong of ['0', '1.5', 'all', '-1', '100'])
    expect(() => parallelFiles({ TEST_WORKERS: wrong })).toThrow(`TEST_WORKERS=${wrong}: must be a whole number`);
});
