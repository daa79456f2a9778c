import { beforeEach, expect, it } from 'vitest';
import { CsvLayout } from '../../../../src/results/export/csv-layout.ts';

const MIB = 1024 * 1024;
const HEADER = 9;
const FIRST = { rows: 0, bytes: HEADER };

let layout: CsvLayout;
beforeEach(() => {
  layout = new CsvLayout(HEADER);
});

it('a byte of the header, and each one without another known row, is read from the first row', () => {
  for (const byte of [0, HEADER - 1, HEADER, HEADER + 5 * MIB]) expect(layout.before(byte)).toEqual(FIRST);
});

it('a known row is the start of the bytes from its first one on', () => {
  const second = { rows: 10, bytes: HEADER + 2 * MIB };
  const third = { rows: 20, bytes: HEADER + 4 * MIB };
  layout.add(second.rows, second.bytes);
  layout.add(third.rows, third.bytes);
  expect(layout.before(0)).toEqual(FIRST);
  expect(layout.before(second.bytes - 1)).toEqual(FIRST);
  expect(layout.before(second.bytes)).toEqual(second);
  expect(layout.before(third.bytes - 1)).toEqual(second);
  expect(layout.before(third.bytes)).toEqual(third);
  expect(layout.before(Number.MAX_SAFE_INTEGER)).toEqual(third);
});

it('known rows are at least 1 MiB apart, and after the last one', () => {
  layout.add(1, HEADER + MIB - 1);
  expect(layout.before(2 * MIB)).toEqual(FIRST);
  layout.add(2, HEADER + MIB);
  expect(layout.before(2 * MIB)).toEqual({ rows: 2, bytes: HEADER + MIB });
  layout.add(3, HEADER + 2 * MIB - 1);
  // Of another conversion of the same rows.
  layout.add(1, HEADER + MIB / 2);
  expect(layout.before(3 * MIB)).toEqual({ rows: 2, bytes: HEADER + MIB });
});

it('4096 rows are known at most', () => {
  for (let row = 1; row <= 5000; row++) layout.add(row, HEADER + row * MIB);
  expect(layout.before(HEADER + 4095 * MIB)).toEqual({ rows: 4095, bytes: HEADER + 4095 * MIB });
  expect(layout.before(HEADER + 5000 * MIB)).toEqual({ rows: 4095, bytes: HEADER + 4095 * MIB });
});
