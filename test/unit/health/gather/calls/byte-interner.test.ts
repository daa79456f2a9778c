import { expect, it } from 'vitest';
import { ByteInterner } from '../../../../../src/health/gather/calls/byte-interner.ts';

it('thousands of names, also escaped ones, have an id each', () => {
  const interner = new ByteInterner();
  const names = Array.from({ length: 5_000 }, (_, i) => Buffer.from(`events__${i % 16}__${i}__\\"T`));
  const ids = () => names.map((name) => interner.intern(name, 0, name.length));
  const expected = names.map((_, i) => i);
  expect(ids()).toEqual(expected);
  expect(ids()).toEqual(expected);
  expect(names.map((name) => interner.lookup(name, 0, name.length))).toEqual(expected);
  expect(interner.name(4_999)).toBe('events__7__4999__"T');
  expect(interner.lookup(Buffer.from('other'), 0, 5)).toBe(-1);
});
