import { expect, it } from 'vitest';
import { Float64Column } from '../../../../src/results/export/columns/numbers.ts';
import { varint } from '../../../../src/results/export/parquet/thrift.ts';

it.each([
  [0, [0]],
  [127, [0x7f]],
  [128, [0x80, 1]],
  [300, [0xac, 2]],
  [2 ** 53, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]],
])('%d as a variable-length integer has the fewest bytes', (value, bytes) => {
  expect([...varint(value)]).toEqual(bytes);
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
])('%s becomes the nearest double', (text) => {
  const column = new Float64Column();
  expect(column.append(Buffer.from(`${text},`), 0)).toBe(text.length);
  expect(column.values[0]).toBe(Number(text));
});
