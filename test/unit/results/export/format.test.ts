import { expect, it } from 'vitest';
import { acceptedFormat } from '../../../../src/results/export/format.ts';

it.each([
  [undefined, undefined],
  ['*/*', undefined],
  ['text/csv', 'csv'],
  ['image/png, text/csv', 'csv'],
  ['text/csv;q=0.5, application/vnd.apache.parquet', 'parquet'],
  // Of equal ones the first.
  ['text/csv, application/vnd.apache.parquet', 'csv'],
  ['application/vnd.apache.parquet, text/csv', 'parquet'],
  ['application/json, text/csv', undefined],
  ['text/csv;q=0', undefined],
])('the header `Accept: %s` prefers the format %s', (accept, format) => {
  expect(acceptedFormat(accept)).toBe(format);
});
