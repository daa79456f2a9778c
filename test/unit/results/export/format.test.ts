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
  ['text/csv;q=0.001', 'csv'],
  // A wildcard contains all forms that no other range names.
  ['text/*', 'csv'],
  ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', undefined],
  ['application/*, text/csv;q=0.9', undefined],
  ['*/*, text/csv', 'csv'],
  ['*/*;q=0.5, application/json;q=0', 'jsonl'],
  ['application/json;q=0, application/x-ndjson;q=0, */*', 'csv'],
  ['application/json;q=0.2, */*;q=0.1', undefined],
  // A quality that is not valid is not accepted, and neither larger nor smaller than 1.
  ['text/csv;q=2, application/x-ndjson;q=0.1', 'jsonl'],
  ['text/csv; q = 0.3, application/x-ndjson;q=0.1', 'jsonl'],
  ['text/csv;q=abc', undefined],
  ['application/json;q=0', undefined],
])('the header `Accept: %s` prefers the format %s', (accept, format) => {
  expect(acceptedFormat(accept)).toBe(format);
});
