import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteInterner } from '../../../../../src/health/gather/calls/byte-interner.ts';

describe('ByteInterner', () => {
  it('assigns consecutive ids, the same id to equal names', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12, unit: 'binary' }), { maxLength: 300 }), (names) => {
        const clean = names.map((name) => name.replaceAll('\\', '').toWellFormed());
        const interner = new ByteInterner();
        const known = new Map<string, number>();
        // One assertion for each array: thousands of them take longer than the code under test.
        const results = clean.map((name) => {
          const bytes = Buffer.from(`x${name}y`);
          const before = interner.lookup(bytes, 1, bytes.length - 1);
          const id = interner.intern(bytes, 1, bytes.length - 1);
          return { before, id, name: interner.name(id) };
        });
        const expected = clean.map((name) => {
          const before = known.get(name);
          if (before === undefined) known.set(name, known.size);
          return { before: before ?? -1, id: known.get(name), name };
        });
        expect(results).toEqual(expected);
        expect(interner.size).toBe(known.size);
      }),
    );
  });

  it('stores many names', () => {
    const interner = new ByteInterner();
    const names = Array.from({ length: 50_000 }, (_, i) => Buffer.from(`events__${i % 16}__${i}__20261121T0000Z`));
    for (const name of names) interner.intern(name, 0, name.length);
    expect(interner.size).toBe(50_000);
    names.forEach((name, i) => expect(interner.lookup(name, 0, name.length)).toBe(i));
    expect(interner.name(49_999)).toBe('events__15__49999__20261121T0000Z');
  });

  it('finds added names in any order of lookups', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[a-z]{0,9}$/u), { maxLength: 300 }),
        fc.array(fc.nat()),
        (names, looks) => {
          const interner = new ByteInterner();
          names.forEach((name, i) => expect(interner.add(Buffer.from(name), 0, name.length)).toBe(i));
          for (const look of names.length === 0 ? [] : looks) {
            const name = names[look % names.length] ?? '';
            expect(interner.lookup(Buffer.from(name), 0, name.length)).toBe(look % names.length);
          }
          expect(interner.lookup(Buffer.from('A'), 0, 1)).toBe(-1);
          expect(interner.intern(Buffer.from('A'), 0, 1)).toBe(names.length);
        },
      ),
    );
  });

  it('returns unescaped names', () => {
    const interner = new ByteInterner();
    const bytes = Buffer.from('a\\"b');
    expect(interner.name(interner.intern(bytes, 0, bytes.length))).toBe('a"b');
  });
});
