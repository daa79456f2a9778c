import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteInterner } from '../../../src/health/gather/byte-interner.ts';

describe('ByteInterner', () => {
  it('gives equal names the same number and other names others, in the order of their coming', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12, unit: 'binary' }), { maxLength: 300 }), (names) => {
        const clean = names.map((name) => name.replaceAll('\\', '').toWellFormed());
        const interner = new ByteInterner();
        const known = new Map<string, number>();
        for (const name of clean) {
          const bytes = Buffer.from(`x${name}y`);
          const expected = known.get(name);
          expect(interner.lookup(bytes, 1, bytes.length - 1)).toBe(expected ?? -1);
          const id = interner.intern(bytes, 1, bytes.length - 1);
          expect(id).toBe(expected ?? known.size);
          known.set(name, id);
          expect(interner.name(id)).toBe(name);
        }
        expect(interner.size).toBe(known.size);
      }),
    );
  });

  it('holds very many', () => {
    const interner = new ByteInterner();
    const names = Array.from({ length: 50_000 }, (_, i) => Buffer.from(`events__${i % 16}__${i}__20261121T0000Z`));
    for (const name of names) interner.intern(name, 0, name.length);
    expect(interner.size).toBe(50_000);
    names.forEach((name, i) => expect(interner.lookup(name, 0, name.length)).toBe(i));
    expect(interner.name(49_999)).toBe('events__15__49999__20261121T0000Z');
  });

  it('finds names that were added as new, in whatever order they are looked for', () => {
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

  it('gives back names that were escaped', () => {
    const interner = new ByteInterner();
    const bytes = Buffer.from('a\\"b');
    expect(interner.name(interner.intern(bytes, 0, bytes.length))).toBe('a"b');
  });
});
