import { expect, it } from 'vitest';
import { columnBatches } from '../../../../src/results/export/columns/batches.ts';
import { Float64Column } from '../../../../src/results/export/columns/column.ts';
import { columnsOf } from '../../../../src/results/export/export.ts';

it.each([
  '{"columnNames":["a"],"columnDataTypes":["INT","INT"]}',
  '{"columnNames":[1],"columnDataTypes":["INT"]}',
  '{"columnNames":["a"],"columnDataTypes":[1]}',
  '{"columnNames":["a"]}',
  'null',
])('a schema whose names and types do not match is rejected: %s', (schema) => {
  expect(() => columnsOf(schema, 'csv')).toThrow();
});

it.each([
  '0',
  '-0.5',
  '123456789012345',
  '1234567890123456',
  '9007199254740993',
  '-9007199254740993',
  '0.12345678901234',
  '0.1234567890123456',
  '8.414709848078965',
  '-12345678.12345678',
  '1.7976931348623157e308',
  '1.23456789E8',
  '1.0E22',
  '1e23',
  '9007199254740992E-22',
  '-4.5e+3',
  '5E-324',
  '0.30000000000000004',
  '12345678901234567890',
  '0.0000000000000000000001',
  '1E0000000001',
])('%s becomes the nearest double', async (text) => {
  const column = new Float64Column();
  const rows = (async function* () {
    yield Buffer.from(`[${text}]`);
  })();
  for await (const _ of columnBatches([column], rows)) expect(column.values[0]).toBe(Number(text));
  expect(column.length).toBe(1);
});
