import { expect, it } from 'vitest';
import { asStoreError } from '../../../../../src/results/stores/file/file-io.ts';

it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s says that the disk is full, and names no path', (code) => {
  const error = asStoreError(Object.assign(new Error(`${code}: write '/secret/path'`), { code }));
  expect(error.code).toBe('store-full');
  expect(error.message).toMatch(
    /^no space for the result: the disk of the result store is full\. Delete unused results/,
  );
  expect(error.message).not.toContain('/secret');
});
