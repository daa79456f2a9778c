import { describe, expect, it } from 'vitest';
import { isAmount, readable, timeOf } from '../../../web/src/components/grid/readable.ts';
import { cellOf } from '../../../web/src/lib/exact-json.ts';

describe('an amount in the grid', () => {
  it.each([
    ['1.271008451E7', '12,710,084.51'],
    ['-1234567', '-1,234,567'],
    ['9007199254740993', '9,007,199,254,740,993'],
    ['1234.50', '1,234.50'],
    ['5.0', '5'],
    ['2.5E-4', '0.00025'],
    ['1.5E3', '1,500'],
    ['12E2', '1,200'],
    ['0.0', '0'],
    ['1.0E22', '1.0E22'],
    ['1E-9', '1E-9'],
  ])('%s is shown as %s', (text, shown) => {
    expect(readable(cellOf({ exact: text }))).toBe(shown);
  });

  it('is a fraction or what a function counts, but no id and no text', () => {
    expect(isAmount('price', 'DOUBLE')).toBe(true);
    expect(isAmount('count(*)', 'LONG')).toBe(true);
    expect(isAmount('orderId', 'LONG')).toBe(false);
    expect(readable(cellOf('1234567'))).toBe('1234567');
    expect(readable(cellOf(null))).toBe('null');
  });
});

it('a number may be a time in milliseconds or seconds, if it is one of the last decades', () => {
  const time = (text: string): number | undefined => timeOf(cellOf({ exact: text }));
  expect([time('1760000000000'), time('1760000000')]).toEqual([1_760_000_000_000, 1_760_000_000_000]);
  expect([time('42'), time('9007199254740993'), time('1760000000.5'), timeOf(cellOf('1760000000'))]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
});
